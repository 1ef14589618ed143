#include "kernels/kernels.h"

struct attention_node {
    struct node node;
    struct tensor *q, *kv, *lse;
    struct seqs qs, ks;
    int heads;
    float p;
    uint32_t site;
};

static void attention_backward(struct ctx *c, struct node *node)
{
    struct attention_node *n = (struct attention_node *)node;
    struct destination dq = destination_of(c, n->q), dkv = { 0 };
    const struct seqs *qs = &n->qs, *ks = &n->ks;

    if (n->kv != n->q)
        dkv = destination_of(c, n->kv);
    RUN(c, attention_backward, dq, dkv, node->out->grad, node->out, n->lse, n->q, n->kv, qs, ks, n->heads, n->p,
        n->site);
}

static void check_shapes(const struct tensor *q, const struct tensor *kv, const struct seqs *qs, const struct seqs *ks,
                         int heads)
{
    int64_t width = q == kv ? tensor_cols(q) / 3 : tensor_cols(q), dim = heads > 0 ? width / heads : 0;

    CHECK(q->ndim == 2 && kv->ndim == 2 && q->dtype == kv->dtype,
          "attention: q %d-dimensional %s, kv %d-dimensional %s", q->ndim, dtype_name(q->dtype), kv->ndim,
          dtype_name(kv->dtype));
    CHECK((dim == 32 || dim == 64 || dim == 128) && dim * heads == width, "attention: width %lld over %d heads",
          (long long)width, heads);
    CHECK(tensor_cols(kv) == (q == kv ? 3 : 2) * width, "attention: kv has %lld columns for width %lld",
          (long long)tensor_cols(kv), (long long)width);
    CHECK(qs->n == ks->n, "attention: %lld query and %lld key sequences", (long long)qs->n, (long long)ks->n);
}

struct tensor *op_attention(struct ctx *c, struct tensor *q, struct tensor *kv, const struct seqs *qs,
                            const struct seqs *ks, int heads, float p)
{
    check_shapes(q, kv, qs, ks, heads);
    int64_t rows = q->shape[0], width = q == kv ? tensor_cols(q) / 3 : tensor_cols(q);
    float drop = c->training ? p : 0;
    uint32_t site = drop > 0 ? c->site++ : 0;
    struct tensor *y = tensor_new2(c, q->dtype, rows, width), *lse = tensor_new2(c, F32, rows, heads);

    RUN(c, attention, y, lse, q, kv, qs, ks, heads, drop, site);
    if (tape_needs(c, y, q, kv))
        TAPE_PUSH(c, attention_node, y, attention_backward, .q = q, .kv = kv, .lse = lse, .qs = *qs, .ks = *ks,
                  .heads = heads, .p = drop, .site = site);
    return y;
}
