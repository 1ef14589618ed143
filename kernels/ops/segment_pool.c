/*
 * Mean or sum of the rows of each segment. The backward needs no input, only the segments.
 */
#include "kernels/kernels.h"

struct segment_pool_node {
    struct node node;
    struct tensor *x;
    struct seqs segments;
    enum pool pool;
};

static void segment_pool_backward(struct ctx *c, struct node *node)
{
    struct segment_pool_node *n = (struct segment_pool_node *)node;
    struct destination dx = destination_of(c, n->x);
    const struct seqs *s = &n->segments;
    RUN(c, segment_pool_backward, dx, node->out->grad, s, n->pool);
}

struct tensor *op_segment_pool(struct ctx *c, struct tensor *x, const struct seqs *s, enum pool pool)
{
    CHECK(x->ndim == 2, "segment_pool: %d dimensions", x->ndim);
    struct tensor *y = tensor_new2(c, x->dtype, s->n, tensor_cols(x));
    RUN(c, segment_pool, y, x, s, pool);
    if (tape_needs(c, y, x))
        TAPE_PUSH(c, segment_pool_node, y, segment_pool_backward, .x = x, .segments = *s, .pool = pool);
    return y;
}
