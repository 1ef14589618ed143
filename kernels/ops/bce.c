/*
 * Binary cross-entropy of logits with weights of classes and elements, summed to one number. Target and weight are
 * inputs without a gradient.
 */
#include "kernels/kernels.h"

struct bce_node {
    struct node node;
    struct tensor *x, *target, *weight;
    float pos_weight, scale;
};

static void bce_backward(struct ctx *c, struct node *node)
{
    struct bce_node *n = (struct bce_node *)node;
    struct destination dx = destination_of(c, n->x);
    RUN(c, bce_backward, dx, node->out->grad, n->x, n->target, n->weight, n->pos_weight, n->scale);
}

struct tensor *op_bce(struct ctx *c, struct tensor *x, struct tensor *target, struct tensor *weight, float pos_weight,
                      float scale)
{
    int64_t n = tensor_size(x);

    CHECK(tensor_size(target) == n && (!weight || tensor_size(weight) == n), "bce: %lld logits, %lld targets",
          (long long)n, (long long)tensor_size(target));
    CHECK(x->dtype == F32 && target->dtype == F32 && (!weight || weight->dtype == F32), "bce: logits of type %s",
          dtype_name(x->dtype));
    struct tensor *loss = tensor_new1(c, F32, 1);
    RUN(c, bce, loss, x, target, weight, pos_weight, scale);
    if (tape_needs(c, loss, x))
        TAPE_PUSH(c, bce_node, loss, bce_backward, .x = x, .target = target, .weight = weight, .pos_weight = pos_weight,
                  .scale = scale);
    return loss;
}
