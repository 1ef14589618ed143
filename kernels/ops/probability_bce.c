/*
 * Binary cross-entropy of probabilities. `least` bounds them away from 0 and 1.
 */
#include "kernels/kernels.h"

struct probability_bce_node {
    struct node node;
    struct tensor *p, *target, *weight;
    float least;
};

static void probability_bce_backward(struct ctx *c, struct node *node)
{
    struct probability_bce_node *n = (struct probability_bce_node *)node;
    struct destination dp = destination_of(c, n->p);
    RUN(c, probability_bce_backward, dp, node->out->grad, n->p, n->target, n->weight, n->least);
}

struct tensor *op_probability_bce(struct ctx *c, struct tensor *p, struct tensor *target, struct tensor *weight,
                                  float least)
{
    int64_t n = tensor_size(p);

    CHECK(tensor_size(target) == n && tensor_size(weight) == n && least > 0 && least < 0.5f,
          "probability_bce: %lld probabilities, %lld targets, least %g", (long long)n, (long long)tensor_size(target),
          (double)least);
    CHECK(p->dtype == F32 && target->dtype == F32 && weight->dtype == F32, "probability_bce: numbers of type %s",
          dtype_name(p->dtype));
    struct tensor *loss = tensor_new1(c, F32, 1);
    RUN(c, probability_bce, loss, p, target, weight, least);
    if (tape_needs(c, loss, p))
        TAPE_PUSH(c, probability_bce_node, loss, probability_bce_backward, .p = p, .target = target, .weight = weight,
                  .least = least);
    return loss;
}
