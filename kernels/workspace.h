/*
 * workspace.h - runs one step (a training step, a batch of inference) in memory of exactly the required size.
 *
 * A step is a function that builds tensors in a given ctx.  The workspace first calls it without kernels.  This dry run
 * measures the memory, hashes the shapes and collects the inputs, which are then uploaded in one copy.  The second call
 * runs the kernels.  If the device supports it, a third call captures the step as a CUDA graph.  When a step of the
 * same shapes comes again, the graph is replayed, and the function is called only for its inputs.
 *
 * The same shapes give the same addresses.  The learning rate, the step count and the random state live on the device.
 * Inputs have an arena of their own: they are uploaded before any kernel runs, while step memory may be reused.
 */
#ifndef KERNELS_WORKSPACE_H
#define KERNELS_WORKSPACE_H

#include "kernels/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A step.  c->k is NULL in dry runs: the step must then download nothing, and must upload through batch.h. */
typedef void step_fn(struct ctx *c, void *arg);

struct workspace_bytes {
    size_t step, input;
};
static inline size_t workspace_total(struct workspace_bytes b)
{
    return b.step + b.input;
}
/* Sets each size of *a to the maximum of the sizes of a and b. */
static inline void workspace_raise(struct workspace_bytes *a, struct workspace_bytes b)
{
    a->step = b.step > a->step ? b.step : a->step;
    a->input = b.input > a->input ? b.input : a->input;
}

/* The number of steps, and of those that were replayed. */
struct step_counts {
    int64_t steps, replayed;
};

enum { CAPTURED_MAX = 128 };

struct workspace {
    struct device *device;
    struct arena host, step, input, fixed;
    struct feed feed;
    struct ctx ctx;              /* the caller sets recording and training between runs */
    struct workspace_bytes peak; /* bytes of the largest steps so far */
    bool eager;                  /* set by the caller: capture nothing */
    struct step_counts counts;
    struct captured {
        step_fn *fn;
        uint64_t shapes;
        void *graph;  /* owned by the driver */
        int64_t used; /* counts.steps at its last run */
    } captured[CAPTURED_MAX];
    int n_captured;
};

/* host_bytes is the maximum size of a step's headers and records.  Returns 0, or -1 with EXIT_CODE_MEMORY. */
int workspace_init(struct workspace *w, struct device *device, size_t host_bytes, struct error *err);
void workspace_release(struct workspace *w);

/* Set and read the seed and the step counter of the device's random numbers. */
void workspace_seed(struct workspace *w, uint64_t seed, int32_t step);
void workspace_rng(const struct workspace *w, int32_t rng[4]);

/* Returns the bytes that fn needs, without running its kernels. */
struct workspace_bytes workspace_measure(struct workspace *w, step_fn *fn, void *arg);
/* Allocates at least these bytes, so that steps that need no more allocate nothing.  Returns 0, or -1 with
 * EXIT_CODE_MEMORY. */
int workspace_reserve(struct workspace *w, struct workspace_bytes bytes, struct error *err);

/* Runs a step without capturing it.  Tensors that it returns in arg stay valid until the next step.  Returns 0, or -1
 * with EXIT_CODE_MEMORY if the device cannot hold the step. */
int workspace_run(struct workspace *w, step_fn *fn, void *arg, struct error *err);

/*
 * Like workspace_run, for a step that repeats: it is captured once for each shape and then replayed, with the same
 * results.  A replay reuses the step's arguments to ops besides tensors, and the addresses of tensors that it does not
 * make.  Both must depend only on shapes, on numbers given to ctx_note, and on values that stay until workspace_forget.
 */
int workspace_step(struct workspace *w, step_fn *fn, void *arg, struct error *err);
enum { STEP_COUNTS = 96 };
/* Writes "N of M steps were replayed as a whole" and returns true.  Returns false if steps always run kernel by
 * kernel. */
bool workspace_tell(const struct workspace *w, char text[STEP_COUNTS]);
/* Drops all captures.  Call it when the trained parameters or the settings of the optimizer change. */
void workspace_forget(struct workspace *w);

#ifdef __cplusplus
}
#endif
#endif
