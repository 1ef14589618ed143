#include "kernels/param.h"

#include "kernels/device.h"
#include "kernels/moments.h"
#include "kernels/rng.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHARED_FROM = 1 << 16 }; /* min elements that several threads convert */

static const char *format_name(struct arena *host, const char *fmt, va_list ap)
{
    char name[256];
    int n = vsnprintf(name, sizeof name, fmt, ap);

    CHECK(n >= 0 && (size_t)n < sizeof name, "parameter name %s: %d characters", fmt, n);
    return arena_printf(host, "%s", name);
}

static bool is_trained(const struct param_arenas *a, unsigned flags)
{
    return a->optimizer != OPTIMIZER_NONE && !(flags & PARAM_FROZEN);
}

int param_state_shape(const struct param *p, int k, int64_t shape[TENSOR_MAX_DIMS])
{
    const struct tensor *t = p->t;
    bool factored = p->optimizer == OPTIMIZER_ADAFACTOR && t->ndim == 2;

    if (p->optimizer == OPTIMIZER_NONE || (k && p->optimizer == OPTIMIZER_ADAFACTOR && !factored))
        return -1;
    if (factored) {
        shape[0] = t->shape[k];
        return 1;
    }
    if (p->optimizer == OPTIMIZER_ADAMW_BYTES) {
        shape[0] = (tensor_size(t) + MOMENT_BLOCK - 1) / MOMENT_BLOCK;
        shape[1] = MOMENT_WORDS;
        return 2;
    }
    for (int d = 0; d < t->ndim; d++)
        shape[d] = t->shape[d];
    return t->ndim;
}

int64_t param_state_first(const struct param *p)
{
    return p->optimizer == OPTIMIZER_ADAFACTOR ? 0 : p->first;
}

static enum optimizer optimizer_for(const struct param *p, enum optimizer wanted)
{
    bool exact = tensor_size(p->t) < MOMENT_LEAST || p->flags & PARAM_EMBEDDING;

    return wanted == OPTIMIZER_ADAMW_BYTES && exact ? OPTIMIZER_ADAMW : wanted;
}

/* Allocates the optimizer's state of a parameter. */
static void add_state(struct param *p, const struct param_arenas *a)
{
    int64_t shape[TENSOR_MAX_DIMS];

    p->optimizer = optimizer_for(p, a->optimizer & ~(unsigned)OPTIMIZER_SHARDED);
    p->end = tensor_size(p->t);
    for (int k = 0; k < PARAM_STATES && !(a->optimizer & OPTIMIZER_SHARDED); k++) {
        int ndim = param_state_shape(p, k, shape);
        if (ndim >= 0)
            p->state[k] = tensor_alloc(a->host, a->data, F32, ndim, shape);
    }
}

const char *param_state_group(const struct param *p, int k)
{
    if (p->optimizer == OPTIMIZER_ADAMW)
        return k ? "adam_v/" : "adam_m/";
    if (p->optimizer == OPTIMIZER_ADAMW_BYTES)
        return k ? "adam_v_bytes/" : "adam_m_bytes/";
    return p->t->ndim != 2 ? "adafactor_v/" : k ? "adafactor_columns/" : "adafactor_rows/";
}

static void add_gradient(struct param *p, const struct param_arenas *a)
{
    struct tensor *t = p->t;

    t->needs_grad = true;
    t->grad = tensor_alloc(a->host, a->data, F32, t->ndim, t->shape);
    if (t->dtype == BF16)
        p->master = tensor_alloc(a->host, a->data, F32, t->ndim, t->shape);
}

/* Allocates a parameter that has no name yet. */
static struct param param_alloc(const struct param_arenas *a, enum dtype dtype, int ndim, const int64_t *shape,
                                unsigned flags)
{
    struct param new = { .flags = flags, .lr_scale = 1 };

    CHECK(dtype == F32 || dtype == BF16, "a parameter of type %s", dtype_name(dtype));
    new.t = tensor_alloc(a->host, a->data, dtype, ndim, shape);
    new.t->is_param = true;
    if (is_trained(a, flags)) {
        add_gradient(&new, a);
        return new;
    }
    new.t->frozen = true;
    if (flags & PARAM_BIAS && dtype == F32)
        new.t->rounded = tensor_alloc(a->host, a->data, BF16, ndim, shape);
    return new;
}

static struct tensor *add_param(struct params *p, const struct param_arenas *a, struct param new, const char *fmt,
                                va_list ap)
{
    new.name = format_name(a->host, fmt, ap);
    if (is_trained(a, new.flags))
        add_state(&new, a);
    CHECK(!params_find(p, new.name), "parameter %s declared twice", new.name);
    GROW(p->list, p->n, p->cap);
    p->list[p->n++] = new;
    return new.t;
}

struct tensor *param_new(struct params *p, const struct param_arenas *a, enum dtype dtype, int ndim,
                         const int64_t *shape, float init_std, unsigned flags, const char *name_fmt, ...)
{
    struct param new = param_alloc(a, dtype, ndim, shape, flags);
    va_list ap;

    new.init_std = init_std;
    va_start(ap, name_fmt);
    struct tensor *t = add_param(p, a, new, name_fmt, ap);
    va_end(ap);
    return t;
}

struct param_stack param_stack_new(const struct param_arenas *a, enum dtype dtype, int64_t rows, int64_t cols,
                                   unsigned flags)
{
    return (struct param_stack){ param_alloc(a, dtype, 2, (int64_t[]){ rows, cols }, flags), 0 };
}

/* Returns rows [from, from + n) of a matrix, or NULL if the matrix is NULL. */
static struct tensor *rows_of(struct arena *host, const struct tensor *t, int64_t from, int64_t n)
{
    if (!t)
        return NULL;
    struct tensor *rows = arena_alloc(host, sizeof *rows);
    *rows = tensor_view(t, from, n);
    return rows;
}

struct tensor *param_new_stacked(struct params *p, const struct param_arenas *a, struct param_stack *s, int64_t rows,
                                 const char *name_fmt, ...)
{
    struct param new = s->whole;
    va_list ap;

    new.t = rows_of(a->host, s->whole.t, s->used, rows);
    new.t->grad = rows_of(a->host, s->whole.t->grad, s->used, rows);
    new.master = rows_of(a->host, s->whole.master, s->used, rows);
    s->used += rows;
    va_start(ap, name_fmt);
    struct tensor *t = add_param(p, a, new, name_fmt, ap);
    va_end(ap);
    return t;
}

struct param *params_find(const struct params *p, const char *name)
{
    for (int i = 0; i < p->n; i++)
        if (strcmp(p->list[i].name, name) == 0)
            return &p->list[i];
    return NULL;
}

void params_release(struct params *p)
{
    free(p->list);
    *p = (struct params){ 0 };
}

struct params params_without_state(const struct params *p)
{
    struct params copy = { .n = p->n, .cap = p->n };

    copy.list = xmalloc((size_t)p->n * sizeof *copy.list);
    memcpy(copy.list, p->list, (size_t)p->n * sizeof *copy.list);
    for (int i = 0; i < copy.n; i++) {
        copy.list[i].optimizer = OPTIMIZER_NONE;
        copy.list[i].state[0] = copy.list[i].state[1] = NULL;
    }
    return copy;
}

/* Hashes the name with FNV-1a, and then the seed by the same step. */
static uint64_t name_key(const char *name, uint64_t seed)
{
    uint64_t h = 14695981039346656037u;

    for (const char *s = name; *s; s++)
        h = (h ^ (unsigned char)*s) * 1099511628211u;
    return (h ^ seed) * 1099511628211u;
}

/* Returns a uniform number in (0, 1), never 0, so that its logarithm is finite. */
static double open_uniform(uint32_t word)
{
    return ((double)word + 0.5) * 0x1p-32;
}

/* Returns element i of a standard normal distribution truncated at two deviations.  Box-Muller pairs of successive
 * counters are drawn until one is in range. */
static float truncated_normal(uint64_t key, uint64_t i)
{
    for (uint32_t attempt = 0;; attempt++) {
        struct philox counter = { { (uint32_t)i, (uint32_t)(i >> 32), attempt, 0x70617261u } };
        struct philox w = philox_block(counter, (uint32_t)key, (uint32_t)(key >> 32));
        for (int k = 0; k < 4; k += 2) {
            double r = sqrt(-2 * log(open_uniform(w.v[k]))), angle = 6.283185307179586 * open_uniform(w.v[k + 1]);
            double a = r * cos(angle), b = r * sin(angle);
            if (fabs(a) <= 2)
                return (float)a;
            if (fabs(b) <= 2)
                return (float)b;
        }
    }
}

/* Returns element i of a uniform distribution in (-1, 1). */
static float uniform(uint64_t key, uint64_t i)
{
    struct philox counter = { { (uint32_t)i, (uint32_t)(i >> 32), 0, 0x70617261u } };
    return (float)(2 * open_uniform(philox_block(counter, (uint32_t)key, (uint32_t)(key >> 32)).v[0]) - 1);
}

static void draw_values(float *out, const struct param *p, uint64_t seed)
{
    int64_t n = tensor_size(p->t);
    uint64_t key = name_key(p->name, seed);

    if (p->init_bound > 0) {
#pragma omp parallel for schedule(static)
        for (int64_t i = 0; i < n; i++)
            out[i] = p->init_bound * uniform(key, (uint64_t)i);
        return;
    }
    if (p->init_std <= 0) {
        for (int64_t i = 0; i < n; i++)
            out[i] = p->init_std < 0 ? 1.0f : 0.0f;
        return;
    }
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; i++)
        out[i] = p->init_std * truncated_normal(key, (uint64_t)i);
}

static int64_t largest(const struct params *p)
{
    int64_t n = 0;
    for (int i = 0; i < p->n; i++)
        if (tensor_size(p->list[i].t) > n)
            n = tensor_size(p->list[i].t);
    return n;
}

void params_init(struct params *p, struct device *d, uint64_t seed)
{
    size_t n = (size_t)largest(p);
    float *values = xmalloc(n * sizeof *values), *zeros = xcalloc(n, sizeof *zeros);

    for (int i = 0; i < p->n; i++) {
        struct param *q = &p->list[i];
        draw_values(values, q, seed);
        param_upload(q, d, values);
        if (!q->t->needs_grad)
            continue;
        device_upload(d, q->t->grad, zeros);
        for (int k = 0; k < PARAM_STATES; k++)
            if (q->state[k])
                device_upload(d, q->state[k], zeros);
    }
    free(values);
    free(zeros);
}

static void upload_part(struct tensor *t, struct device *d, const void *values, int64_t from, int64_t n)
{
    size_t size = dtype_size(t->dtype);
    if (n)
        d->driver->upload(d, (char *)t->data + (size_t)from * size, values, (size_t)n * size);
}

static void check_part(const struct param *p, int64_t from, int64_t n)
{
    CHECK(from >= 0 && n >= 0 && from + n <= tensor_size(p->t), "%s: elements %lld to %lld", p->name, (long long)from,
          (long long)(from + n));
}

static void upload_rounded(struct tensor *t, struct device *d, const float *values, int64_t from, int64_t n)
{
    uint16_t *half = xmalloc((size_t)n * sizeof *half);

#pragma omp parallel for schedule(static) if (n >= SHARED_FROM)
    for (int64_t i = 0; i < n; i++)
        half[i] = bf16_from_f32(values[i]);
    upload_part(t, d, half, from, n);
    free(half);
}

void param_upload_stored(struct param *p, struct device *d, const void *values, int64_t from, int64_t n)
{
    check_part(p, from, n);
    CHECK(!p->master, "%s: has a master, which is F32", p->name);
    upload_part(p->t, d, values, from, n);
    if (!p->t->rounded)
        return;
    float *aligned = xmalloc((size_t)n * sizeof *aligned);
    memcpy(aligned, values, (size_t)n * sizeof *aligned);
    upload_rounded(p->t->rounded, d, aligned, from, n);
    free(aligned);
}

void param_upload_part(struct param *p, struct device *d, const float *values, int64_t from, int64_t n)
{
    struct tensor *half = p->t->dtype == BF16 ? p->t : p->t->rounded;

    check_part(p, from, n);
    if (p->master)
        upload_part(p->master, d, values, from, n);
    if (p->t->dtype == F32)
        upload_part(p->t, d, values, from, n);
    if (half)
        upload_rounded(half, d, values, from, n);
}

void param_upload(struct param *p, struct device *d, const float *values)
{
    param_upload_part(p, d, values, 0, tensor_size(p->t));
}

void param_download(const struct param *p, struct device *d, float *out)
{
    const struct tensor *t = p->master ? p->master : p->t;
    int64_t n = tensor_size(t);

    if (t->dtype == F32) {
        device_download(d, out, t);
        return;
    }
    uint16_t *half = xmalloc((size_t)n * sizeof *half);
    device_download(d, half, t);
    for (int64_t i = 0; i < n; i++)
        out[i] = f32_from_bf16(half[i]);
    free(half);
}

float *params_buffer(const struct params *p)
{
    int64_t most = 0;

    for (int i = 0; i < p->n; i++)
        if (tensor_size(p->list[i].t) > most)
            most = tensor_size(p->list[i].t);
    return xmalloc((size_t)most * sizeof(float));
}
