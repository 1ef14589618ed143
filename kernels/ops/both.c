#include "kernels/kernels.h"

struct both_node {
    struct node node;
    struct tensor *a, *b;
};

static void both_backward(struct ctx *c, struct node *node)
{
    struct both_node *n = (struct both_node *)node;
    struct tensor *dy = node->out->grad;

    struct grad da = grad_of(c, n->a);
    RUN(c, both_backward, da, dy, n->a, n->b);
    struct grad db = grad_of(c, n->b); /* after the first kernel: a and b may be the same tensor */
    RUN(c, both_backward, db, dy, n->b, n->a);
}

struct tensor *op_both(struct ctx *c, struct tensor *a, struct tensor *b)
{
    CHECK(a->dtype == F32 && b->dtype == F32 && tensor_size(a) == tensor_size(b),
          "both: %lld and %lld logits of types %s and %s", (long long)tensor_size(a), (long long)tensor_size(b),
          dtype_name(a->dtype), dtype_name(b->dtype));
    struct tensor *y = tensor_like(c, a);
    RUN(c, both, y, a, b);
    if (tape_needs(c, y, a, b))
        TAPE_PUSH(c, both_node, y, both_backward, .a = a, .b = b);
    return y;
}
