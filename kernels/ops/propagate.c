/*
 * A weighted sum over the edges into each node, as in a graph convolution. The backward is the same sum over the edges
 * out of a node.
 */
#include "kernels/kernels.h"

struct propagate_node {
    struct node node;
    struct tensor *x, *w;
    struct graph graph; /* a copy, since the caller's may be gone before the backward */
};

static void propagate_backward(struct ctx *c, struct node *node)
{
    struct propagate_node *n = (struct propagate_node *)node;
    struct destination dx = destination_of(c, n->x);

    if (dx.t)
        RUN(c, propagate, dx, node->out->grad, n->w, &n->graph, true);
}

struct tensor *op_propagate(struct ctx *c, struct tensor *x, struct tensor *w, const struct graph *g)
{
    CHECK(x->ndim == 2 && x->shape[0] == g->nodes, "propagate: %d dimensions, %lld rows, %lld nodes", x->ndim,
          (long long)x->shape[0], (long long)g->nodes);
    CHECK(w->dtype == F32 && tensor_size(w) == g->edges, "propagate: %lld weights for %lld edges",
          (long long)tensor_size(w), (long long)g->edges);
    struct tensor *y = tensor_new2(c, x->dtype, g->nodes, tensor_cols(x));
    struct destination out = { y, false };
    RUN(c, propagate, out, x, w, g, false);
    if (tape_needs(c, y, x))
        TAPE_PUSH(c, propagate_node, y, propagate_backward, .x = x, .w = w, .graph = *g);
    return y;
}
