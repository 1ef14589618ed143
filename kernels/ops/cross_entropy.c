/*
 * Cross-entropy of rows with a target class, summed to one number. The record keeps log sum exp of each row.
 */
#include "kernels/kernels.h"

struct cross_entropy_node {
    struct node node;
    struct tensor *x, *target, *lse;
    float scale;
};

static void cross_entropy_backward(struct ctx *c, struct node *node)
{
    struct cross_entropy_node *n = (struct cross_entropy_node *)node;
    struct destination dx = destination_of(c, n->x);
    RUN(c, cross_entropy_backward, dx, node->out->grad, n->lse, n->x, n->target, n->scale);
}

struct tensor *op_cross_entropy(struct ctx *c, struct tensor *x, struct tensor *target, float scale)
{
    CHECK(x->ndim == 2 && tensor_size(target) == x->shape[0] && target->dtype == I32,
          "cross_entropy: %lld targets of type %s for %lld rows", (long long)tensor_size(target),
          dtype_name(target->dtype), (long long)x->shape[0]);
    struct tensor *loss = tensor_new1(c, F32, 1);
    struct tensor *lse = tensor_new1(c, F32, x->shape[0]);
    RUN(c, cross_entropy, loss, lse, x, target, scale);
    if (tape_needs(c, loss, x))
        TAPE_PUSH(c, cross_entropy_node, loss, cross_entropy_backward, .x = x, .target = target, .lse = lse,
                  .scale = scale);
    return loss;
}
