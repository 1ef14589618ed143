#include "kernels/workspace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { FIXED_BYTES = 4096 };

int workspace_init(struct workspace *w, struct device *device, size_t host_bytes, struct error *err)
{
    *w = (struct workspace){ .device = device };
    if (arena_init(&w->host, host_bytes, err) || device_arena(device, &w->fixed, FIXED_BYTES, err)) {
        workspace_release(w);
        return -1;
    }
    w->ctx = (struct ctx){ .dev = device,
                           .host = &w->host,
                           .step = &w->step,
                           .input = &w->input,
                           .buckets = device->driver->capture_begin != NULL };
    struct tensor *rng = xcalloc(1, sizeof *rng);
    *rng = (struct tensor){ .dtype = I32, .ndim = 1, .shape = { 4 }, .data = arena_alloc(&w->fixed, 16) };
    w->ctx.rng = rng;
    workspace_seed(w, 0, 0);
    return 0;
}

void workspace_forget(struct workspace *w)
{
    for (int i = 0; i < w->n_captured; i++)
        w->device->driver->capture_free(w->device, w->captured[i].graph);
    w->n_captured = 0;
}

void workspace_release(struct workspace *w)
{
    workspace_forget(w);
    free(w->ctx.rng);
    free(w->feed.bytes);
    arena_release(&w->host);
    device_arena_release(w->device, &w->step);
    device_arena_release(w->device, &w->input);
    device_arena_release(w->device, &w->fixed);
    *w = (struct workspace){ 0 };
}

void workspace_seed(struct workspace *w, uint64_t seed, int32_t step)
{
    int32_t rng[4] = { (int32_t)(uint32_t)seed, (int32_t)(uint32_t)(seed >> 32), step, 0 };
    device_upload(w->device, w->ctx.rng, rng);
}

void workspace_rng(const struct workspace *w, int32_t rng[4])
{
    device_download(w->device, rng, w->ctx.rng);
}

/* Calls the step once, in the arenas and the mode of the ctx. */
static void walk(struct ctx *c, step_fn *fn, void *arg)
{
    arena_reset(c->host, 0);
    arena_reset(c->step, 0);
    arena_reset_end(c->step, 0);
    arena_reset(c->input, 0);
    c->tape = NULL;
    c->site = 0;
    c->shapes = 0;
    ctx_note(c, c->recording + 2 * c->training);
    fn(c, arg);
}

/* The results of a dry run. */
struct step_plan {
    struct workspace_bytes need;
    uint64_t shapes;
};

/* Headers get the addresses of the real step in the existing memory, so that they are valid for a replay. */
static struct step_plan plan_step(struct workspace *w, struct feed *feed, step_fn *fn, void *arg)
{
    struct ctx dry = w->ctx;
    struct arena step, input;

    arena_measure_like(&step, &w->step);
    arena_measure_like(&input, &w->input);
    dry.k = NULL;
    dry.step = &step;
    dry.input = &input;
    dry.feed = feed;
    walk(&dry, fn, arg);
    return (struct step_plan){ { step.peak, input.peak }, dry.shapes };
}

struct workspace_bytes workspace_measure(struct workspace *w, step_fn *fn, void *arg)
{
    return plan_step(w, NULL, fn, arg).need;
}

/* Allocates the exact size at first.  An arena that grows takes an eighth more, so that slowly growing batches do not
 * reallocate every time.  Captures are dropped because they hold addresses. */
static int reserve(struct workspace *w, struct arena *a, size_t need, struct error *err)
{
    size_t more = a->size ? need / 8 : 0;

    if (need <= a->size)
        return 0;
    workspace_forget(w);
    device_arena_release(w->device, a);
    if (device_arena(w->device, a, need + more, err) == 0)
        return 0;
    return device_arena(w->device, a, need, err);
}

int workspace_reserve(struct workspace *w, struct workspace_bytes bytes, struct error *err)
{
    return reserve(w, &w->step, bytes.step, err) || reserve(w, &w->input, bytes.input, err) ? -1 : 0;
}

/* Allocates the memory of the step and uploads its inputs. */
static int enter(struct workspace *w, const struct step_plan *p, struct error *err)
{
    workspace_raise(&w->peak, p->need);
    if (workspace_reserve(w, p->need, err))
        return -1;
    if (p->need.input)
        w->device->driver->upload(w->device, w->input.base, w->feed.bytes, p->need.input);
    return 0;
}

static void walk_kernels(struct workspace *w, bool capturing, step_fn *fn, void *arg)
{
    w->ctx.k = w->device->driver->kernels;
    w->ctx.capturing = capturing;
    walk(&w->ctx, fn, arg);
}

int workspace_run(struct workspace *w, step_fn *fn, void *arg, struct error *err)
{
    struct step_plan p = plan_step(w, &w->feed, fn, arg);

    if (enter(w, &p, err))
        return -1;
    walk_kernels(w, false, fn, arg);
    return 0;
}

/* Returns a free entry, or that of the capture that was unused for the longest time. */
static struct captured *place_for_capture(struct workspace *w)
{
    struct captured *oldest = w->captured;

    if (w->n_captured < CAPTURED_MAX)
        return &w->captured[w->n_captured++];
    for (int i = 1; i < w->n_captured; i++)
        if (w->captured[i].used < oldest->used)
            oldest = &w->captured[i];
    w->device->driver->capture_free(w->device, oldest->graph);
    return oldest;
}

/* Captures a step that has just run.  Its kernels are loaded and its products planned, which is impossible during
 * capture.  Traced steps are not captured, because kernels are traced one by one. */
static void capture(struct workspace *w, uint64_t shapes, step_fn *fn, void *arg)
{
    const struct driver *driver = w->device->driver;

    if (w->eager || trace_wanted || !driver->capture_begin)
        return;
    driver->capture_begin(w->device);
    walk_kernels(w, true, fn, arg);
    void *graph = driver->capture_end(w->device);
    if (graph) {
        *place_for_capture(w) = (struct captured){ fn, shapes, graph, w->counts.steps };
        return;
    }
    base_warn("the device has no memory for captured steps: kernels are launched one by one");
    workspace_forget(w);
    w->eager = true;
}

static struct captured *find(struct workspace *w, uint64_t shapes, step_fn *fn)
{
    for (int i = 0; i < w->n_captured; i++)
        if (w->captured[i].shapes == shapes && w->captured[i].fn == fn)
            return &w->captured[i];
    return NULL;
}

int workspace_step(struct workspace *w, step_fn *fn, void *arg, struct error *err)
{
    struct step_plan p = plan_step(w, &w->feed, fn, arg);

    if (enter(w, &p, err))
        return -1;
    w->counts.steps++;
    struct captured *known = find(w, p.shapes, fn);
    if (known) {
        known->used = w->counts.steps;
        w->counts.replayed++;
        w->device->driver->replay(w->device, known->graph);
        return 0;
    }
    walk_kernels(w, false, fn, arg);
    capture(w, p.shapes, fn, arg);
    return 0;
}

bool workspace_tell(const struct workspace *w, char text[STEP_COUNTS])
{
    snprintf(text, STEP_COUNTS, "%" PRId64 " of %" PRId64 " steps were replayed as a whole", w->counts.replayed,
             w->counts.steps);
    return w->device->driver->capture_begin && !w->eager;
}
