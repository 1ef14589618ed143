#include "kernels/cpu/row.h"

#include <math.h>

static float log_ratio(float log_p, float other)
{
    return fminf(fmaxf(log_p - other, -POLICY_LOG_MAX), POLICY_LOG_MAX);
}

static bool moved(float ratio, float advantage, const struct policy *p)
{
    return advantage > 0 ? ratio > 1 + p->high : ratio < 1 - p->low;
}

/* exp(d) - d - 1, d = log of the start's p by the model's */
static float divergence(float nll, float start)
{
    float d = log_ratio(nll, start);
    return expm1f(d) - d;
}

static float term(float nll, int64_t i, const struct policy *p)
{
    const float *drawn = p->drawn->data, *advantage = p->advantage->data;
    const float *start = p->start ? p->start->data : NULL;
    float a = advantage[i], ratio = expf(log_ratio(-nll, drawn[i]));

    if (moved(ratio, a, p))
        ratio = a > 0 ? 1 + p->high : 1 - p->low;
    return (start ? p->divergence * divergence(nll, start[i]) : 0) - ratio * a;
}

/* Returns the derivative of a term by its nll. */
static float slope(float nll, int64_t i, const struct policy *p)
{
    const float *drawn = p->drawn->data, *advantage = p->advantage->data;
    const float *start = p->start ? p->start->data : NULL;
    float a = advantage[i], by_drawn = -nll - drawn[i], ratio = expf(log_ratio(-nll, drawn[i]));
    float d = moved(ratio, a, p) || fabsf(by_drawn) > POLICY_LOG_MAX ? 0 : ratio * a;

    if (start && fabsf(nll - start[i]) <= POLICY_LOG_MAX)
        d += p->divergence * expm1f(nll - start[i]);
    return d;
}

void cpu_policy_loss(struct ctx *c, struct tensor *y, const struct tensor *nll, const struct policy *policy)
{
    const float *x = nll->data, *weight = policy->weight->data;
    float *out = y->data;
    int64_t n = tensor_size(nll);

    (void)c;
    for (int64_t i = 0; i < n; i++)
        out[i] = weight[i] == 0 ? 0 : weight[i] * term(x[i], i, policy);
}

void cpu_policy_loss_backward(struct ctx *c, struct destination dnll, const struct tensor *dy, const struct tensor *nll,
                              const struct policy *policy)
{
    const float *x = nll->data, *weight = policy->weight->data, *from = dy->data;
    float *out = dnll.t ? dnll.t->data : NULL;
    int64_t n = out ? tensor_size(nll) : 0;

    (void)c;
    for (int64_t i = 0; i < n; i++) {
        float d = weight[i] == 0 ? 0 : from[i] * weight[i] * slope(x[i], i, policy);
        out[i] = dnll.add ? out[i] + d : d;
    }
}
