/*
 * policy.h - the arguments of op_policy_loss: tokens that a model sampled, and their advantages.
 */
#ifndef KERNELS_POLICY_H
#define KERNELS_POLICY_H

#include "kernels/tensor.h"

/*
 * The clipped surrogate of proximal policy optimisation (Schulman et al. 2017, equation 7), with separate lower and
 * upper bounds (Yu et al. 2025, equation 10).  The divergence from the initial model uses the estimator that is never
 * negative (Shao et al. 2024, equation 4).
 *
 * All tensors are F32 [T], one number for each token, and get no gradient.  Logarithms of ratios are clamped to
 * [-POLICY_LOG_MAX, POLICY_LOG_MAX], so that all results stay finite.
 */
#define POLICY_LOG_MAX 20.0f
struct policy {
    struct tensor *drawn;     /* log p of the token when it was sampled */
    struct tensor *start;     /* -log p of the token under the initial model; NULL: no divergence */
    struct tensor *advantage; /* of the token's completion */
    struct tensor *weight;    /* weight of the token's loss; 0: the token is skipped, whatever its other numbers */
    float low, high;          /* ratios are clipped to [1 - low, 1 + high] */
    float divergence;         /* weight of the divergence */
};

#endif
