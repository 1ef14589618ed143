/*
 * policy.h - what op_policy_loss learns by: tokens that a model drew, and how good they turned out.
 */
#ifndef KERNELS_POLICY_H
#define KERNELS_POLICY_H

#include "kernels/tensor.h"

/*
 * The clipped surrogate of proximal policy optimisation (Schulman et al. 2017, equation 7) with bounds of its own on
 * each side (Yu et al. 2025, equation 10), and the divergence from a start by the estimate that is never negative
 * (Shao et al. 2024, equation 4).  Everything F32 [T], a number for each token; none gets a gradient.  Logarithms of
 * ratios count as no more than POLICY_LOG_MAX either way, so that all stays finite.
 */
#define POLICY_LOG_MAX 20.0f
struct policy {
    struct tensor *drawn;     /* log p of the token when it was drawn */
    struct tensor *start;     /* -log p of it by the start; NULL: no divergence */
    struct tensor *advantage; /* of the answer it is part of */
    struct tensor *weight;    /* of its term in the loss; 0: it is none, whatever the others are */
    float low, high;          /* ratios within 1 - low and 1 + high */
    float divergence;         /* weight of it */
};

#endif
