#include "kernels/workspace.h"

#include <stdlib.h>

enum { FIXED_BYTES = 4096 };

int workspace_init(struct workspace *w, struct device *device, size_t host_bytes, struct error *err)
{
    *w = (struct workspace){ .device = device };
    if (arena_init(&w->host, host_bytes, err) || device_arena(device, &w->fixed, FIXED_BYTES, err)) {
        workspace_release(w);
        return -1;
    }
    w->ctx = (struct ctx){ .dev = device, .host = &w->host, .step = &w->step };
    struct tensor *rng = xcalloc(1, sizeof *rng);
    *rng = (struct tensor){ .dtype = I32, .ndim = 1, .shape = { 4 }, .data = arena_alloc(&w->fixed, 16) };
    w->ctx.rng = rng;
    workspace_seed(w, 0, 0);
    return 0;
}

/* Ends the capture, whose addresses are about to be given back. */
static void forget(struct workspace *w)
{
    if (w->captured.graph)
        w->device->driver->capture_free(w->device, w->captured.graph);
    w->captured = (struct captured){ 0 };
}

void workspace_release(struct workspace *w)
{
    forget(w);
    free(w->ctx.rng);
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

/* One call of the step in the arenas and the manner of the ctx. */
static void walk(struct ctx *c, step_fn *fn, void *arg)
{
    arena_reset(c->host, 0);
    arena_reset(c->step, 0);
    arena_reset_end(c->step, 0);
    if (c->input)
        arena_reset(c->input, 0);
    c->tape = NULL;
    c->site = 0;
    c->shapes = 0;
    ctx_note(c, c->recording + 2 * c->training);
    fn(c, arg);
}

/* Dry; input NULL: inputs count as part of the step.  Returns the hash of the shapes. */
static uint64_t measure(struct workspace *w, struct arena *step, struct arena *input, step_fn *fn, void *arg)
{
    struct ctx dry = w->ctx;

    dry.k = NULL;
    dry.step = step;
    dry.input = input;
    arena_measure(step);
    if (input)
        arena_measure(input);
    walk(&dry, fn, arg);
    return dry.shapes;
}

size_t workspace_measure(struct workspace *w, step_fn *fn, void *arg)
{
    struct arena step;

    measure(w, &step, NULL, fn, arg);
    return step.peak;
}

/* Exactly what is needed at first; one that grows takes an eighth more, so that slowly growing batches do not
 * reallocate every time. */
static int reserve(struct workspace *w, struct arena *a, size_t need, struct error *err)
{
    size_t more = a->size ? need / 8 : 0;

    if (need <= a->size)
        return 0;
    forget(w);
    device_arena_release(w->device, a);
    if (device_arena(w->device, a, need + more, err) == 0)
        return 0;
    return device_arena(w->device, a, need, err);
}

int workspace_reserve(struct workspace *w, size_t bytes, struct error *err)
{
    return reserve(w, &w->step, bytes, err);
}

static void note_peak(struct workspace *w, size_t need)
{
    if (need > w->peak)
        w->peak = need;
}

int workspace_run(struct workspace *w, step_fn *fn, void *arg, struct error *err)
{
    size_t need = workspace_measure(w, fn, arg);

    note_peak(w, need);
    if (reserve(w, &w->step, need, err))
        return -1;
    w->ctx.k = w->device->driver->kernels;
    walk(&w->ctx, fn, arg);
    return 0;
}

/* The captured step as it runs eagerly, or with kernels or uploads alone. */
static void walk_captured(struct workspace *w, bool kernels, bool uploads)
{
    struct ctx c = w->ctx;

    c.k = kernels ? w->device->driver->kernels : NULL;
    c.input = &w->input;
    c.apart = kernels != uploads;
    walk(&c, w->captured.fn, w->captured.arg);
}

int workspace_capture(struct workspace *w, step_fn *fn, void *arg, struct error *err)
{
    const struct driver *driver = w->device->driver;
    struct arena step, input;
    uint64_t shapes = measure(w, &step, &input, fn, arg);

    forget(w);
    note_peak(w, step.peak + input.peak);
    if (reserve(w, &w->step, step.peak, err) || reserve(w, &w->input, input.peak, err))
        return -1;
    w->captured = (struct captured){ .fn = fn, .arg = arg, .shapes = shapes };
    walk_captured(w, true, true); /* loads kernels and plans products, which a capture may not */
    if (!driver->capture_begin)
        return 0;
    driver->capture_begin(w->device);
    walk_captured(w, true, false);
    w->captured.graph = driver->capture_end(w->device);
    return 0;
}

bool workspace_feed(struct workspace *w)
{
    struct arena step, input;

    if (!w->captured.fn || measure(w, &step, &input, w->captured.fn, w->captured.arg) != w->captured.shapes)
        return false;
    if (w->captured.graph)
        walk_captured(w, false, true);
    return true;
}

void workspace_replay(struct workspace *w)
{
    CHECK(w->captured.fn, "no step is captured");
    if (w->captured.graph)
        w->device->driver->replay(w->device, w->captured.graph);
    else
        walk_captured(w, true, true);
}
