/*
 * Losses. One thread sums them in f64, because a batch has only thousands of terms. Each term is computed in a form
 * that neither overflows nor cancels.
 */
#include "kernels/cpu/logistic.h"
#include "kernels/cpu/row.h"

#include <math.h>
#include <stdlib.h>

/* The targets and weights of one loss, as plain arrays. */
struct labels {
    const float *x, *target, *weight;
    float pos_weight;
};

static struct labels labels_of(const struct tensor *x, const struct tensor *target, const struct tensor *weight,
                               float pos_weight)
{
    return (struct labels){ x->data, target->data, weight ? weight->data : NULL, pos_weight };
}

static float weight_of(const struct labels *l, int64_t i)
{
    return l->weight ? l->weight[i] : 1;
}

void cpu_bce(struct ctx *c, struct tensor *loss, const struct tensor *x, const struct tensor *target,
             const struct tensor *weight, float pos_weight, float scale)
{
    struct labels l = labels_of(x, target, weight, pos_weight);
    int64_t n = tensor_size(x);
    double sum = 0;

    (void)c;
    for (int64_t i = 0; i < n; i++) {
        float t = l.target[i];
        sum += (double)weight_of(&l, i) * (pos_weight * t * softplus(-l.x[i]) + (1 - t) * softplus(l.x[i]));
    }
    *(float *)loss->data = (float)(scale * sum);
}

void cpu_bce_backward(struct ctx *c, struct destination dx, const struct tensor *dloss, const struct tensor *x,
                      const struct tensor *target, const struct tensor *weight, float pos_weight, float scale)
{
    struct labels l = labels_of(x, target, weight, pos_weight);
    float *out = dx.t ? dx.t->data : NULL, factor = scale * *(const float *)dloss->data;
    int64_t n = out ? tensor_size(x) : 0;

    (void)c;
    for (int64_t i = 0; i < n; i++) {
        float t = l.target[i];
        float d = (1 - t) * sigmoid(l.x[i]) - pos_weight * t * sigmoid(-l.x[i]);
        out[i] = (dx.add ? out[i] : 0) + factor * weight_of(&l, i) * d;
    }
}

static float log_sum_exp(const float *x, int64_t n)
{
    float max = -INFINITY;
    double sum = 0;

    for (int64_t j = 0; j < n; j++)
        max = fmaxf(max, x[j]);
    for (int64_t j = 0; j < n; j++)
        sum += expf(x[j] - max);
    return max + (float)log(sum);
}

void cpu_cross_entropy(struct ctx *c, struct tensor *loss, struct tensor *lse, const struct tensor *x,
                       const struct tensor *target, float scale)
{
    const int32_t *want = target->data;
    int64_t rows = x->shape[0], cols = x->shape[1];
    float *norm = lse->data, *buf = floats_new(cols);
    double sum = 0;

    (void)c;
    for (int64_t t = 0; t < rows; t++) {
        const float *row = row_in(buf, x, t * cols, cols);
        norm[t] = log_sum_exp(row, cols);
        CHECK(want[t] < cols, "class %d of %lld", want[t], (long long)cols);
        if (want[t] >= 0)
            sum += (double)norm[t] - row[want[t]];
    }
    *(float *)loss->data = (float)(scale * sum);
    free(buf);
}

void cpu_cross_entropy_backward(struct ctx *c, struct destination dx, const struct tensor *dloss,
                                const struct tensor *lse, const struct tensor *x, const struct tensor *target,
                                float scale)
{
    const int32_t *want = target->data;
    int64_t rows = dx.t ? x->shape[0] : 0, cols = x->shape[1];
    const float *norm = lse->data;
    float *buf = floats_new(2 * cols), *out = buf + cols, factor = scale * *(const float *)dloss->data;

    (void)c;
    for (int64_t t = 0; t < rows; t++) {
        const float *row = row_in(buf, x, t * cols, cols);
        for (int64_t j = 0; j < cols; j++)
            out[j] = want[t] < 0 ? 0 : factor * (expf(row[j] - norm[t]) - (j == want[t]));
        row_store(dx, t * cols, out, cols);
    }
    free(buf);
}

void cpu_probability_bce(struct ctx *c, struct tensor *loss, const struct tensor *p, const struct tensor *target,
                         const struct tensor *weight, float least)
{
    const float *x = p->data, *t = target->data, *w = weight->data;
    int64_t n = tensor_size(p);
    double sum = 0;

    (void)c;
    for (int64_t i = 0; i < n; i++) {
        double q = fmin(fmax(x[i], least), 1 - least);
        sum -= w[i] * (t[i] * log(q) + (1 - t[i]) * log1p(-q));
    }
    *(float *)loss->data = (float)sum;
}

void cpu_probability_bce_backward(struct ctx *c, struct destination dp, const struct tensor *dloss,
                                  const struct tensor *p, const struct tensor *target, const struct tensor *weight,
                                  float least)
{
    const float *x = p->data, *t = target->data, *w = weight->data;
    float *out = dp.t ? dp.t->data : NULL, factor = *(const float *)dloss->data;
    int64_t n = out ? tensor_size(p) : 0;

    (void)c;
    for (int64_t i = 0; i < n; i++) {
        bool moved = x[i] < least || x[i] > 1 - least;
        float d = moved ? 0 : factor * w[i] * ((1 - t[i]) / (1 - x[i]) - t[i] / x[i]);
        out[i] = dp.add ? out[i] + d : d;
    }
}

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
