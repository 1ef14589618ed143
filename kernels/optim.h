/*
 * optim.h - AdamW with decoupled decay (Loshchilov & Hutter 2019, algorithm 2), global-norm clip, schedules.
 *
 * Step count and learning rate live on the device (ctx->rng[2], lr), so a captured step needs no host number.
 */
#ifndef KERNELS_OPTIM_H
#define KERNELS_OPTIM_H

#include "kernels/param.h"

#ifdef __cplusplus
extern "C" {
#endif

struct optim {
    struct schedule schedule;
    struct adamw adamw;
    struct tensor *lr, *norm; /* F32 [1] each: this step's rate, the squared gradient norm before clipping */
};

void optim_init(struct optim *o, const struct param_arenas *a);
/* norm = sum of squares of all gradients; every trainable parameter is updated and its gradient zeroed; step += 1. */
void optim_step(struct ctx *c, struct optim *o, const struct params *p);

#ifdef __cplusplus
}
#endif
#endif
