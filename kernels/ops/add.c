/*
 * The sum of two tensors, and the sum in place of decoders, which has no record. The gradient of the output is that of
 * both inputs: one input gets a copy, and the other takes its memory over, without a copy.
 */
#include "kernels/kernels.h"

struct add_node {
    struct node node;
    struct tensor *a, *b;
};

static void add_backward(struct ctx *c, struct node *node)
{
    struct add_node *n = (struct add_node *)node;
    struct tensor *dy = node->out->grad;

    struct destination db = destination_of(c, n->b);
    RUN(c, accumulate, db, dy);
    /* The move comes last, since it may hand the memory of dy to a. */
    tape_move_grad(c, n->a, dy);
}

void op_add_to(struct ctx *c, struct tensor *y, struct tensor *x)
{
    struct destination sum = { y, true };

    CHECK(!c->recording, "add_to has no backward; add has");
    CHECK(tensor_size(x) == tensor_size(y) && tensor_cols(x) == tensor_cols(y) && x->dtype == y->dtype,
          "add_to: %lld elements of %s to %lld of %s", (long long)tensor_size(x), dtype_name(x->dtype),
          (long long)tensor_size(y), dtype_name(y->dtype));
    RUN(c, accumulate, sum, x);
}

struct tensor *op_add(struct ctx *c, struct tensor *a, struct tensor *b)
{
    CHECK(tensor_size(a) == tensor_size(b) && tensor_cols(a) == tensor_cols(b) && a->dtype == b->dtype,
          "add: %lld and %lld elements, %s and %s", (long long)tensor_size(a), (long long)tensor_size(b),
          dtype_name(a->dtype), dtype_name(b->dtype));
    struct tensor *y = tensor_like(c, a);
    RUN(c, add, y, a, b);
    if (tape_needs(c, y, a, b))
        TAPE_PUSH(c, add_node, y, add_backward, .a = a, .b = b);
    return y;
}
