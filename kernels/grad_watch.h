/*
 * grad_watch.h - reports which gradients of parameters are final while the backward still runs.
 *
 * The dry run before a step counts the writes to each gradient.  When kernels run, the last of these writes makes the
 * gradient final.  The order therefore follows from the tape, for any network.  This requires steps that run kernel by
 * kernel, and kernels that are done when they return, as on devices without capture.
 */
#ifndef KERNELS_GRAD_WATCH_H
#define KERNELS_GRAD_WATCH_H

#include "kernels/param.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Called when the gradient of params.list[param] is final in this step. */
typedef void grad_final_fn(void *arg, int param);

struct grad_watch {
    struct watched_grad {
        const char *data;
        size_t bytes;
        int param;
        int writes, left; /* counted in the dry run; still to come */
    } * grads;            /* sorted by address */
    int n;
    int *due, n_due; /* gradients whose last write is in the running record */
    grad_final_fn *final;
    void *arg;
    bool counting;
};

/* Watches the gradients of the parameters that need one now. */
void grad_watch_init(struct grad_watch *w, const struct params *p, grad_final_fn *final, void *arg);
void grad_watch_release(struct grad_watch *w);

/* Begins a walk through a step, which counts writes or reports gradients.  Gradients that are never written are final
 * at once. */
void grad_watch_begin(struct grad_watch *w, bool counting);
/* Announces a write of the running record to grad.  grad may be part of a parameter's gradient or span several. */
void grad_watch_write(struct grad_watch *w, const struct tensor *grad);
/* Ends the running record and reports the gradients that it completed. */
void grad_watch_settle(struct grad_watch *w);

#ifdef __cplusplus
}
#endif
#endif
