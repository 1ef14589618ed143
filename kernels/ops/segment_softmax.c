/*
 * Softmax within segments. The backward reads y alone.
 */
#include "kernels/kernels.h"

struct segment_softmax_node {
    struct node node;
    struct tensor *x;
    struct seqs segments;
};

static void segment_softmax_backward(struct ctx *c, struct node *node)
{
    struct segment_softmax_node *n = (struct segment_softmax_node *)node;
    struct destination dx = destination_of(c, n->x);
    const struct seqs *s = &n->segments;
    RUN(c, segment_softmax_backward, dx, node->out->grad, node->out, s);
}

struct tensor *op_segment_softmax(struct ctx *c, struct tensor *x, const struct seqs *s)
{
    CHECK(x->dtype == F32, "segment_softmax: numbers of type %s", dtype_name(x->dtype));
    struct tensor *y = tensor_like(c, x);
    RUN(c, segment_softmax, y, x, s);
    if (tape_needs(c, y, x))
        TAPE_PUSH(c, segment_softmax_node, y, segment_softmax_backward, .x = x, .segments = *s);
    return y;
}
