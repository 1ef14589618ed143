#include "kernels/cpu/row.h"

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
