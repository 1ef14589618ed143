/*
 * workspace.h - runs one step (a training step, a batch of inference) in memory that exactly fits.
 *
 * A step is a function that builds tensors in the ctx it is given.  It is called twice: dry, where it only allocates
 * and so tells its peak, then for real in an arena grown to that peak.  What it returned in its argument stays valid
 * until the next run.
 *
 * A step whose shapes stay can be captured: its kernels are then launched as one (a CUDA graph), and the step function
 * is called to upload new inputs only.  Same shapes give the same addresses; learning rate, step count and random
 * numbers live on the device already; inputs lie in an arena of their own, since they are uploaded before any kernel
 * runs, while memory of the step may serve twice.
 */
#ifndef KERNELS_WORKSPACE_H
#define KERNELS_WORKSPACE_H

#include "kernels/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* c->k is NULL in walks that run no kernels: download nothing then, and upload through batch.h. */
typedef void step_fn(struct ctx *c, void *arg);

struct workspace {
    struct device *device;
    struct arena host, step, input, fixed;
    struct ctx ctx; /* recording and training are the caller's to set between runs */
    size_t peak;    /* bytes of the largest step so far */
    struct captured {
        step_fn *fn; /* NULL: no step is captured */
        void *arg;
        void *graph; /* the driver's; NULL where steps run eagerly */
        uint64_t shapes;
    } captured;
};

/* host_bytes bounds headers and records of a step. */
int workspace_init(struct workspace *w, struct device *device, size_t host_bytes, struct error *err);
void workspace_release(struct workspace *w);

/* Seed and step counter of the device's random numbers. */
void workspace_seed(struct workspace *w, uint64_t seed, int32_t step);
void workspace_rng(const struct workspace *w, int32_t rng[4]);

/* Bytes that fn would need. */
size_t workspace_measure(struct workspace *w, step_fn *fn, void *arg);
/* Takes that many bytes for steps, so that those that need no more take none.  -1 with EXIT_CODE_MEMORY. */
int workspace_reserve(struct workspace *w, size_t bytes, struct error *err);
/* -1 with EXIT_CODE_MEMORY when the device cannot hold the step. */
int workspace_run(struct workspace *w, step_fn *fn, void *arg, struct error *err);

/*
 * Runs the step as workspace_run does, and captures it for the next two calls.  fn and arg are kept; whatever fn hands
 * to ops besides tensors must depend on shapes alone.  A larger step in between ends the capture.
 */
int workspace_capture(struct workspace *w, step_fn *fn, void *arg, struct error *err);
/* Calls fn for its new inputs.  False, with nothing uploaded, when their shapes are not those of the captured step. */
bool workspace_feed(struct workspace *w);
/* Runs the captured step on what was fed last. */
void workspace_replay(struct workspace *w);

#ifdef __cplusplus
}
#endif
#endif
