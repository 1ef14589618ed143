/*
 * workspace.h - runs one step (a training step, a batch of inference) in memory that exactly fits.
 *
 * A step is a function that builds tensors in the ctx it is given.  It is called first without kernels: that tells the
 * memory it needs, hashes its shapes, and collects its inputs, which then go to the device in one upload.  Called for
 * real it runs; where the device can, it is called once more to be captured (a CUDA graph), and when a step of the same
 * shapes comes again all its kernels are launched as one and the function is called for its inputs alone.
 *
 * Same shapes give the same addresses; learning rate, step count and random numbers live on the device; inputs lie in
 * an arena of their own, since they are there before any kernel runs, while memory of the step may serve twice.
 */
#ifndef KERNELS_WORKSPACE_H
#define KERNELS_WORKSPACE_H

#include "kernels/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* c->k is NULL in walks that run no kernels: download nothing then, and upload through batch.h. */
typedef void step_fn(struct ctx *c, void *arg);

struct workspace_bytes {
    size_t step, input;
};
static inline size_t workspace_total(struct workspace_bytes b)
{
    return b.step + b.input;
}
/* Each becomes no less than that of b. */
static inline void workspace_raise(struct workspace_bytes *a, struct workspace_bytes b)
{
    a->step = b.step > a->step ? b.step : a->step;
    a->input = b.input > a->input ? b.input : a->input;
}

/* How many steps ran, and how many of them as a captured whole. */
struct step_counts {
    int64_t steps, replayed;
};

enum { CAPTURED_MAX = 128 };

struct workspace {
    struct device *device;
    struct arena host, step, input, fixed;
    struct feed feed;
    struct ctx ctx;              /* recording and training are the caller's to set between runs */
    struct workspace_bytes peak; /* of the largest steps so far */
    bool eager;                  /* the caller's to set: nothing is captured */
    struct step_counts counts;
    struct captured {
        step_fn *fn;
        uint64_t shapes;
        void *graph;  /* the driver's */
        int64_t used; /* counts.steps when it ran last */
    } captured[CAPTURED_MAX];
    int n_captured;
};

/* host_bytes bounds headers and records of a step. */
int workspace_init(struct workspace *w, struct device *device, size_t host_bytes, struct error *err);
void workspace_release(struct workspace *w);

/* Seed and step counter of the device's random numbers. */
void workspace_seed(struct workspace *w, uint64_t seed, int32_t step);
void workspace_rng(const struct workspace *w, int32_t rng[4]);

/* Bytes that fn would need. */
struct workspace_bytes workspace_measure(struct workspace *w, step_fn *fn, void *arg);
/* Takes that many bytes, so that steps that need no more take none.  -1 with EXIT_CODE_MEMORY. */
int workspace_reserve(struct workspace *w, struct workspace_bytes bytes, struct error *err);

/* Runs a step that will not come again.  What it returned in arg stays valid until the next.  -1 with EXIT_CODE_MEMORY
 * when the device cannot hold it. */
int workspace_run(struct workspace *w, step_fn *fn, void *arg, struct error *err);

/*
 * The same for a step that comes again and again, with the same numbers: replayed where one of its shapes is captured.
 * What it hands to ops besides tensors, and where tensors lie that are not its own, must follow from shapes, from
 * numbers given to ctx_note, and from what stays until workspace_forget.
 */
int workspace_step(struct workspace *w, step_fn *fn, void *arg, struct error *err);
enum { STEP_COUNTS = 96 };
/* "N of M steps were replayed as a whole"; false, and nothing, where steps always run kernel by kernel. */
bool workspace_tell(const struct workspace *w, char text[STEP_COUNTS]);
/* Ends all captures: the trained parameters, or the settings of the optimizer, become others. */
void workspace_forget(struct workspace *w);

#ifdef __cplusplus
}
#endif
#endif
