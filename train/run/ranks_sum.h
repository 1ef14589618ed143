/*
 * ranks_sum.h - the exchange between ranks: sums of gradients, weights that others have updated, states that one rank
 * saves.
 */
#ifndef TRAIN_RUN_RANKS_SUM_H
#define TRAIN_RUN_RANKS_SUM_H

#include "kernels/base.h"
#include "kernels/param.h"

#include <pthread.h>

/* The gradients of all that is trained, one behind the other and cut into buckets.
 *
 * They stand in the order in which a backward most likely ends them, the last parameter first, so that the first
 * buckets can be summed while it still runs.  The cut follows from the parameters alone: it is that of every rank. */

enum { BUCKET_MAX = 1 << 22 /* numbers */ };

struct buckets {
    const struct params *params;
    int64_t total, size; /* numbers, and those of a bucket; the last may have fewer */
    int n;
    int64_t *first; /* [params]: where a parameter's numbers begin */
    int *left;      /* [n]: parameters in it whose gradient is not final yet */
    int ready;      /* buckets before the first that still waits for one */
};
void buckets_release(struct buckets *b);

/* A place among the numbers; zeroed: before the first. */
struct bucket_place {
    int done; /* parameters that lie behind */
    int64_t at;
};
/* Between elements [at, at + n) of a parameter and n numbers of a bucket. */
typedef void bucket_copy_fn(void *arg, const struct param *p, int64_t at, float *numbers, int64_t n);

/* A thread that does pieces of work one after the other, each as soon as it may.
 *
 * Sums over ranks so run beside the backward: a piece is a bucket, which may be summed once its gradients are final.
 * The order of the pieces is fixed, so that all ranks meet at the same ones whatever each of them is ready with. */

/* -1: the pieces behind it are left out. */
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

/* arg is borrowed.  Signals are for the thread that calls. */
void sum_thread_start(struct sum_thread *t, sum_piece_fn *fn, void *arg);
/* Of one that was not started: nothing.  Waits for the piece under way. */
void sum_thread_end(struct sum_thread *t);

/* A round of n pieces, none of which may be done yet. */
void sum_thread_round(struct sum_thread *t, int n);
/* The first `allowed` pieces may be done: what was written before is seen by fn. */
void sum_thread_allow(struct sum_thread *t, int allowed);
/* False when the round is not over after that time, or sooner. */
bool sum_thread_wait(struct sum_thread *t, int64_t microseconds);
/* Of a round that is over: what fn returned last. */
int sum_thread_result(struct sum_thread *t, struct error *err);

/* Sums over ranks */

struct run;

/* For trainers, before the last workspace_step of a part: its backward ends the gradients. */
void ranks_last(struct run *r);
/* ranks_open_links with memory, or the thread; then the gradients of all that is trained become their sums
 * over ranks. */
int ranks_link(struct run *r, struct error *err);
int ranks_sum(struct run *r, struct error *err);
/* The same from before a part on, where it is done beside the backward (ranks_overlap); the end waits for the rest,
 * whether the part failed or not: other ranks wait for it too. */
bool ranks_overlap(const struct run *r);
void ranks_sum_begin(struct run *r);
int ranks_sum_end(struct run *r, struct error *err);
/* Nothing where states are whole: all take the weights that others have updated. */
int ranks_gather_weights(struct run *r, struct error *err);
/* A checkpoint_state_fn of rank 0, while all others serve; then it says that no more is asked. */
int ranks_whole_state(void *run, const struct param *p, int k, float *out, struct error *err);
int ranks_serve_states(struct run *r, struct error *err);
void ranks_end_states(struct run *r);
/* Each rank keeps a share of the optimizer's state (optim.h). */
bool ranks_sharded(const struct run *r);

#endif
