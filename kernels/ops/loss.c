/*
 * Losses. Targets, weights and scales are inputs without a gradient.
 */
#include "kernels/kernels.h"

/* Cross-entropy of rows with a target class, summed to one number. The record keeps log sum exp of each row. */
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

/* Binary cross-entropy of logits with weights of classes and elements, summed to one number. Target and weight are
 * inputs without a gradient. */
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

/* Binary cross-entropy of probabilities. `least` bounds them away from 0 and 1. */
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

/* The clipped loss of a policy from the log likelihoods of its tokens, with a penalty for the divergence from a
 * reference. */
struct policy_loss_node {
    struct node node;
    struct tensor *nll;
    struct policy policy;
};

static void policy_loss_backward(struct ctx *c, struct node *node)
{
    struct policy_loss_node *n = (struct policy_loss_node *)node;
    const struct policy *policy = &n->policy;
    struct destination dnll = destination_of(c, n->nll);
    RUN(c, policy_loss_backward, dnll, node->out->grad, n->nll, policy);
}

static void check_numbers(const struct tensor *x, const struct tensor *nll)
{
    CHECK(x->dtype == F32 && tensor_size(x) == tensor_size(nll), "policy_loss: %lld numbers of %s for %lld tokens",
          (long long)tensor_size(x), dtype_name(x->dtype), (long long)tensor_size(nll));
}

struct tensor *op_policy_loss(struct ctx *c, struct tensor *nll, const struct policy *policy)
{
    check_numbers(nll, nll);
    check_numbers(policy->drawn, nll);
    check_numbers(policy->advantage, nll);
    check_numbers(policy->weight, nll);
    if (policy->start)
        check_numbers(policy->start, nll);
    CHECK(policy->low >= 0 && policy->low <= 1 && policy->high >= 0 && policy->divergence >= 0,
          "policy_loss: bounds %g and %g, divergence %g", (double)policy->low, (double)policy->high,
          (double)policy->divergence);
    struct tensor *y = tensor_like(c, nll);
    RUN(c, policy_loss, y, nll, policy);
    if (tape_needs(c, y, nll))
        TAPE_PUSH(c, policy_loss_node, y, policy_loss_backward, .nll = nll, .policy = *policy);
    return y;
}

/* The scaled sum of all elements. The scale is a device number, so that a captured step can change it. */
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
