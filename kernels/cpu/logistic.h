/*
 * logistic.h - the two functions of logits, in the forms that neither overflow nor cancel.
 */
#ifndef KERNELS_CPU_LOGISTIC_H
#define KERNELS_CPU_LOGISTIC_H

#include <math.h>

static inline float sigmoid(float x)
{
    float e = expf(-fabsf(x));
    return (x >= 0 ? 1 : e) / (1 + e);
}

/* log(1 + exp(x)) */
static inline float softplus(float x)
{
    return fmaxf(x, 0) + log1pf(expf(-fabsf(x)));
}

#endif
