#include "kernels/cpu/row.h"

#include <math.h>

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
