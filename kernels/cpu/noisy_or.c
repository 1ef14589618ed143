#include "kernels/cpu/logistic.h"
#include "kernels/cpu/row.h"

static const double FLOOR = -30;

/* log(exp(s) - 1) with s = sum softplus(x), the form that neither overflows nor cancels. */
static double logit_of_any(const float *x, int64_t n)
{
    double s = 0;

    for (int64_t t = 0; t < n; t++)
        s += fmax(x[t], 0) + log1p(exp(-fabs(x[t])));
    return fmax(s < 1 ? log(expm1(s)) : s + log1p(-exp(-s)), FLOOR);
}

void cpu_noisy_or(struct ctx *c, struct tensor *y, const struct tensor *x, const struct seqs *s)
{
    const int32_t *offsets = s->offsets->data;
    const float *in = x->data;
    float *out = y->data;

    (void)c;
#pragma omp parallel for schedule(dynamic, 16) if (tensor_size(x) > PARALLEL_MIN)
    for (int64_t i = 0; i < s->n; i++)
        out[i] = (float)logit_of_any(in + offsets[i], offsets[i + 1] - offsets[i]);
}

/* dy/dx_t = sigmoid(x_t) / sigmoid(y): the share of the odds that x_t stands for. */
void cpu_noisy_or_backward(struct ctx *c, struct destination dx, const struct tensor *dy, const struct tensor *x,
                           const struct tensor *y, const struct seqs *s)
{
    const int32_t *offsets = s->offsets->data;
    const float *in = x->data, *up = dy->data, *any = y->data;
    float *out = dx.t ? dx.t->data : NULL;

    (void)c;
    if (!out)
        return;
#pragma omp parallel for schedule(dynamic, 16) if (tensor_size(x) > PARALLEL_MIN)
    for (int64_t i = 0; i < s->n; i++)
        for (int64_t t = offsets[i]; t < offsets[i + 1]; t++) {
            float d = up[i] * expf(softplus(-any[i]) - softplus(-in[t]));
            out[t] = dx.add ? out[t] + d : d;
        }
}
