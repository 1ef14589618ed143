/*
 * Negative log likelihood of classes from logits in f32, and capped logits.
 *
 * log sum exp is the largest logit plus the logarithm of the excess. The loss adds the difference from the largest
 * logit to the excess, which loses no bits where logits are large.
 */
#include "kernels/cpu/row.h"
#include "kernels/cpu/vmath.h"

#include <math.h>
#include <string.h>

enum { LANES = 16 };

/* sum of exp(x - most) over a run, short enough for f32 */
CPU_CLONES static float exp_sum(const float *x, int64_t n, float most)
{
    float lane[LANES] = { 0 }, sum = 0;
    int64_t i = 0;

    for (; i + LANES <= n; i += LANES)
        for (int k = 0; k < LANES; k++)
            lane[k] += vexp(x[i + k] - most);
    for (; i < n; i++)
        sum += vexp(x[i] - most);
    for (int k = 0; k < LANES; k++)
        sum += lane[k];
    return sum;
}

/* Log of the sum of exp(x - most): what the largest number itself leaves of log sum exp. */
static float log_excess(const float *x, int64_t n, float most)
{
    double sum = 0;

    for (int64_t at = 0; at < n; at += ROW_BLOCK)
        sum += (double)exp_sum(x + at, run_length(at, n), most);
    return (float)log(sum);
}

void cpu_nll(struct ctx *c, struct tensor *y, struct tensor *lse, const struct tensor *z, const struct tensor *target)
{
    int64_t rows = z->shape[0], cols = z->shape[1];
    const int32_t *want = target->data;
    float *loss = y->data, *norm = lse->data;

    (void)c;
#pragma omp parallel for schedule(static) if (rows * cols > PARALLEL_MIN)
    for (int64_t t = 0; t < rows; t++) {
        const float *row = (const float *)z->data + t * cols;
        float most = row_most(row, cols), excess = log_excess(row, cols, most);
        CHECK(want[t] < cols, "class %d of %lld", want[t], (long long)cols);
        norm[t] = most + excess;
        loss[t] = want[t] >= 0 ? (most - row[want[t]]) + excess : 0;
    }
}

CPU_CLONES static void cap_run(float *y, int64_t n, float cap)
{
    for (int64_t i = 0; i < n; i++)
        y[i] = cap * vtanh(y[i] / cap);
}

void cpu_soft_cap(struct ctx *c, struct tensor *y, float cap)
{
    int64_t n = tensor_size(y);

    (void)c;
#pragma omp parallel for schedule(static) if (n > PARALLEL_MIN)
    for (int64_t at = 0; at < n; at += ROW_BLOCK)
        cap_run((float *)y->data + at, run_length(at, n), cap);
}

/* dz *= 1 - (z / cap)^2 */
CPU_CLONES static void cap_slope_run(float *dz, const float *z, int64_t n, float cap)
{
    float inverse = 1.0f / cap;

    for (int64_t i = 0; i < n; i++) {
        float share = z[i] * inverse;
        dz[i] *= 1.0f - share * share;
    }
}

CPU_CLONES static void probability_run(float *y, const float *z, int64_t n, float lse, float factor)
{
    for (int64_t i = 0; i < n; i++)
        y[i] = factor * vexp(z[i] - lse);
}

void cpu_nll_backward(struct ctx *c, struct tensor *dz, const struct tensor *dy, const struct tensor *lse,
                      const struct tensor *z, const struct tensor *target, float cap)
{
    int64_t rows = z->shape[0], cols = z->shape[1];
    const int32_t *want = target->data;
    const float *norm = lse->data, *factor = dy->data;
    struct destination to = { dz, false };

    (void)c;
#pragma omp parallel for schedule(static) if (rows * cols > PARALLEL_MIN)
    for (int64_t t = 0; t < rows; t++)
        for (int64_t j = 0; j < cols; j += ROW_BLOCK) {
            float buf[ROW_BLOCK];
            int64_t run = run_length(j, cols), at = want[t] - j;
            const float *value = (const float *)z->data + t * cols + j;
            if (want[t] >= 0)
                probability_run(buf, value, run, norm[t], factor[t]);
            else /* lse may be no number, and 0 times it none either */
                memset(buf, 0, (size_t)run * sizeof *buf);
            if (at >= 0 && at < run)
                /* The gradient is the probability, less 1 at the target. */
                buf[at] -= factor[t];
            if (cap > 0)
                cap_slope_run(buf, value, run, cap);
            row_store(to, t * cols + j, buf, run);
        }
}
