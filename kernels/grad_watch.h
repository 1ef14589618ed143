/*
 * grad_watch.h - tells which gradients of parameters are final while the backward still runs.
 *
 * The walk without kernels that comes before a step counts how often each gradient is written; where kernels run, the
 * last of so many writes ends it.  So the order follows from the tape, whatever network it is of.  It holds where steps
 * run kernel by kernel and kernels are done when they return: on devices that capture nothing.
 */
#ifndef KERNELS_GRAD_WATCH_H
#define KERNELS_GRAD_WATCH_H

#include "kernels/param.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Nobody writes to the gradient of params.list[param] any more in this step. */
typedef void grad_final_fn(void *arg, int param);

struct grad_watch {
    struct watched_grad {
        const char *data;
        size_t bytes;
        int param;
        int writes, left; /* in all, as counted; still to come */
    } * grads;            /* by address */
    int n;
    int *due, n_due; /* those that the record which runs now writes last */
    grad_final_fn *final;
    void *arg;
    bool counting;
};

/* Of the parameters that need a gradient now, which have memory. */
void grad_watch_init(struct grad_watch *w, const struct params *p, grad_final_fn *final, void *arg);
void grad_watch_release(struct grad_watch *w);

/* A walk through a step begins, one that counts or one that tells.  What is not written at all is final at once. */
void grad_watch_begin(struct grad_watch *w, bool counting);
/* A record is about to write to grad, which may be a part of a parameter's or join those of several. */
void grad_watch_write(struct grad_watch *w, const struct tensor *grad);
/* The record is done. */
void grad_watch_settle(struct grad_watch *w);

#ifdef __cplusplus
}
#endif
#endif
