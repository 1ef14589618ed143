#include "kernels/kernels.h"

struct scale_node {
    struct node node;
    struct tensor *x;
    float alpha;
};

static void scale_backward(struct ctx *c, struct node *node)
{
    struct scale_node *n = (struct scale_node *)node;
    struct destination dx = destination_of(c, n->x);
    RUN(c, scale, dx, node->out->grad, n->alpha);
}

struct tensor *op_scale(struct ctx *c, struct tensor *x, float alpha)
{
    struct destination y = { tensor_like(c, x), false };
    RUN(c, scale, y, x, alpha);
    if (tape_needs(c, y.t, x))
        TAPE_PUSH(c, scale_node, y.t, scale_backward, .x = x, .alpha = alpha);
    return y.t;
}
