#include "kernels/kernels.h"

#include <math.h>

struct causal_attention_node {
    struct node node;
    struct tensor *q, *k, *v, *lse;
    struct causal s;
    struct attention_form form;
};

static void causal_attention_backward(struct ctx *c, struct node *node)
{
    struct causal_attention_node *n = (struct causal_attention_node *)node;
    struct destination dq = destination_of(c, n->q), dk = destination_of(c, n->k), dv = destination_of(c, n->v);
    struct destination dbias = destination_of(c, n->form.bias);
    const struct causal *s = &n->s;
    const struct attention_form *form = &n->form;

    RUN(c, causal_attention_backward, dq, dk, dv, dbias, node->out->grad, node->out, n->lse, n->q, n->k, n->v, s, form);
}

/* The form with its zeros filled in. */
static struct attention_form whole_form(const struct attention_form *form, const struct tensor *q)
{
    struct attention_form f = *form;

    CHECK(f.heads > 0 && f.groups >= 0 && f.heads % (f.groups ? f.groups : 1) == 0,
          "causal_attention: %d heads in %d groups", f.heads, f.groups);
    CHECK(f.scale >= 0 && f.p == 0, "causal_attention: scale %g, dropout %g", (double)f.scale, (double)f.p);
    CHECK(!f.bias || (f.bias->dtype == F32 && f.bias->ndim == 2 && f.bias->shape[0] == f.heads && f.bias->shape[1] % 2),
          "causal_attention: a bias of %lld numbers of %s for %d heads, expected F32 [heads, 2 R + 1]",
          (long long)tensor_size(f.bias), dtype_name(f.bias->dtype), f.heads);
    f.groups = f.groups ? f.groups : f.heads;
    int64_t dim = tensor_cols(q) / f.heads;
    f.scale = f.scale > 0 ? f.scale : 1.0f / sqrtf((float)dim);
    return f;
}

static void check_shapes(const struct tensor *q, const struct tensor *k, const struct tensor *v, int heads, int groups)
{
    int64_t dim = tensor_cols(q) / heads;

    CHECK(q->ndim == 2 && k->ndim == 2 && v->ndim == 2 && q != k && q != v && k != v,
          "causal_attention: q, k and v are three matrices");
    CHECK(q->dtype == k->dtype && q->dtype == v->dtype, "causal_attention: q %s, k %s, v %s", dtype_name(q->dtype),
          dtype_name(k->dtype), dtype_name(v->dtype));
    CHECK(dim >= 1 && dim <= 256 && dim * heads == tensor_cols(q),
          "causal_attention: q has %lld columns for %d heads of 1 .. 256", (long long)tensor_cols(q), heads);
    CHECK(k->shape[0] == v->shape[0] && tensor_cols(k) == groups * dim && tensor_cols(v) == groups * dim,
          "causal_attention: k [%lld, %lld], v [%lld, %lld], %d groups of %lld", (long long)k->shape[0],
          (long long)tensor_cols(k), (long long)v->shape[0], (long long)tensor_cols(v), groups, (long long)dim);
}

static void check_causal(const struct causal *s)
{
    int64_t n = s->qs.n;

    CHECK(tensor_size(s->key_start) == n && tensor_size(s->key_len) == n,
          "causal_attention: %lld key_start, %lld key_len of %lld sequences", (long long)tensor_size(s->key_start),
          (long long)tensor_size(s->key_len), (long long)n);
    if (s->prefix_len)
        CHECK(tensor_size(s->prefix_start) == n && tensor_size(s->prefix_len) == n,
              "causal_attention: %lld prefix_start, %lld prefix_len of %lld sequences",
              (long long)tensor_size(s->prefix_start), (long long)tensor_size(s->prefix_len), (long long)n);
}

struct tensor *op_causal_attention(struct ctx *c, struct tensor *q, struct tensor *k, struct tensor *v,
                                   const struct causal *s, const struct attention_form *form)
{
    struct attention_form whole = whole_form(form, q);
    const struct attention_form *f = &whole;

    check_shapes(q, k, v, f->heads, f->groups);
    check_causal(s);
    struct tensor *y = tensor_like(c, q), *lse = tensor_new2(c, F32, q->shape[0], f->heads);

    RUN(c, causal_attention, y, lse, q, k, v, s, f);
    if (tape_needs(c, y, q, k, v, f->bias)) {
        CHECK(q->shape[0] == k->shape[0], "causal_attention: a record for %lld queries and %lld keys",
              (long long)q->shape[0], (long long)k->shape[0]);
        CHECK(!s->prefix_len || tensor_size(s->last) == s->qs.n, "causal_attention: a record of prefixes needs last");
        TAPE_PUSH(c, causal_attention_node, y, causal_attention_backward, .q = q, .k = k, .v = v, .lse = lse, .s = *s,
                  .form = whole);
    }
    return y;
}
