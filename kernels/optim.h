/*
 * optim.h - AdamW with decoupled decay (Loshchilov & Hutter 2019, algorithm 2), Adafactor, global-norm clip, schedules.
 *
 * The step count (ctx->rng[2]), the learning rate (lr) and the table of trained parameters live on the device.  A
 * captured step therefore needs no number from the host.
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
    enum optimizer optimizer; /* the optimizer of all parameters */
    struct adamw adamw;
    struct adafactor adafactor;
    struct tensor *lr, *norm;            /* F32 [1] each: learning rate, squared gradient norm before clipping */
    struct arena host, data;             /* own all memory of the optimizer */
    struct update_table table, uploaded; /* on the device; its host copy */
    int rows;                            /* capacity of the table */
    int rank, ranks;                     /* set by the caller before optim_init; 0, 0: one rank */
    int64_t *chunks;                     /* [params + 1], with several ranks: chunks of all preceding parameters */
};

/*
 * Optimizer state sharded over ranks (the first stage of ZeRO, Rajbhandari et al. 2020).  Each rank keeps the state of
 * its shard and updates the elements of this shard.  The caller sends their new values to the other ranks.
 *
 * A shard is a range of chunks of UPDATE_CHUNK elements, about equally many for each rank.  Under Adafactor, whose
 * updates within a parameter depend on each other, the rank with the first chunk of a parameter updates all of it.
 * Norm and gradients cover all elements, so the results equal those of one rank bit for bit.
 */
struct update_share {
    int64_t first, end; /* range of elements of a parameter */
};
struct update_share optim_share(const struct optim *o, const struct params *p, int param, int rank);
/* Returns the bytes of a rank's shard of the states, before or after allocation; 0 if there is one rank. */
size_t optim_share_bytes(const struct params *p, int rank, int ranks);

/* Allocates memory for the parameters of p that have a gradient; all must have one optimizer.  If they were declared as
 * OPTIMIZER_SHARDED, it also allocates their states, with undefined contents.  The schedule and the settings of the
 * optimizers stay unchanged.  Returns 0, or -1 with EXIT_CODE_MEMORY. */
int optim_init(struct optim *o, struct device *d, struct params *p, struct error *err);
void optim_release(struct optim *o, struct device *d);
/* Runs one step: norm = sum of squares of all gradients; every parameter of p that needs a gradient now is updated; its
 * gradient becomes zero; step += 1.  p must be the list passed to optim_init. */
void optim_step(struct ctx *c, struct optim *o, const struct params *p);

#ifdef __cplusplus
}
#endif
#endif
