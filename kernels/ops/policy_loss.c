/*
 * The clipped loss of a policy from the log likelihoods of its tokens, with a penalty for the divergence from a
 * reference.
 */
#include "kernels/kernels.h"

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
