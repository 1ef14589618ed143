/*
 * Kernels on single elements: sums, factors, conversions, dropout and noise. They convert ROW_BLOCK elements at a time
 * to f32, so that one loop serves f32 and bf16. Masks and noise follow from counters, and no mask is stored.
 */
#include "kernels/cpu/dropout_mask.h"
#include "kernels/cpu/row.h"

#include <math.h>

CPU_CLONES static void add_run(float *restrict y, const float *restrict a, const float *restrict b, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] = a[i] + b[i];
}

void cpu_add(struct ctx *c, struct tensor *y, const struct tensor *a, const struct tensor *b)
{
    (void)c;
    int64_t n = tensor_size(y);
#pragma omp parallel for schedule(static) if (n > PARALLEL_MIN)
    for (int64_t at = 0; at < n; at += ROW_BLOCK) {
        float buf_a[ROW_BLOCK], buf_b[ROW_BLOCK], buf_y[ROW_BLOCK];
        struct destination out = { y, false };
        int64_t run = run_length(at, n);
        float *sum = row_out(buf_y, out, at);
        add_run(sum, row_in(buf_a, a, at, run), row_in(buf_b, b, at, run), run);
        row_store(out, at, sum, run);
    }
}

CPU_CLONES static void scale_run(float *y, const float *x, int64_t n, float alpha)
{
    for (int64_t i = 0; i < n; i++)
        y[i] = alpha * x[i];
}

void cpu_scale(struct ctx *c, struct destination y, const struct tensor *x, float alpha)
{
    int64_t n = tensor_size(x);

    (void)c;
    if (!y.t)
        return;
#pragma omp parallel for schedule(static) if (n > PARALLEL_MIN)
    for (int64_t at = 0; at < n; at += ROW_BLOCK) {
        float buf_x[ROW_BLOCK], buf_y[ROW_BLOCK], *out = row_out(buf_y, y, at);
        int64_t run = run_length(at, n);
        scale_run(out, row_in(buf_x, x, at, run), run, alpha);
        row_store(y, at, out, run);
    }
}

static void fill_run(struct tensor *y, int64_t at, int64_t n, float value)
{
    float run[ROW_BLOCK];

    for (int64_t i = 0; i < n; i++)
        run[i] = value;
    row_store((struct destination){ y, false }, at, run, n);
}

void cpu_fill(struct ctx *c, struct tensor *y, float value)
{
    (void)c;
    int64_t n = tensor_size(y);
#pragma omp parallel for schedule(static) if (n > PARALLEL_MIN)
    for (int64_t at = 0; at < n; at += ROW_BLOCK)
        fill_run(y, at, run_length(at, n), value);
}

void cpu_accumulate(struct ctx *c, struct destination dx, const struct tensor *dy)
{
    (void)c;
    int64_t n = tensor_size(dy);
    if (!dx.t)
        return;
#pragma omp parallel for schedule(static) if (n > PARALLEL_MIN)
    for (int64_t at = 0; at < n; at += ROW_BLOCK) {
        float buf[ROW_BLOCK];
        int64_t run = run_length(at, n);
        row_store(dx, at, row_in(buf, dy, at, run), run);
    }
}

void cpu_cast(struct ctx *c, struct tensor *y, const struct tensor *x)
{
    cpu_accumulate(c, (struct destination){ y, false }, x);
}

CPU_CLONES static void multiply_run(float *restrict y, const float *restrict a, const float *restrict b, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] = a[i] * b[i];
}

void cpu_dropout(struct ctx *c, struct destination y, const struct tensor *x, float p, uint32_t site)
{
    int64_t rows = tensor_rows(x), cols = tensor_cols(x);
    const int32_t *rng = c->rng->data;

    if (!y.t)
        return;
#pragma omp parallel for schedule(static) if (rows * cols > PARALLEL_MIN)
    for (int64_t r = 0; r < rows; r++) {
        float buf_x[ROW_BLOCK], buf_y[ROW_BLOCK], keep[ROW_BLOCK];
        for (int64_t j = 0; j < cols; j += ROW_BLOCK) {
            int64_t run = run_length(j, cols), at = r * cols + j;
            float *out = row_out(buf_y, y, at);
            dropout_mask_run(keep, rng, site, (uint32_t)r, (uint32_t)(j / 4), run, p);
            multiply_run(out, row_in(buf_x, x, at, run), keep, run);
            row_store(y, at, out, run);
        }
    }
}

/* The length of the sequence that row r is of: the last that starts at r or before and is not empty. */
static int64_t length_at(const int32_t *offsets, int64_t n, int64_t r)
{
    int64_t low = 0, high = n;

    while (high - low > 1) {
        int64_t middle = (low + high) / 2;
        if (offsets[middle] <= r)
            low = middle;
        else
            high = middle;
    }
    return offsets[low + 1] - offsets[low];
}

CPU_CLONES static void blur_run(float *restrict y, const float *restrict x, const float *restrict u, float scale,
                                int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] = x[i] + scale * u[i];
}

void cpu_neftune(struct ctx *c, struct tensor *y, const struct tensor *x, const struct seqs *s, float alpha,
                 uint32_t site)
{
    int64_t rows = tensor_rows(x), cols = tensor_cols(x);
    const int32_t *rng = c->rng->data, *offsets = s->offsets->data;
    struct destination out = { y, false };
#pragma omp parallel for schedule(static) if (rows * cols > PARALLEL_MIN)
    for (int64_t r = 0; r < rows; r++) {
        float buf_x[ROW_BLOCK], buf_y[ROW_BLOCK], u[ROW_BLOCK];
        float scale = alpha / sqrtf((float)(length_at(offsets, s->n, r) * cols));
        for (int64_t j = 0; j < cols; j += ROW_BLOCK) {
            int64_t run = run_length(j, cols), at = r * cols + j;
            float *value = row_out(buf_y, out, at);
            noise_run(u, rng, site, (uint32_t)r, (uint32_t)(j / 4), run);
            blur_run(value, row_in(buf_x, x, at, run), u, scale, run);
            row_store(out, at, value, run);
        }
    }
}
