#include "kernels/tensor.h"

#include <string.h>

int64_t tensor_size(const struct tensor *t)
{
    int64_t n = 1;
    for (int i = 0; i < t->ndim; i++)
        n *= t->shape[i];
    return n;
}

int64_t tensor_cols(const struct tensor *t)
{
    return t->ndim ? t->shape[t->ndim - 1] : 1;
}

int64_t tensor_rows(const struct tensor *t)
{
    int64_t n = 1;
    for (int i = 0; i + 1 < t->ndim; i++)
        n *= t->shape[i];
    return tensor_cols(t) ? n : 0;
}

size_t dtype_size(enum dtype dtype)
{
    return dtype == BF16 ? 2 : 4;
}

const char *dtype_name(enum dtype dtype)
{
    static const char *const names[] = { [F32] = "f32", [BF16] = "bf16", [I32] = "i32" };
    return names[dtype];
}

size_t tensor_bytes(const struct tensor *t)
{
    return (size_t)tensor_size(t) * dtype_size(t->dtype);
}

static struct tensor *header(struct arena *host, enum dtype dtype, int ndim, const int64_t *shape)
{
    struct tensor *t = arena_alloc(host, sizeof *t);

    CHECK(ndim >= 0 && ndim <= TENSOR_MAX_DIMS, "%d dimensions", ndim);
    *t = (struct tensor){ .dtype = dtype, .ndim = ndim };
    for (int i = 0; i < ndim; i++) {
        CHECK(shape[i] >= 0, "dimension %d is %lld", i, (long long)shape[i]);
        t->shape[i] = shape[i];
    }
    return t;
}

struct tensor *tensor_alloc(struct arena *host, struct arena *data, enum dtype dtype, int ndim, const int64_t *shape)
{
    struct tensor *t = header(host, dtype, ndim, shape);

    t->data = arena_alloc(data, tensor_bytes(t));
    return t;
}

void ctx_note(struct ctx *c, int64_t number)
{
    c->shapes = (c->shapes ^ (uint64_t)number) * UINT64_C(0x9E3779B97F4A7C15);
    c->shapes ^= c->shapes >> 32;
}

static struct tensor *noted(struct ctx *c, struct tensor *t)
{
    ctx_note(c, (int64_t)t->dtype + 4 * t->ndim);
    for (int i = 0; i < t->ndim; i++)
        ctx_note(c, t->shape[i]);
    return t;
}

/* Returns the memory of the running block's output, for the first tensor that asks. */
static void *memory_of_result(struct ctx *c, const struct tensor *t)
{
    struct tensor *result = c->result;

    CHECK(!t->transient && t->dtype == result->dtype && tensor_bytes(t) == tensor_bytes(result),
          "%zu bytes of %s for a block's output of %zu bytes of %s", tensor_bytes(t), dtype_name(t->dtype),
          tensor_bytes(result), dtype_name(result->dtype));
    c->result = NULL;
    c->takes_result = false;
    return result->data;
}

struct tensor *tensor_new(struct ctx *c, enum dtype dtype, int ndim, const int64_t *shape)
{
    struct tensor *t = header(c->host, dtype, ndim, shape);

    t->transient = c->transient;
    c->transient = false;
    if (c->takes_result)
        t->data = memory_of_result(c, t);
    else
        t->data = t->transient ? arena_alloc_end(c->step, tensor_bytes(t)) : arena_alloc(c->step, tensor_bytes(t));
    return noted(c, t);
}

struct tensor *tensor_input(struct ctx *c, enum dtype dtype, int ndim, const int64_t *shape)
{
    return noted(c, tensor_alloc(c->host, c->input ? c->input : c->step, dtype, ndim, shape));
}

struct tensor *tensor_new1(struct ctx *c, enum dtype dtype, int64_t n)
{
    return tensor_new(c, dtype, 1, &n);
}

struct tensor *tensor_new2(struct ctx *c, enum dtype dtype, int64_t rows, int64_t cols)
{
    return tensor_new(c, dtype, 2, (int64_t[]){ rows, cols });
}

struct tensor *tensor_like(struct ctx *c, const struct tensor *t)
{
    return tensor_new(c, t->dtype, t->ndim, t->shape);
}

struct tensor tensor_view(const struct tensor *t, int64_t from, int64_t n)
{
    CHECK(t->ndim > 0 && from >= 0 && n >= 0 && from + n <= t->shape[0], "rows %lld + %lld of %lld", (long long)from,
          (long long)n, (long long)(t->ndim ? t->shape[0] : 0));
    struct tensor s = *t;
    int64_t row = t->shape[0] ? tensor_size(t) / t->shape[0] : 0;

    s.shape[0] = n;
    s.data = (char *)t->data + (size_t)(from * row) * dtype_size(t->dtype);
    s.grad = s.rounded = NULL;
    return s;
}

static struct tensor *slice_of(struct ctx *c, const struct tensor *t, int64_t from, int64_t n)
{
    struct tensor *s = arena_alloc(c->host, sizeof *s);

    *s = tensor_view(t, from, n);
    return s;
}

struct tensor *tensor_slice(struct ctx *c, const struct tensor *t, int64_t from, int64_t n)
{
    CHECK(t->is_param || !t->needs_grad, "a slice of an activation would lose its gradient");
    struct tensor *s = slice_of(c, t, from, n);
    if (t->grad)
        s->grad = slice_of(c, t->grad, from, n);
    if (t->rounded)
        s->rounded = slice_of(c, t->rounded, from, n);
    return s;
}

uint16_t bf16_from_f32(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    if ((u & 0x7fffffffu) > 0x7f800000u)
        return (uint16_t)(u >> 16 | 0x40u);
    return (uint16_t)((u + 0x7fffu + (u >> 16 & 1u)) >> 16);
}

float f32_from_bf16(uint16_t x)
{
    uint32_t u = (uint32_t)x << 16;
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}
