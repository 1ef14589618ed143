/*
 * The scaled sum of all elements. The scale is a device number, so that a captured step can change it.
 */
#include "kernels/kernels.h"

struct sum_node {
    struct node node;
    struct tensor *x, *scale;
};

static void sum_backward(struct ctx *c, struct node *node)
{
    struct sum_node *n = (struct sum_node *)node;
    struct destination dx = destination_of(c, n->x);
    RUN(c, sum_backward, dx, node->out->grad, n->scale);
}

struct tensor *op_sum(struct ctx *c, struct tensor *x, struct tensor *scale)
{
    CHECK(x->dtype == F32 && scale->dtype == F32 && tensor_size(scale) == 1, "sum of %s, scaled by %lld of %s",
          dtype_name(x->dtype), (long long)tensor_size(scale), dtype_name(scale->dtype));
    struct tensor *y = tensor_new1(c, F32, 1);
    RUN(c, sum, y, x, scale);
    if (tape_needs(c, y, x))
        TAPE_PUSH(c, sum_node, y, sum_backward, .x = x, .scale = scale);
    return y;
}
