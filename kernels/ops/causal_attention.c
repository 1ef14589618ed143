/*
 * Causal attention with groups of heads, prefixes, windows and capped scores. The record keeps log sum exp of each row
 * and no weights.
 */
#include "kernels/ops/attention_form.h"

#include "kernels/device.h"

struct causal_attention_node {
    struct node node;
    struct tensor *q, *k, *v, *lse;
    struct causal s;
    struct attention_form form;
};

/* Allocates step memory for the sums of dq.  Returns NULL if the device needs none. */
static struct tensor *room_for_sums(struct ctx *c, const struct causal_attention_node *n, bool dq)
{
    int64_t dim = tensor_cols(n->q) / n->form.heads;

    if (!c->dev->sums_dq || n->q->dtype != BF16 || dim > CAUSAL_SUM_DIM)
        return NULL;
    return tensor_new1(
        c, I32, causal_sum_words(n->q->shape[0], n->k->shape[0], n->s.qs.n, n->form.heads, n->form.groups, dim, dq));
}

static void causal_attention_backward(struct ctx *c, struct node *node)
{
    struct causal_attention_node *n = (struct causal_attention_node *)node;
    struct destination dq = destination_of(c, n->q), dk = destination_of(c, n->k), dv = destination_of(c, n->v);
    struct destination dbias = destination_of(c, n->form.bias);
    const struct causal *s = &n->s;
    const struct attention_form *form = &n->form;

    /* Sums of dq to which several blocks add need memory of their own until the kernel is done. */
    size_t mark = arena_mark(c->step);
    struct tensor *sums = room_for_sums(c, n, dq.t != NULL);

    RUN(c, causal_attention_backward, dq, dk, dv, dbias, sums, node->out->grad, node->out, n->lse, n->q, n->k, n->v, s,
        form);
    arena_reset(c->step, mark);
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
    struct attention_form whole = attention_form_whole("causal_attention", form, q);
    const struct attention_form *f = &whole;

    attention_form_check("causal_attention", f, q, k, v);
    check_causal(s);
    struct tensor *y = tensor_like(c, q), *lse = tensor_new2(c, F32, q->shape[0], f->heads);

    RUN(c, causal_attention, y, lse, q, k, v, s, f);
    if (tape_needs(c, y, q, k, v, f->bias)) {
        /* Only a step of training has a record. It computes all keys itself, so that there are no cached ones behind
         * the queries. */
        CHECK(q->shape[0] <= k->shape[0], "causal_attention: a record for %lld queries and %lld keys",
              (long long)q->shape[0], (long long)k->shape[0]);
        CHECK(!s->prefix_len || tensor_size(s->last) == s->qs.n, "causal_attention: a record of prefixes needs last");
        TAPE_PUSH(c, causal_attention_node, y, causal_attention_backward, .q = q, .k = k, .v = v, .lse = lse, .s = *s,
                  .form = whole);
    }
    return y;
}
