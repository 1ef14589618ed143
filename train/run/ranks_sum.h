/*
 * ranks_sum.h - communication of tensors between ranks: sums of gradients, all-gathers of updated weights, and
 * optimizer states that rank 0 saves.
 *
 * Gradients are concatenated and cut into buckets, which bound the memory of a sum. They are summed after the backward,
 * on linked devices or on the host.
 */
#ifndef TRAIN_RUN_RANKS_SUM_H
#define TRAIN_RUN_RANKS_SUM_H

#include "kernels/base.h"
#include "kernels/param.h"

/* The gradients of all trained parameters, concatenated and cut into buckets. The cut depends on the parameters only
 * and is the same on every rank. */

enum { BUCKET_MAX = 1 << 22 /* floats */ };

struct buckets {
    const struct params *params;
    int64_t total, size; /* floats in all, and of one bucket; the last bucket may have fewer */
    int n;
};

/* A position in the concatenated gradients. Zeroed: the start. */
struct bucket_place {
    int done; /* parameters before the position */
    int64_t at;
};
/* Copies between elements [at, at + n) of a parameter and n floats of a bucket. */
typedef void bucket_copy_fn(void *arg, const struct param *p, int64_t at, float *numbers, int64_t n);

struct run;

/* ranks_link connects the devices and takes device memory. ranks_sum replaces the gradients of all trained parameters
 * by their sums over ranks. Both return -1 if communication fails. */
int ranks_link(struct run *r, struct error *err);
int ranks_sum(struct run *r, struct error *err);
/* With a sharded optimizer: every rank receives the weights that the other ranks have updated. Otherwise it does
 * nothing. */
int ranks_gather_weights(struct run *r, struct error *err);
/* ranks_whole_state is a checkpoint_state_fn: rank 0 collects a whole optimizer state while the other ranks run
 * ranks_serve_states. ranks_end_states ends their service. */
int ranks_whole_state(void *run, const struct param *p, int k, float *out, struct error *err);
int ranks_serve_states(struct run *r, struct error *err);
void ranks_end_states(struct run *r);
/* True if each rank keeps one shard of the optimizer's state (optim.h). */
bool ranks_sharded(const struct run *r);

#endif
