/*
 * optim.h - AdamW with decoupled decay (Loshchilov & Hutter 2019, algorithm 2), Adafactor, global-norm clip, schedules.
 *
 * Step count and learning rate live on the device (ctx->rng[2], lr), and so does the table of what is trained and how:
 * a captured step needs no host number.
 */
#ifndef KERNELS_OPTIM_H
#define KERNELS_OPTIM_H

#include "kernels/device.h"
#include "kernels/param.h"

#ifdef __cplusplus
extern "C" {
#endif

struct optim {
    struct schedule schedule;
    enum optimizer optimizer; /* that the parameters were declared for */
    struct adamw adamw;
    struct adafactor adafactor;
    struct tensor *lr, *norm;            /* F32 [1] each: this step's rate, the squared gradient norm before clipping */
    struct arena host, data;             /* all of its memory */
    struct update_table table, uploaded; /* on the device; the same on the host */
    int rows;                            /* that there is room for */
    int rank, ranks;                     /* the caller's to set before optim_init; 0, 0: no others */
    int64_t *chunks;                     /* [params + 1], where there are others: chunks of all parameters before */
};

/*
 * State that is cut over ranks (the first stage of ZeRO, Rajbhandari et al. 2020): each rank keeps that of its share of
 * all numbers and updates those; the caller brings their new values to the others.  A share is a stretch of chunks of
 * UPDATE_CHUNK, about as many for each rank; under Adafactor, whose numbers of a parameter depend on each other, a
 * parameter is the rank's that has its first chunk.  Norm and gradients are those of all, so the numbers are those of
 * one rank, bit for bit.
 */
struct update_share {
    int64_t first, end; /* numbers of a parameter */
};
struct update_share optim_share(const struct optim *o, const struct params *p, int param, int rank);
/* Of a rank's share of the states, before there is memory or after; 0 where there are no others. */
size_t optim_share_bytes(const struct params *p, int rank, int ranks);

/* Memory for the parameters of p that have a gradient, all of one optimizer; their states too, undefined, where they
 * were declared as OPTIMIZER_SHARDED.  schedule and numbers are left as they are.  -1 with EXIT_CODE_MEMORY. */
int optim_init(struct optim *o, struct device *d, struct params *p, struct error *err);
void optim_release(struct optim *o, struct device *d);
/* norm = sum of squares of all gradients; every parameter of p that needs a gradient now is updated and its gradient
 * zeroed; step += 1.  p is the list that optim_init saw. */
void optim_step(struct ctx *c, struct optim *o, const struct params *p);

#ifdef __cplusplus
}
#endif
#endif
