/*
 * ranks_sum.h - communication of tensors between ranks: sums of gradients, all-gathers of updated weights, and
 * optimizer states that rank 0 saves.
 *
 * Gradients are concatenated and cut into buckets. A bucket is summed as soon as all its gradients are final, on
 * linked devices or in a thread beside the backward.
 */
#ifndef TRAIN_RUN_RANKS_SUM_H
#define TRAIN_RUN_RANKS_SUM_H

#include "kernels/base.h"
#include "kernels/param.h"

#include <pthread.h>

/* The gradients of all trained parameters, concatenated and cut into buckets. Parameters stand in reverse order, in
 * which a backward most likely finishes them, so that the first buckets can be summed while it still runs. The cut
 * depends on the parameters only and is the same on every rank. */

enum { BUCKET_MAX = 1 << 22 /* floats */ };

struct buckets {
    const struct params *params;
    int64_t total, size; /* floats in all, and of one bucket; the last bucket may have fewer */
    int n;
    int64_t *first; /* [params]: offset of each parameter */
    int *left;      /* [n]: parameters of the bucket whose gradients are not final yet */
    int ready;      /* number of leading buckets whose gradients are all final */
};
void buckets_release(struct buckets *b);

/* A position in the concatenated gradients. Zeroed: the start. */
struct bucket_place {
    int done; /* parameters before the position */
    int64_t at;
};
/* Copies between elements [at, at + n) of a parameter and n floats of a bucket. */
typedef void bucket_copy_fn(void *arg, const struct param *p, int64_t at, float *numbers, int64_t n);

/* A thread that works on pieces in a fixed order, each as soon as it is allowed. A piece is a bucket; it is allowed
 * once its gradients are final. The order is fixed so that all ranks communicate about the same bucket. */

/* Works on one piece. -1 skips all later pieces of the round. */
typedef int sum_piece_fn(void *arg, int piece, struct error *err);

struct sum_thread {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t turn;
    sum_piece_fn *fn;
    void *arg;
    int n, allowed, done; /* of this round */
    bool running, over;
    int rc;
    struct error err;
};

/* arg is borrowed. The thread blocks all signals. */
void sum_thread_start(struct sum_thread *t, sum_piece_fn *fn, void *arg);
/* Waits for the current piece and joins the thread. Harmless if the thread was not started. */
void sum_thread_end(struct sum_thread *t);

/* Starts a round of n pieces, none of which is allowed yet. */
void sum_thread_round(struct sum_thread *t, int n);
/* Allows the first `allowed` pieces. The thread sees all writes made before this call. */
void sum_thread_allow(struct sum_thread *t, int allowed);
/* Waits until the round ends, at most that long. False: the round is still running. */
bool sum_thread_wait(struct sum_thread *t, int64_t microseconds);
/* The last return value of fn, after the round has ended. */
int sum_thread_result(struct sum_thread *t, struct error *err);

struct run;

/* Trainers call this before the last workspace_step of a partition, whose backward completes the gradients. */
void ranks_last(struct run *r);
/* ranks_link connects the devices and takes device memory, or starts the thread. ranks_sum replaces the gradients of
 * all trained parameters by their sums over ranks. Both return -1 when a rank has died. */
int ranks_link(struct run *r, struct error *err);
int ranks_sum(struct run *r, struct error *err);
/* With overlap, ranks_sum_begin is called before the partition's step and ranks_sum_end after it. ranks_sum_end
 * waits for the remaining buckets. Call it even if the step failed, because other ranks wait for this one. */
bool ranks_overlap(const struct run *r);
void ranks_sum_begin(struct run *r);
int ranks_sum_end(struct run *r, struct error *err);
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
