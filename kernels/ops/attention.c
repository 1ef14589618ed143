/*
 * Bidirectional attention within sequences. Self-attention passes one tensor as q and kv, with three parts of each
 * row; cross-attention passes two, with k and v in the parts of kv. The record keeps log sum exp of each row, from
 * which the backward computes the weights again. A weight matrix is never stored.
 */
#include "kernels/kernels.h"

#include <math.h>

struct attention_node {
    struct node node;
    struct tensor *q, *kv, *lse;
    struct seqs qs, ks;
    struct attention_form form;
    uint32_t site;
};

static void attention_backward(struct ctx *c, struct node *node)
{
    struct attention_node *n = (struct attention_node *)node;
    struct destination dq = destination_of(c, n->q), dkv = { 0 }, dbias = { 0 };
    const struct seqs *qs = &n->qs, *ks = &n->ks;
    const struct attention_form *form = &n->form;

    /* With one tensor, dq covers the gradients of all three parts. */
    if (n->kv != n->q)
        dkv = destination_of(c, n->kv);
    if (form->bias)
        dbias = destination_of(c, form->bias);
    RUN(c, attention_backward, dq, dkv, dbias, node->out->grad, node->out, n->lse, n->q, n->kv, qs, ks, form, n->site);
}

static void check_shapes(const struct tensor *q, const struct tensor *kv, const struct seqs *qs, const struct seqs *ks,
                         const struct attention_form *form)
{
    int heads = form->heads;
    int64_t width = q == kv ? tensor_cols(q) / 3 : tensor_cols(q), dim = heads > 0 ? width / heads : 0;

    CHECK(q->ndim == 2 && kv->ndim == 2 && q->dtype == kv->dtype,
          "attention: q %d-dimensional %s, kv %d-dimensional %s", q->ndim, dtype_name(q->dtype), kv->ndim,
          dtype_name(kv->dtype));
    CHECK(dim >= 1 && dim <= HEAD_DIM_MAX && dim * heads == width, "attention: width %lld over %d heads",
          (long long)width, heads);
    CHECK(form->groups == 0 || form->groups == heads, "attention: %d groups of %d heads", form->groups, heads);
    CHECK(tensor_cols(kv) == (q == kv ? 3 : 2) * width, "attention: kv has %lld columns for width %lld",
          (long long)tensor_cols(kv), (long long)width);
    CHECK(qs->n == ks->n, "attention: %lld query and %lld key sequences", (long long)qs->n, (long long)ks->n);
    CHECK(!form->bias || (form->bias->ndim == 2 && form->bias->dtype == F32 && form->bias->shape[0] == heads &&
                          form->bias->shape[1] % 2 == 1),
          "attention: expected a bias F32 [%d, odd]", heads);
}

struct tensor *op_attention(struct ctx *c, struct tensor *q, struct tensor *kv, const struct seqs *qs,
                            const struct seqs *ks, const struct attention_form *form)
{
    check_shapes(q, kv, qs, ks, form);
    int64_t rows = q->shape[0], width = q == kv ? tensor_cols(q) / 3 : tensor_cols(q);
    struct attention_form own = *form, *now = &own;
    /* The record keeps the form of this step: its dropout and its scale, which may have been left to the default. */
    own.p = c->training ? form->p : 0;
    int64_t dim = width / form->heads;
    own.scale = form->scale != 0 ? form->scale : 1.0f / sqrtf((float)dim);
    uint32_t site = own.p > 0 ? c->site++ : 0;
    struct tensor *y = tensor_new2(c, q->dtype, rows, width), *lse = tensor_new2(c, F32, rows, form->heads);

    RUN(c, attention, y, lse, q, kv, qs, ks, now, site);
    if (tape_needs(c, y, q, kv, form->bias))
        TAPE_PUSH(c, attention_node, y, attention_backward, .q = q, .kv = kv, .lse = lse, .qs = *qs, .ks = *ks,
                  .form = own, .site = site);
    return y;
}
