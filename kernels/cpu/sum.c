#include "kernels/cpu/row.h"

CPU_CLONES static float run_sum(const float *x, int64_t n)
{
    return short_moment(x, n, 0, false);
}

/* A batch has thousands of terms, not millions. */
void cpu_sum(struct ctx *c, struct tensor *y, const struct tensor *x, const struct tensor *scale)
{
    const float *in = x->data;
    int64_t n = tensor_size(x);
    double sum = 0;

    (void)c;
    for (int64_t at = 0; at < n; at += ROW_BLOCK)
        sum += (double)run_sum(in + at, run_length(at, n));
    *(float *)y->data = (float)((double)*(const float *)scale->data * sum);
}

void cpu_sum_backward(struct ctx *c, struct destination dx, const struct tensor *dy, const struct tensor *scale)
{
    float *out = dx.t ? dx.t->data : NULL, each = *(const float *)scale->data * *(const float *)dy->data;
    int64_t n = out ? tensor_size(dx.t) : 0;

    (void)c;
    for (int64_t i = 0; i < n; i++)
        out[i] = (dx.add ? out[i] : 0) + each;
}
