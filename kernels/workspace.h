/*
 * workspace.h - runs one step (a training step, a batch of inference) in memory that exactly fits.
 *
 * A step is a function that builds tensors in the ctx it is given.  It is called twice: dry, where it only allocates
 * and so tells its peak, then for real in an arena grown to that peak.  What it returned in its argument stays valid
 * until the next run.
 */
#ifndef KERNELS_WORKSPACE_H
#define KERNELS_WORKSPACE_H

#include "kernels/device.h"

#ifdef __cplusplus
extern "C" {
#endif

struct workspace {
    struct device *device;
    struct arena host, step, fixed;
    struct ctx ctx; /* recording and training are the caller's to set between runs */
    size_t peak;    /* bytes of the largest step so far */
};

/* c->k is NULL in the dry call: upload and download nothing then. */
typedef void step_fn(struct ctx *c, void *arg);

/* host_bytes bounds headers and records of a step. */
int workspace_init(struct workspace *w, struct device *device, size_t host_bytes, struct error *err);
void workspace_release(struct workspace *w);

/* Seed and step counter of the device's random numbers. */
void workspace_seed(struct workspace *w, uint64_t seed, int32_t step);
void workspace_rng(const struct workspace *w, int32_t rng[4]);

/* Bytes that fn would need. */
size_t workspace_measure(struct workspace *w, step_fn *fn, void *arg);
/* -1 with EXIT_CODE_MEMORY when the device cannot hold the step. */
int workspace_run(struct workspace *w, step_fn *fn, void *arg, struct error *err);

#ifdef __cplusplus
}
#endif
#endif
