#include "kernels/cpu/row.h"

#include <stdlib.h>
#include <string.h>

static float mean_factor(const int32_t *offsets, int64_t s, enum pool pool)
{
    int32_t n = offsets[s + 1] - offsets[s];
    return pool == POOL_MEAN && n > 0 ? 1.0f / (float)n : 1.0f;
}

void cpu_segment_pool(struct ctx *c, struct tensor *y, const struct tensor *x, const struct seqs *s, enum pool pool)
{
    const int32_t *offsets = s->offsets->data;
    int64_t cols = tensor_cols(x);

    (void)c;
#pragma omp parallel if (tensor_size(x) > PARALLEL_MIN)
    {
        float *buf = floats_new(2 * cols), *sum = buf + cols;
#pragma omp for schedule(dynamic, 4)
        for (int64_t i = 0; i < s->n; i++) {
            float factor = mean_factor(offsets, i, pool);
            memset(sum, 0, (size_t)cols * sizeof *sum);
            for (int64_t t = offsets[i]; t < offsets[i + 1]; t++)
                row_add(sum, row_in(buf, x, t * cols, cols), cols);
            for (int64_t j = 0; j < cols; j++)
                sum[j] *= factor;
            row_store((struct destination){ y, false }, i * cols, sum, cols);
        }
        free(buf);
    }
}

void cpu_segment_pool_backward(struct ctx *c, struct destination dx, const struct tensor *dy, const struct seqs *s,
                               enum pool pool)
{
    const int32_t *offsets = s->offsets->data;
    int64_t cols = tensor_cols(dy);

    (void)c;
    if (!dx.t)
        return;
#pragma omp parallel if (tensor_size(dx.t) > PARALLEL_MIN)
    {
        float *buf = floats_new(2 * cols), *out = buf + cols;
#pragma omp for schedule(dynamic, 4)
        for (int64_t i = 0; i < s->n; i++) {
            float factor = mean_factor(offsets, i, pool);
            const float *row = row_in(buf, dy, i * cols, cols);
            for (int64_t j = 0; j < cols; j++)
                out[j] = factor * row[j];
            for (int64_t t = offsets[i]; t < offsets[i + 1]; t++)
                row_store(dx, t * cols, out, cols);
        }
        free(buf);
    }
}
