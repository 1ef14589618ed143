/*
 * Logits of combined events, in forms that neither overflow nor cancel.
 */
#include "kernels/cpu/logistic.h"
#include "kernels/cpu/row.h"

#include <math.h>

/* low + high - log(1 + exp(low) + exp(high)) in the form that neither overflows nor cancels. */
static float and_logit(float a, float b)
{
    float low = fminf(a, b), high = fmaxf(a, b);

    if (high < 0)
        return low + high - log1pf(expf(low) + expf(high));
    return low - log1pf(expf(-high) + expf(low - high));
}

void cpu_and_logits(struct ctx *c, struct tensor *y, const struct tensor *a, const struct tensor *b)
{
    const float *x = a->data, *z = b->data;
    float *out = y->data;
    int64_t n = tensor_size(y);

    (void)c;
#pragma omp parallel for schedule(static) if (n > PARALLEL_MIN)
    for (int64_t i = 0; i < n; i++)
        out[i] = and_logit(x[i], z[i]);
}

/* dy/da = (1 + exp(b)) / (1 + exp(a) + exp(b)) */
void cpu_and_logits_backward(struct ctx *c, struct destination da, const struct tensor *dy, const struct tensor *a,
                             const struct tensor *b)
{
    const float *x = a->data, *z = b->data, *up = dy->data;
    float *out = da.t ? da.t->data : NULL;
    int64_t n = out ? tensor_size(a) : 0;

    (void)c;
#pragma omp parallel for schedule(static) if (n > PARALLEL_MIN)
    for (int64_t i = 0; i < n; i++) {
        float d = up[i] * expf(-softplus(x[i] - softplus(z[i])));
        out[i] = da.add ? out[i] + d : d;
    }
}

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
