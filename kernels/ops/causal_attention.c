#include "kernels/kernels.h"

struct causal_attention_node {
    struct node node;
    struct tensor *q, *k, *v, *lse;
    struct causal s;
    int heads, groups;
};

static void causal_attention_backward(struct ctx *c, struct node *node)
{
    struct causal_attention_node *n = (struct causal_attention_node *)node;
    struct destination dq = destination_of(c, n->q), dk = destination_of(c, n->k), dv = destination_of(c, n->v);
    const struct causal *s = &n->s;

    RUN(c, causal_attention_backward, dq, dk, dv, node->out->grad, node->out, n->lse, n->q, n->k, n->v, s, n->heads,
        n->groups);
}

static void check_shapes(const struct tensor *q, const struct tensor *k, const struct tensor *v, int heads, int groups)
{
    CHECK(heads > 0 && groups > 0 && heads % groups == 0, "causal_attention: %d heads in %d groups", heads, groups);
    int64_t dim = tensor_cols(q) / heads;

    CHECK(q->ndim == 2 && k->ndim == 2 && v->ndim == 2 && q != k && q != v && k != v,
          "causal_attention: q, k and v are three matrices");
    CHECK(q->dtype == k->dtype && q->dtype == v->dtype, "causal_attention: q %s, k %s, v %s", dtype_name(q->dtype),
          dtype_name(k->dtype), dtype_name(v->dtype));
    CHECK(dim % 8 == 0 && dim >= 8 && dim <= 256 && dim * heads == tensor_cols(q),
          "causal_attention: q has %lld columns for %d heads of 8 .. 256, a multiple of 8", (long long)tensor_cols(q),
          heads);
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
                                   const struct causal *s, int heads, int groups)
{
    check_shapes(q, k, v, heads, groups);
    check_causal(s);
    struct tensor *y = tensor_like(c, q), *lse = tensor_new2(c, F32, q->shape[0], heads);

    RUN(c, causal_attention, y, lse, q, k, v, s, heads, groups);
    if (tape_needs(c, y, q, k, v)) {
        CHECK(q->shape[0] == k->shape[0], "causal_attention: a record for %lld queries and %lld keys",
              (long long)q->shape[0], (long long)k->shape[0]);
        CHECK(!s->prefix_len || tensor_size(s->last) == s->qs.n, "causal_attention: a record of prefixes needs last");
        TAPE_PUSH(c, causal_attention_node, y, causal_attention_backward, .q = q, .k = k, .v = v, .lse = lse, .s = *s,
                  .heads = heads, .groups = groups);
    }
    return y;
}
