#include "kernels/cpu/activation.h"

#include "kernels/cpu/row.h"
#include "kernels/cpu/vmath.h"

#define SQRT_HALF 0.707106781f
#define INV_SQRT_2PI 0.398942280f
#define SQRT_2_PI 0.797884561f
#define LEAK 0.2f

static inline float gelu(float x)
{
    return 0.5f * x * (1.0f + verf(x * SQRT_HALF));
}

static inline float gelu_slope(float x)
{
    return 0.5f * (1.0f + verf(x * SQRT_HALF)) + x * INV_SQRT_2PI * vexp(-0.5f * x * x);
}

static inline float gelu_tanh(float x)
{
    return 0.5f * x * (1.0f + vtanh(SQRT_2_PI * (x + 0.044715f * x * x * x)));
}

static inline float gelu_tanh_slope(float x)
{
    float t = vtanh(SQRT_2_PI * (x + 0.044715f * x * x * x));
    return 0.5f * (1.0f + t) + 0.5f * x * (1.0f - t * t) * SQRT_2_PI * (1.0f + 0.134145f * x * x);
}

static inline float tanh_slope(float x)
{
    float t = vtanh(x);
    return 1.0f - t * t;
}

static inline float elu(float x)
{
    float below = vexpm1_negative(x < 0 ? x : 0);
    return x > 0 ? x : below;
}

static inline float elu_slope(float x)
{
    float below = vexp(x < 0 ? x : 0);
    return x > 0 ? 1.0f : below;
}

static inline float sigmoid_slope(float x)
{
    float s = vsigmoid(x);
    return s * (1.0f - s);
}

/* One loop per activation, so that each vectorises; `value` is in terms of v = x[i]. */
#define EACH(value)                                                                                                    \
    for (int64_t i = 0; i < n; i++) {                                                                                  \
        float v = x[i];                                                                                                \
        y[i] = (value);                                                                                                \
    }                                                                                                                  \
    break

CPU_CLONES static void value_run(float *y, const float *x, int64_t n, enum activation act)
{
    switch (act) {
    case ACT_NONE:
        EACH(v);
    case ACT_GELU:
        EACH(gelu(v));
    case ACT_GELU_TANH:
        EACH(gelu_tanh(v));
    case ACT_RELU:
        EACH(v > 0 ? v : 0);
    case ACT_LEAKY_RELU:
        EACH(v > 0 ? v : LEAK * v);
    case ACT_ELU:
        EACH(elu(v));
    case ACT_TANH:
        EACH(vtanh(v));
    case ACT_SIGMOID:
        EACH(vsigmoid(v));
    }
}

void activation_run(float *y, const float *x, int64_t n, enum activation act)
{
    value_run(y, x, n, act);
}

/* y = dy act'(x) */
CPU_CLONES static void slope_run(float *restrict y, const float *restrict dy, const float *restrict x, int64_t n,
                                 enum activation act)
{
    switch (act) {
    case ACT_NONE:
        EACH(((void)v, dy[i]));
    case ACT_GELU:
        EACH(dy[i] * gelu_slope(v));
    case ACT_GELU_TANH:
        EACH(dy[i] * gelu_tanh_slope(v));
    case ACT_RELU:
        EACH(v > 0 ? dy[i] : 0);
    case ACT_LEAKY_RELU:
        EACH(v > 0 ? dy[i] : LEAK * dy[i]);
    case ACT_ELU:
        EACH(dy[i] * elu_slope(v));
    case ACT_TANH:
        EACH(dy[i] * tanh_slope(v));
    case ACT_SIGMOID:
        EACH(dy[i] * sigmoid_slope(v));
    }
}

void activation_back_run(float *dx, const float *dy, const float *x, int64_t n, enum activation act)
{
    slope_run(dx, dy, x, n, act);
}

void cpu_activation(struct ctx *c, struct tensor *y, const struct tensor *x, enum activation act)
{
    (void)c;
    int64_t n = tensor_size(x);
#pragma omp parallel for schedule(static) if (n > PARALLEL_MIN)
    for (int64_t at = 0; at < n; at += ROW_BLOCK) {
        float buf_x[ROW_BLOCK], buf_y[ROW_BLOCK];
        struct destination out = { y, false };
        int64_t run = run_length(at, n);
        float *value = row_out(buf_y, out, at);
        activation_run(value, row_in(buf_x, x, at, run), run, act);
        row_store(out, at, value, run);
    }
}

void cpu_activation_backward(struct ctx *c, struct destination dx, const struct tensor *dy, const struct tensor *x,
                             enum activation act)
{
    (void)c;
    int64_t n = tensor_size(x);
    if (!dx.t)
        return;
#pragma omp parallel for schedule(static) if (n > PARALLEL_MIN)
    for (int64_t at = 0; at < n; at += ROW_BLOCK) {
        float buf_x[ROW_BLOCK], buf_dy[ROW_BLOCK], buf_dx[ROW_BLOCK];
        int64_t run = run_length(at, n);
        float *slope = row_out(buf_dx, dx, at);
        slope_run(slope, row_in(buf_dy, dy, at, run), row_in(buf_x, x, at, run), run, act);
        row_store(dx, at, slope, run);
    }
}
