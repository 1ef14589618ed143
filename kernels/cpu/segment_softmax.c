#include "kernels/cpu/row.h"

#include <math.h>

static void softmax_run(float *y, const float *x, int64_t n)
{
    float max = -INFINITY, sum = 0;

    for (int64_t t = 0; t < n; t++)
        max = fmaxf(max, x[t]);
    for (int64_t t = 0; t < n; t++)
        sum += y[t] = expf(x[t] - max);
    for (int64_t t = 0; t < n; t++)
        y[t] /= sum;
}

void cpu_segment_softmax(struct ctx *c, struct tensor *y, const struct tensor *x, const struct seqs *s)
{
    const int32_t *offsets = s->offsets->data;
    const float *in = x->data;
    float *out = y->data;

    (void)c;
#pragma omp parallel for schedule(dynamic, 16) if (tensor_size(x) > PARALLEL_MIN)
    for (int64_t i = 0; i < s->n; i++)
        softmax_run(out + offsets[i], in + offsets[i], offsets[i + 1] - offsets[i]);
}

void cpu_segment_softmax_backward(struct ctx *c, struct destination dx, const struct tensor *dy, const struct tensor *y,
                                  const struct seqs *s)
{
    const int32_t *offsets = s->offsets->data;
    const float *up = dy->data, *p = y->data;
    float *out = dx.t ? dx.t->data : NULL;

    (void)c;
    if (!out)
        return;
#pragma omp parallel for schedule(dynamic, 16) if (tensor_size(y) > PARALLEL_MIN)
    for (int64_t i = 0; i < s->n; i++) {
        float sum = 0;
        for (int64_t t = offsets[i]; t < offsets[i + 1]; t++)
            sum += up[t] * p[t];
        for (int64_t t = offsets[i]; t < offsets[i + 1]; t++)
            out[t] = (dx.add ? out[t] : 0) + p[t] * (up[t] - sum);
    }
}
