/*
 * Kernels on pairs of rows: products and features. A gradient of a row is a sum over the pairs of that row, which the
 * index lists.
 */
#include "kernels/cpu/row.h"

#include <math.h>
#include <stdlib.h>

enum { LANES = 16 }; /* sums beside one another, in an order fixed by the columns */

CPU_CLONES static float dot_run(const float *a, const float *b, int64_t n)
{
    float lane[LANES] = { 0 }, sum = 0;
    int64_t j = 0;

    for (; j + LANES <= n; j += LANES)
        for (int k = 0; k < LANES; k++)
            lane[k] += a[j + k] * b[j + k];
    for (int k = 0; k < LANES; k++)
        sum += lane[k];
    for (; j < n; j++)
        sum += a[j] * b[j];
    return sum;
}

void cpu_pair_dot(struct ctx *c, struct tensor *y, const struct tensor *a, const struct tensor *b,
                  const struct tensor *u, const struct tensor *v, float scale)
{
    const int32_t *iu = u->data, *iv = v->data;
    int64_t n = tensor_size(y), cols = tensor_cols(a);
    float *out = y->data;

    (void)c;
#pragma omp parallel if (n * cols > PARALLEL_MIN)
    {
        float *buf = floats_new(2 * cols);
#pragma omp for schedule(static)
        for (int64_t p = 0; p < n; p++)
            out[p] =
                scale * dot_run(row_in(buf, a, iu[p] * cols, cols), row_in(buf + cols, b, iv[p] * cols, cols), cols);
        free(buf);
    }
}

/* Inputs of pair_dot_backward. */
struct pairs_back {
    const struct tensor *x;
    const float *dy;
    const int32_t *start, *order, *ids;
    float scale;
};

/* Row `row` of d (+)= what its pairs, those of u, give it; buf holds two rows. */
static void end_gradient(struct destination d, int64_t row, const struct pairs_back *p, int64_t u, float *buf)
{
    int64_t cols = tensor_cols(p->x);
    float *sum = buf + cols;

    for (int64_t j = 0; j < cols; j++)
        sum[j] = 0;
    for (int64_t s = p->start[u]; s < p->start[u + 1]; s++) {
        const float *x = row_in(buf, p->x, p->ids[p->order[s]] * cols, cols);
        float w = p->scale * p->dy[p->order[s]];
        for (int64_t j = 0; j < cols; j++)
            sum[j] += w * x[j];
    }
    row_store(d, row * cols, sum, cols);
}

void cpu_pair_dot_backward(struct ctx *c, struct destination d, const struct tensor *dy, const struct tensor *x,
                           const struct index *i, const struct tensor *ids, float scale)
{
    const struct pairs_back p = { x, dy->data, i->start->data, i->order->data, ids->data, scale };
    const int32_t *uniq = i->uniq->data;
    int64_t cols = tensor_cols(x);

    if (!d.t)
        return;
    if (!d.add)
        cpu_fill(c, d.t, 0);
#pragma omp parallel if (i->n * cols > PARALLEL_MIN)
    {
        float *buf = floats_new(2 * cols);
#pragma omp for schedule(static)
        for (int64_t u = 0; u < i->n; u++)
            if (uniq[u] >= 0)
                end_gradient(d, uniq[u], &p, u, buf);
        free(buf);
    }
}

/* y holds a and b already; behind them come |a - b| and a b. */
CPU_CLONES static void combine_run(float *y, int64_t n)
{
    const float *a = y, *b = y + n;

    for (int64_t j = 0; j < n; j++) {
        y[2 * n + j] = fabsf(a[j] - b[j]);
        y[3 * n + j] = a[j] * b[j];
    }
}

void cpu_pair_features(struct ctx *c, struct tensor *y, const struct tensor *x, const struct tensor *u,
                       const struct tensor *v, const struct tensor *extra)
{
    const int32_t *iu = u->data, *iv = v->data;
    int64_t n = tensor_size(u), cols = tensor_cols(x), width = tensor_cols(y), more = width - 4 * cols;
    struct destination to = { y, false };

    (void)c;
#pragma omp parallel if (tensor_size(y) > PARALLEL_MIN)
    {
        float *buf = floats_new(width);
#pragma omp for schedule(static)
        for (int64_t p = 0; p < n; p++) {
            float *out = row_out(buf, to, p * width);
            row_load(out, x, iu[p] * cols, cols);
            row_load(out + cols, x, iv[p] * cols, cols);
            combine_run(out, cols);
            if (more)
                row_load(out + 4 * cols, extra, p * more, more);
            row_store(to, p * width, out, width);
        }
        free(buf);
    }
}

CPU_CLONES static void split_run(float *restrict du, float *restrict dv, const float *restrict d,
                                 const float *restrict a, const float *restrict b, int64_t n)
{
    for (int64_t j = 0; j < n; j++) {
        float away = a[j] > b[j] ? d[2 * n + j] : a[j] < b[j] ? -d[2 * n + j] : 0;
        du[j] = d[j] + away + b[j] * d[3 * n + j];
        dv[j] = d[n + j] - away + a[j] * d[3 * n + j];
    }
}

void cpu_pair_features_backward(struct ctx *c, struct tensor *du, struct tensor *dv, const struct tensor *dy,
                                const struct tensor *x, const struct tensor *u, const struct tensor *v)
{
    const int32_t *iu = u->data, *iv = v->data;
    int64_t n = tensor_size(u), cols = tensor_cols(x), width = tensor_cols(dy);

    (void)c;
#pragma omp parallel if (tensor_size(dy) > PARALLEL_MIN)
    {
        float *room = floats_new(8 * cols), *ou = room + 6 * cols, *ov = room + 7 * cols;
#pragma omp for schedule(static)
        for (int64_t p = 0; p < n; p++) {
            const float *a = row_in(room, x, iu[p] * cols, cols), *b = row_in(room + cols, x, iv[p] * cols, cols);
            const float *d = row_in(room + 2 * cols, dy, p * width, 4 * cols);
            split_run(ou, ov, d, a, b, cols);
            row_store((struct destination){ du, false }, p * cols, ou, cols);
            row_store((struct destination){ dv, false }, p * cols, ov, cols);
        }
        free(room);
    }
}
