#include "kernels/cpu/activation.h"
#include "kernels/cpu/row.h"
#include "kernels/cpu/vmath.h"

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
