/*
 * Attention pooling: a softmax of gates within each segment weighs its rows. The record keeps the weights, which are
 * one number for each row.
 */
#include "kernels/kernels.h"

struct attention_pool_node {
    struct node node;
    struct tensor *x, *gate, *a;
    struct seqs segments;
};

static void attention_pool_backward(struct ctx *c, struct node *node)
{
    struct attention_pool_node *n = (struct attention_pool_node *)node;
    struct destination dx = destination_of(c, n->x), dgate = destination_of(c, n->gate);
    const struct seqs *s = &n->segments;
    RUN(c, attention_pool_backward, dx, dgate, node->out->grad, n->x, n->a, s);
}

struct tensor *op_attention_pool(struct ctx *c, struct tensor *x, struct tensor *gate, const struct seqs *s)
{
    CHECK(x->ndim == 2 && tensor_size(gate) == x->shape[0] && gate->dtype == F32,
          "attention_pool: %lld gates of type %s for %lld rows", (long long)tensor_size(gate), dtype_name(gate->dtype),
          (long long)x->shape[0]);
    struct tensor *y = tensor_new2(c, x->dtype, s->n, tensor_cols(x));
    struct tensor *a = tensor_new1(c, F32, x->shape[0]);
    RUN(c, attention_pool, y, a, x, gate, s);
    if (tape_needs(c, y, x, gate))
        TAPE_PUSH(c, attention_pool_node, y, attention_pool_backward, .x = x, .gate = gate, .a = a, .segments = *s);
    return y;
}
