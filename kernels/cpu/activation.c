/*
 * Activations of each element, and gated linear units. The backwards compute slopes from the inputs, and that of a
 * gated unit can write the unit's output again, for a block that is recomputed.
 */
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

CPU_CLONES static void swiglu_run(float *restrict y, const float *restrict gate, const float *restrict up, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] = gate[i] * vsigmoid(gate[i]) * up[i];
}

/* dgate = dy up silu'(gate), dup = dy silu(gate) */
CPU_CLONES static void slopes_run(float *restrict dgate, float *restrict dup, const float *restrict dy,
                                  const float *restrict gate, const float *restrict up, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        float s = vsigmoid(gate[i]);
        dgate[i] = dy[i] * up[i] * s * (1.0f + gate[i] * (1.0f - s));
        dup[i] = dy[i] * gate[i] * s;
    }
}

CPU_CLONES static void product_run(float *restrict y, const float *restrict a, const float *restrict b, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] = a[i] * b[i];
}

static void gated_run(float *y, const float *gate, const float *up, int64_t n, enum gate kind)
{
    float value[ROW_BLOCK];

    if (kind == GATE_SILU) {
        swiglu_run(y, gate, up, n);
        return;
    }
    activation_run(value, gate, n, kind == GATE_GELU ? ACT_GELU_TANH : ACT_GELU);
    product_run(y, value, up, n);
}

static void gated_slopes_run(float *dgate, float *dup, const float *dy, const float *gate, const float *up, int64_t n,
                             enum gate kind)
{
    float product[ROW_BLOCK];

    if (kind == GATE_SILU) {
        slopes_run(dgate, dup, dy, gate, up, n);
        return;
    }
    gated_run(dup, gate, dy, n, kind);
    product_run(product, dy, up, n);
    activation_back_run(dgate, product, gate, n, kind == GATE_GELU ? ACT_GELU_TANH : ACT_GELU);
}

void cpu_glu(struct ctx *c, struct tensor *y, const struct tensor *gate, const struct tensor *up, enum gate kind)
{
    (void)c;
    int64_t n = tensor_size(y);
    struct destination out = { y, false };
#pragma omp parallel for schedule(static) if (n > PARALLEL_MIN / 4) /* each element costs more than in other loops */
    for (int64_t at = 0; at < n; at += ROW_BLOCK) {
        float buf_gate[ROW_BLOCK], buf_up[ROW_BLOCK], buf_y[ROW_BLOCK];
        int64_t run = run_length(at, n);
        float *value = row_out(buf_y, out, at);
        gated_run(value, row_in(buf_gate, gate, at, run), row_in(buf_up, up, at, run), run, kind);
        row_store(out, at, value, run);
    }
}

void cpu_glu_backward(struct ctx *c, struct destination dgate, struct destination dup, struct tensor *y,
                      const struct tensor *dy, const struct tensor *gate, const struct tensor *up, enum gate kind)
{
    (void)c;
    int64_t n = tensor_size(dy);
    struct destination again = { y, false };
#pragma omp parallel for schedule(static) if (n > PARALLEL_MIN)
    for (int64_t at = 0; at < n; at += ROW_BLOCK) {
        float buf[3][ROW_BLOCK], to_gate[ROW_BLOCK], to_up[ROW_BLOCK];
        int64_t run = run_length(at, n);
        float *out_gate = dgate.t ? row_out(to_gate, dgate, at) : to_gate;
        float *out_up = dup.t ? row_out(to_up, dup, at) : to_up;
        const float *d = row_in(buf[0], dy, at, run), *g = row_in(buf[1], gate, at, run);
        const float *u = row_in(buf[2], up, at, run);
        gated_slopes_run(out_gate, out_up, d, g, u, run, kind);
        if (dgate.t)
            row_store(dgate, at, out_gate, run);
        if (dup.t)
            row_store(dup, at, out_up, run);
        if (y) { /* dy is no longer needed */
            float *value = row_out(buf[0], again, at);
            gated_run(value, g, u, run, kind);
            row_store(again, at, value, run);
        }
    }
}
