#include "kernels/cpu/logistic.h"
#include "kernels/cpu/row.h"

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
