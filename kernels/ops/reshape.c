/*
 * Another shape of the same memory. The gradient has the memory of dy, seen in the shape of x, and is moved.
 */
#include "kernels/kernels.h"

struct reshape_node {
    struct node node;
    struct tensor *x;
};

static void reshape_backward(struct ctx *c, struct node *node)
{
    struct reshape_node *n = (struct reshape_node *)node;
    struct tensor *dx = arena_alloc(c->host, sizeof *dx);

    *dx = *n->x;
    dx->data = node->out->grad->data;
    dx->grad = NULL;
    dx->needs_grad = dx->is_param = false;
    tape_move_grad(c, n->x, dx);
}

struct tensor *op_reshape(struct ctx *c, struct tensor *x, int ndim, const int64_t *shape)
{
    struct tensor *y = arena_alloc(c->host, sizeof *y);

    /* The data of a transient tensor is given up at the end of its block, which y would not notice. */
    CHECK(!x->transient, "reshape of a transient tensor");
    CHECK(ndim >= 0 && ndim <= TENSOR_MAX_DIMS, "reshape to %d dimensions", ndim);
    *y = (struct tensor){ .data = x->data, .dtype = x->dtype, .ndim = ndim };
    for (int i = 0; i < ndim; i++)
        y->shape[i] = shape[i];
    CHECK(tensor_size(y) == tensor_size(x), "reshape of %lld elements to %lld", (long long)tensor_size(x),
          (long long)tensor_size(y));
    if (tape_needs(c, y, x))
        TAPE_PUSH(c, reshape_node, y, reshape_backward, .x = x);
    return y;
}
