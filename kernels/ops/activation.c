/*
 * An activation of each element. The record keeps x, from which the backward computes the slope; y may then be
 * released with its block.
 */
#include "kernels/kernels.h"

struct activation_node {
    struct node node;
    struct tensor *x;
    enum activation act;
};

static void activation_backward(struct ctx *c, struct node *node)
{
    struct activation_node *n = (struct activation_node *)node;
    struct destination dx = destination_of(c, n->x);
    RUN(c, activation_backward, dx, node->out->grad, n->x, n->act);
}

struct tensor *op_activation(struct ctx *c, struct tensor *x, enum activation act)
{
    CHECK(x->dtype != I32, "activation of integers");
    struct tensor *y = tensor_like(c, x);
    RUN(c, activation, y, x, act);
    if (tape_needs(c, y, x))
        TAPE_PUSH(c, activation_node, y, activation_backward, .x = x, .act = act);
    return y;
}
