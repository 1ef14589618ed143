/*
 * A conversion between float types. The backward converts the gradient to the type of x, and adds it.
 */
#include "kernels/kernels.h"

struct cast_node {
    struct node node;
    struct tensor *x;
};

static void cast_backward(struct ctx *c, struct node *node)
{
    struct cast_node *n = (struct cast_node *)node;
    struct destination dx = destination_of(c, n->x);
    RUN(c, accumulate, dx, node->out->grad);
}

struct tensor *op_cast(struct ctx *c, struct tensor *x, enum dtype dtype)
{
    CHECK(x->dtype != I32 && dtype != I32, "cast from %s to %s", dtype_name(x->dtype), dtype_name(dtype));
    struct tensor *y = tensor_new(c, dtype, x->ndim, x->shape);
    RUN(c, cast, y, x);
    if (tape_needs(c, y, x))
        TAPE_PUSH(c, cast_node, y, cast_backward, .x = x);
    return y;
}
