/*
 * The logit of the probability that at least one event of a segment happens, from the logits of the events. The
 * backward reads x and y.
 */
#include "kernels/kernels.h"

struct noisy_or_node {
    struct node node;
    struct tensor *x;
    struct seqs segments;
};

static void noisy_or_backward(struct ctx *c, struct node *node)
{
    struct noisy_or_node *n = (struct noisy_or_node *)node;
    struct destination dx = destination_of(c, n->x);
    const struct seqs *s = &n->segments;
    RUN(c, noisy_or_backward, dx, node->out->grad, n->x, node->out, s);
}

struct tensor *op_noisy_or(struct ctx *c, struct tensor *x, const struct seqs *s)
{
    CHECK(x->dtype == F32, "noisy_or: logits of type %s", dtype_name(x->dtype));
    struct tensor *y = tensor_new1(c, F32, s->n);
    RUN(c, noisy_or, y, x, s);
    if (tape_needs(c, y, x))
        TAPE_PUSH(c, noisy_or_node, y, noisy_or_backward, .x = x, .segments = *s);
    return y;
}
