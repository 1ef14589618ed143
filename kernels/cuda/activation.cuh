/*
 * activation.cuh - the activation functions and their derivatives.
 *
 * The exponentials take arguments of at most 0 wherever a positive one could overflow.
 */
#ifndef KERNELS_CUDA_ACTIVATION_CUH
#define KERNELS_CUDA_ACTIVATION_CUH

#include "kernels/cuda/cuda.cuh"

constexpr float LEAKY_SLOPE = 0.2f;
constexpr float GELU_TANH_SCALE = 0.7978845608028654f, GELU_TANH_CUBIC = 0.044715f; /* sqrt(2 / pi) */

/* 1 / (1 + exp(-x)). */
__device__ inline float sigmoid(float x)
{
    float e = expf(-fabsf(x));
    return (x >= 0 ? 1.0f : e) / (1.0f + e);
}

/* log(1 + exp(x)) */
__device__ inline float softplus(float x)
{
    return fmaxf(x, 0.0f) + log1pf(expf(-fabsf(x)));
}

/* The area of the normal distribution below -|x|, and exp(-x^2 / 2).  The polynomial is 7.1.26 of Abramowitz and Stegun
 * 1964, with an error below 8e-8: less than the rounding of a bf16 result. */
struct normal_tail {
    float area, density;
};

__device__ inline struct normal_tail tail_of(float x)
{
    /* The constants contain the factors sqrt(1/2) of erf's argument, 1/2 of the area, and log2(e) of
     * the exponential. */
    float t = reciprocal_fast(1.0f + 0.2316418882f * fabsf(x)), density = exp2_fast(x * (x * -0.7213475204f));
    float sum = 0.5307027145f * t - 0.726576014f;
    sum = (sum * t + 0.7107068705f) * t - 0.142248368f;
    return { (sum * t + 0.127414796f) * t * density, density };
}

/* act(x). */
__device__ inline float activate(float x, int act)
{
    switch (act) {
    case ACT_GELU:
        return 0.5f * x * (1.0f + erff(x * 0.7071067811865476f));
    case ACT_GELU_TANH:
        return 0.5f * x * (1.0f + tanhf(GELU_TANH_SCALE * (x + GELU_TANH_CUBIC * x * x * x)));
    case ACT_RELU:
        return x > 0 ? x : 0.0f;
    case ACT_LEAKY_RELU:
        return x > 0 ? x : LEAKY_SLOPE * x;
    case ACT_ELU:
        return x > 0 ? x : expm1f(x);
    case ACT_TANH:
        return tanhf(x);
    case ACT_SIGMOID:
        return sigmoid(x);
    default:
        return x;
    }
}

/* act(x) for a result of type T.  If the result is rounded to bf16, GELU through normal_tail takes half the
 * instructions. */
template <typename T>
__device__ inline float activate_for(float x, int act)
{
    return dtype_half<T> && act == ACT_GELU ? fmaxf(x, 0.0f) - fabsf(x) * tail_of(x).area : activate(x, act);
}

/* act'(x) */
__device__ inline float activation_slope(float x, int act)
{
    switch (act) {
    case ACT_GELU:
        return 0.5f * (1.0f + erff(x * 0.7071067811865476f)) + x * 0.3989422804014327f * expf(-0.5f * x * x);
    case ACT_GELU_TANH: {
        float t = tanhf(GELU_TANH_SCALE * (x + GELU_TANH_CUBIC * x * x * x));
        return 0.5f * (1.0f + t) +
               0.5f * x * (1.0f - t * t) * GELU_TANH_SCALE * (1.0f + 3.0f * GELU_TANH_CUBIC * x * x);
    }
    case ACT_RELU:
        return x > 0 ? 1.0f : 0.0f;
    case ACT_LEAKY_RELU:
        return x > 0 ? 1.0f : LEAKY_SLOPE;
    case ACT_ELU:
        return x > 0 ? 1.0f : expf(x);
    case ACT_TANH: {
        float t = tanhf(x);
        return 1.0f - t * t;
    }
    case ACT_SIGMOID: {
        float s = sigmoid(x);
        return s * (1.0f - s);
    }
    default:
        return 1.0f;
    }
}

/* The same for a result of type T. */
template <typename T>
__device__ inline float activation_slope_for(float x, int act)
{
    if (!dtype_half<T> || act != ACT_GELU)
        return activation_slope(x, act);
    struct normal_tail tail = tail_of(x);
    return (x > 0 ? 1.0f - tail.area : tail.area) + x * 0.3989422804f * tail.density;
}

#endif
