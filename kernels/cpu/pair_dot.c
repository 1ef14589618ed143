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

void cpu_pair_dot_backward(struct ctx *c, struct tensor *d, const struct tensor *dy, const struct tensor *x,
                           const struct tensor *ids, float scale)
{
    const int32_t *id = ids->data;
    const float *up = dy->data;
    int64_t n = tensor_size(dy), cols = tensor_cols(x);
    struct destination to = { d, false };

    (void)c;
#pragma omp parallel if (tensor_size(d) > PARALLEL_MIN)
    {
        float *buf = floats_new(2 * cols), *out = buf + cols;
#pragma omp for schedule(static)
        for (int64_t p = 0; p < n; p++) {
            const float *row = row_in(buf, x, id[p] * cols, cols);
            for (int64_t j = 0; j < cols; j++)
                out[j] = scale * up[p] * row[j];
            row_store(to, p * cols, out, cols);
        }
        free(buf);
    }
}
