#include "tests/support/op_run.h"

#include "kernels/device.h"
#include "kernels/rng.h"
#include "tests/support/guard.h"
#include "tests/support/support.h"

#include <stdlib.h>
#include <string.h>

enum { HOST_BYTES = 1 << 18 };

static void *encode(const double *x, int64_t n, enum dtype dtype)
{
    char *bytes = xmalloc((size_t)n * dtype_size(dtype));

    for (int64_t i = 0; i < n; i++) {
        if (dtype == BF16)
            ((uint16_t *)(void *)bytes)[i] = bf16_from_f32((float)x[i]);
        else
            ((float *)(void *)bytes)[i] = (float)x[i];
    }
    return bytes;
}

static double *decode(struct device *d, const struct tensor *t, uint64_t *bits)
{
    int64_t n = tensor_size(t);
    void *bytes = xmalloc(tensor_bytes(t));
    double *out = xmalloc((size_t)n * sizeof *out);

    device_download(d, bytes, t);
    *bits = hash_bytes(*bits, bytes, tensor_bytes(t));
    for (int64_t i = 0; i < n; i++)
        out[i] = (double)(t->dtype == BF16 ? f32_from_bf16(((uint16_t *)bytes)[i]) : ((float *)bytes)[i]);
    free(bytes);
    return out;
}

static struct tensor *place(struct ctx *c, int ndim, const int64_t *shape, enum dtype dtype, const double *value)
{
    struct tensor *t = tensor_new(c, dtype, ndim, shape);

    if (c->k) {
        void *bytes = encode(value, tensor_size(t), dtype);
        device_upload(c->dev, t, bytes);
        free(bytes);
    }
    return t;
}

static struct tensor *place_input(struct ctx *c, const struct op_test *t, int i, bool wants)
{
    const struct op_input *in = &t->in[i];
    struct tensor *x = place(c, in->ndim, in->shape, in->f32 ? F32 : t->dtype, in->value);

    x->needs_grad = wants && !in->constant;
    x->is_param = in->param;
    if (in->param && x->needs_grad) {
        x->grad = tensor_new(c, F32, x->ndim, x->shape);
        RUN(c, fill, x->grad, 0.0f);
    }
    return x;
}

double op_entering(int64_t i, enum dtype dtype)
{
    struct philox counter = { { (uint32_t)i, 7, 7, 7 } };
    return op_rounded((double)philox_block(counter, 3, 5).v[0] * 0x1p-31 - 1, dtype);
}

static struct tensor *place_entering(struct ctx *c, const struct tensor *y)
{
    int64_t n = tensor_size(y);
    double *values = xmalloc((size_t)n * sizeof *values);

    for (int64_t i = 0; i < n; i++)
        values[i] = op_entering(i, y->dtype);
    struct tensor *dy = place(c, y->ndim, y->shape, y->dtype, values);
    free(values);
    return dy;
}

/* A checkpointed block keeps the shape of its first input, which an op need not do. */
static struct tensor *block(struct ctx *c, struct tensor **in, const void *arg)
{
    struct op_test *t = (struct op_test *)(uintptr_t)arg;
    return op_add(c, in[0], t->row->run(c, t));
}

static struct tensor *run_block(struct ctx *c, struct op_test *t, const struct mode *mode)
{
    struct tensor *in[1 + OP_INPUTS_MAX] = { place_entering(c, &mode->base->form) };
    int n = 1;

    in[0]->needs_grad = true;
    for (int i = 0; i < t->n_in; i++)
        if (t->x[i]->needs_grad && !t->x[i]->is_param)
            in[n++] = t->x[i];
    return mode->checkpointed ? tape_checkpoint(c, block, t, in, n) : block(c, in, t);
}

static struct tensor *step(struct ctx *c, struct op_test *t, const struct mode *mode, struct outcome *out)
{
    for (int i = 0; i < t->n_in; i++)
        t->x[i] = mode->same && i == 1 ? t->x[0] : place_input(c, t, i, mode->wants >> i & 1);
    c->rng = batch_i32(c, t->rng, 4);
    struct tensor *y = mode->base ? run_block(c, t, mode) : t->row->run(c, t);
    out->sites = c->site;
    if (mode->uses == 2)
        y = op_add(c, y, t->row->run(c, t));
    out->recorded = c->tape != NULL;
    if (out->recorded)
        tape_backward_from(c, y, place_entering(c, y));
    return y;
}

static size_t dry_peak(struct device *d, struct op_test *t, const struct mode *mode, struct arena *host)
{
    struct arena measure;
    struct outcome ignored;
    struct ctx c = { .dev = d, .host = host, .step = &measure, .recording = true, .training = true };

    arena_measure(&measure);
    arena_reset(host, 0);
    step(&c, t, mode, &ignored);
    arena_reset(host, 0);
    return measure.peak;
}

static void check_guards(struct device *d, const struct arena *a, const struct op_test *t)
{
    unsigned char *copy = xmalloc(a->size);

    d->driver->download(d, copy, a->base, a->size);
    int64_t at = guard_find_damage(copy);
    free(copy);
    if (at >= 0)
        fail_msg("%s on %s: [%lld, %lld] variant %d: byte %lld, beyond every block, was written", t->row->name,
                 d->driver->name, (long long)t->rows, (long long)t->cols, t->variant, (long long)at);
}

static void fill_pattern(struct device *d, const struct arena *a)
{
    void *pattern = xmalloc(a->size);

    memset(pattern, GUARD_PATTERN, a->size);
    d->driver->upload(d, a->base, pattern, a->size);
    d->driver->sync(d); /* before blocks are closed */
    free(pattern);
}

struct outcome op_run(struct device *d, struct op_test *t, const struct mode *mode)
{
    struct arena host, step_arena;
    struct error err;
    struct outcome out = { .bits = HASH_START };

    assert_int_equal(arena_init(&host, HOST_BYTES, &err), 0);
    guard_start(&step_arena, strcmp(d->driver->name, "cuda") == 0);
    size_t peak = dry_peak(d, t, mode, &host);
    assert_int_equal(device_arena(d, &step_arena, peak, &err), 0);
    fill_pattern(d, &step_arena);
    struct ctx c = {
        .k = d->driver->kernels, .dev = d, .host = &host, .step = &step_arena, .recording = true, .training = true
    };
    struct tensor *y = step(&c, t, mode, &out);
    d->driver->sync(d);
    if (step_arena.peak != peak)
        fail_msg("%s on %s: the dry run foretold %zu bytes, %zu were used", t->row->name, d->driver->name, peak,
                 step_arena.peak);
    guard_stop();
    if (!mode->checkpointed) /* which uses its memory again, guards included */
        check_guards(d, &step_arena, t);
    out.n = tensor_size(y);
    out.form = *y;
    out.y = decode(d, y, &out.bits);
    for (int i = 0; i < t->n_in; i++)
        if (t->x[i]->grad && !(mode->same && i == 1))
            out.grad[i] = decode(d, t->x[i]->grad, &out.bits);
    device_arena_release(d, &step_arena);
    arena_release(&host);
    return out;
}

void outcome_release(struct outcome *o)
{
    free(o->y);
    for (int i = 0; i < OP_INPUTS_MAX; i++)
        free(o->grad[i]);
    *o = (struct outcome){ 0 };
}
