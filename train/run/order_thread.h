/*
 * order_thread.h - a thread that does pieces of work one after the other, each as soon as it may.
 *
 * Sums over ranks so run beside the backward: a piece is a bucket, which may be summed once its gradients are final.
 * The order of the pieces is fixed, so that all ranks meet at the same ones whatever each of them is ready with.
 */
#ifndef TRAIN_RUN_ORDER_THREAD_H
#define TRAIN_RUN_ORDER_THREAD_H

#include "kernels/base.h"

#include <pthread.h>

/* -1: the pieces behind it are left out. */
typedef int order_fn(void *arg, int piece, struct error *err);

struct order_thread {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t turn;
    order_fn *fn;
    void *arg;
    int n, allowed, done; /* of this round */
    bool running, over;
    int rc;
    struct error err;
};

/* arg is borrowed.  Signals are for the thread that calls. */
void order_thread_start(struct order_thread *t, order_fn *fn, void *arg);
/* Of one that was not started: nothing.  Waits for the piece under way. */
void order_thread_end(struct order_thread *t);

/* A round of n pieces, none of which may be done yet. */
void order_thread_round(struct order_thread *t, int n);
/* The first `allowed` pieces may be done: what was written before is seen by fn. */
void order_thread_allow(struct order_thread *t, int allowed);
/* False when the round is not over after that time, or sooner. */
bool order_thread_wait(struct order_thread *t, int64_t microseconds);
/* Of a round that is over: what fn returned last. */
int order_thread_result(struct order_thread *t, struct error *err);

#endif
