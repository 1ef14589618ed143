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

void workspace_release(struct workspace *w)
{
    free(w->ctx.rng);
    arena_release(&w->host);
    if (w->step.base)
        device_arena_release(w->device, &w->step);
    if (w->fixed.base)
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

static void run_once(struct ctx *c, step_fn *fn, void *arg)
{
    arena_reset(c->host, 0);
    arena_reset(c->step, 0);
    c->tape = NULL;
    c->site = 0;
    fn(c, arg);
}

size_t workspace_measure(struct workspace *w, step_fn *fn, void *arg)
{
    struct arena measure;
    struct ctx dry = w->ctx;

    arena_measure(&measure);
    dry.k = NULL;
    dry.step = &measure;
    run_once(&dry, fn, arg);
    return measure.peak;
}

/* An eighth more than needed, so that slowly growing batches do not reallocate every time. */
static int grow(struct workspace *w, size_t need, struct error *err)
{
    if (w->step.base)
        device_arena_release(w->device, &w->step);
    if (device_arena(w->device, &w->step, need + need / 8, err) == 0)
        return 0;
    return device_arena(w->device, &w->step, need, err);
}

int workspace_run(struct workspace *w, step_fn *fn, void *arg, struct error *err)
{
    size_t need = workspace_measure(w, fn, arg);

    if (need > w->peak)
        w->peak = need;
    if (need > w->step.size && grow(w, need, err) != 0)
        return -1;
    w->ctx.k = w->device->driver->kernels;
    run_once(&w->ctx, fn, arg);
    return 0;
}
