#include "kernels/cpu/rows.h"

#include <stdlib.h>

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
#pragma omp parallel if (tensor_size(x) > ROWS_PARALLEL)
    {
        float *buf = floats_new(2 * cols), *sum = buf + cols;
#pragma omp for schedule(dynamic, 4)
        for (int64_t i = 0; i < s->n; i++) {
            float factor = mean_factor(offsets, i, pool);
            memset(sum, 0, (size_t)cols * sizeof *sum);
            for (int64_t t = offsets[i]; t < offsets[i + 1]; t++) {
                const float *row = row_read(x, t * cols, cols, buf);
                for (int64_t j = 0; j < cols; j++)
                    sum[j] += row[j];
            }
            for (int64_t j = 0; j < cols; j++)
                sum[j] *= factor;
            row_store(y, i * cols, cols, sum);
        }
        free(buf);
    }
}

void cpu_segment_pool_backward(struct ctx *c, struct grad dx, const struct tensor *dy, const struct seqs *s,
                               enum pool pool)
{
    const int32_t *offsets = s->offsets->data;
    int64_t cols = tensor_cols(dy);

    (void)c;
    if (!dx.t)
        return;
#pragma omp parallel if (tensor_size(dx.t) > ROWS_PARALLEL)
    {
        float *buf = floats_new(2 * cols), *out = buf + cols;
#pragma omp for schedule(dynamic, 4)
        for (int64_t i = 0; i < s->n; i++) {
            float factor = mean_factor(offsets, i, pool);
            const float *row = row_read(dy, i * cols, cols, buf);
            for (int64_t j = 0; j < cols; j++)
                out[j] = factor * row[j];
            for (int64_t t = offsets[i]; t < offsets[i + 1]; t++)
                row_write(dx, t * cols, cols, out);
        }
        free(buf);
    }
}
