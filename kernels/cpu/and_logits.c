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
