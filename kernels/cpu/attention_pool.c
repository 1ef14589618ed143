#include "kernels/cpu/row.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* a[t] = softmax of gate over rows [from, to); the largest gate is taken out first, so nothing overflows. */
static void softmax_rows(float *a, const float *gate, int64_t from, int64_t to)
{
    float max = -INFINITY, sum = 0;

    for (int64_t t = from; t < to; t++)
        max = fmaxf(max, gate[t]);
    for (int64_t t = from; t < to; t++)
        sum += a[t] = expf(gate[t] - max);
    for (int64_t t = from; t < to; t++)
        a[t] /= sum;
}

void cpu_attention_pool(struct ctx *c, struct tensor *y, struct tensor *a, const struct tensor *x,
                        const struct tensor *gate, const struct seqs *s)
{
    const int32_t *offsets = s->offsets->data;
    int64_t cols = tensor_cols(x);
    float *weight = a->data;

    (void)c;
#pragma omp parallel if (tensor_size(x) > PARALLEL_MIN)
    {
        float *buf = floats_new(2 * cols), *sum = buf + cols;
#pragma omp for schedule(dynamic, 4)
        for (int64_t i = 0; i < s->n; i++) {
            softmax_rows(weight, gate->data, offsets[i], offsets[i + 1]);
            memset(sum, 0, (size_t)cols * sizeof *sum);
            for (int64_t t = offsets[i]; t < offsets[i + 1]; t++)
                row_add_scaled(sum, weight[t], row_in(buf, x, t * cols, cols), cols);
            row_store((struct destination){ y, false }, i * cols, sum, cols);
        }
        free(buf);
    }
}

/* Computes the backward of one segment: dgate_t = a_t (dy . x_t - dy . y).  room holds three rows. */
static void segment_backward(struct destination dx, struct destination dgate, const float *dy, const struct tensor *x,
                             const float *a, int64_t from, int64_t to, int64_t cols, float *room)
{
    float *buf = room, *out = room + cols, *dg = dgate.t ? dgate.t->data : NULL;
    float mean = 0;

    for (int pass = 0; dg && pass < 2; pass++) /* first dy . y, then the gradients */
        for (int64_t t = from; t < to; t++) {
            float dot = row_dot(dy, row_in(buf, x, t * cols, cols), cols);
            if (pass == 0)
                mean += a[t] * dot;
            else
                dg[t] = (dgate.add ? dg[t] : 0) + a[t] * (dot - mean);
        }
    for (int64_t t = from; dx.t && t < to; t++) {
        for (int64_t j = 0; j < cols; j++)
            out[j] = a[t] * dy[j];
        row_store(dx, t * cols, out, cols);
    }
}

void cpu_attention_pool_backward(struct ctx *c, struct destination dx, struct destination dgate,
                                 const struct tensor *dy, const struct tensor *x, const struct tensor *a,
                                 const struct seqs *s)
{
    const int32_t *offsets = s->offsets->data;
    int64_t cols = tensor_cols(x);

    (void)c;
#pragma omp parallel if (tensor_size(x) > PARALLEL_MIN)
    {
        float *room = floats_new(3 * cols);
#pragma omp for schedule(dynamic, 4)
        for (int64_t i = 0; i < s->n; i++) {
            const float *row = row_in(room + 2 * cols, dy, i * cols, cols);
            segment_backward(dx, dgate, row, x, a->data, offsets[i], offsets[i + 1], cols, room);
        }
        free(room);
    }
}
