/*
 * The common part of attention ops with masks by position: defaults of the form, and checks of shapes and types.
 */
#include "kernels/ops/attention_form.h"

#include <math.h>

struct attention_form attention_form_whole(const char *op, const struct attention_form *form, const struct tensor *q)
{
    struct attention_form f = *form;

    CHECK(f.heads > 0 && f.groups >= 0 && f.heads % (f.groups ? f.groups : 1) == 0, "%s: %d heads in %d groups", op,
          f.heads, f.groups);
    CHECK(f.scale >= 0 && f.p == 0, "%s: scale %g, dropout %g", op, (double)f.scale, (double)f.p);
    CHECK(f.cap >= 0 && f.window >= 0, "%s: scores capped at %g, a window of %d", op, (double)f.cap, f.window);
    CHECK(!f.bias || (f.bias->dtype == F32 && f.bias->ndim == 2 && f.bias->shape[0] == f.heads && f.bias->shape[1] % 2),
          "%s: a bias of %lld numbers of %s for %d heads, expected F32 [heads, 2 R + 1]", op,
          (long long)tensor_size(f.bias), dtype_name(f.bias->dtype), f.heads);
    f.groups = f.groups ? f.groups : f.heads;
    int64_t dim = tensor_cols(q) / f.heads;
    f.scale = f.scale > 0 ? f.scale : 1.0f / sqrtf((float)dim);
    return f;
}

void attention_form_check(const char *op, const struct attention_form *whole, const struct tensor *q,
                          const struct tensor *k, const struct tensor *v)
{
    int heads = whole->heads, groups = whole->groups;
    int64_t dim = tensor_cols(q) / heads;

    CHECK(q->ndim == 2 && k->ndim == 2 && v->ndim == 2 && q != k && q != v && k != v,
          "%s: q, k and v are three matrices", op);
    CHECK(q->dtype == k->dtype && q->dtype == v->dtype, "%s: q %s, k %s, v %s", op, dtype_name(q->dtype),
          dtype_name(k->dtype), dtype_name(v->dtype));
    CHECK(dim >= 1 && dim <= HEAD_DIM_MAX && dim * heads == tensor_cols(q),
          "%s: q has %lld columns for %d heads of 1 .. %d", op, (long long)tensor_cols(q), heads, HEAD_DIM_MAX);
    CHECK(k->shape[0] == v->shape[0] && tensor_cols(k) == groups * dim && tensor_cols(v) == groups * dim,
          "%s: k [%lld, %lld], v [%lld, %lld], %d groups of %lld", op, (long long)k->shape[0],
          (long long)tensor_cols(k), (long long)v->shape[0], (long long)tensor_cols(v), groups, (long long)dim);
}
