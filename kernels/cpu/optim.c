#include "kernels/cpu/rows.h"

/* Partial sums are cut by position, never by thread, so that the result is the same on any number of threads. */
enum { PARTS = 64 };

void cpu_sum_squares(struct ctx *c, struct tensor *y, const struct tensor *x)
{
    const float *in = x->data;
    int64_t n = tensor_size(x), part = (n + PARTS - 1) / PARTS;
    double sums[PARTS], total = 0;

    (void)c;
#pragma omp parallel for schedule(static) if (n > ROWS_PARALLEL)
    for (int p = 0; p < PARTS; p++) {
        int64_t end = (p + 1) * part < n ? (p + 1) * part : n;
        double lane[8] = { 0 };
        int64_t i = p * part;
        for (; i + 8 <= end; i += 8)
            for (int k = 0; k < 8; k++)
                lane[k] += (double)in[i + k] * in[i + k];
        for (; i < end; i++)
            lane[0] += (double)in[i] * in[i];
        sums[p] = (lane[0] + lane[4]) + (lane[1] + lane[5]) + ((lane[2] + lane[6]) + (lane[3] + lane[7]));
    }
    for (int p = 0; p < PARTS; p++)
        total += sums[p];
    *(float *)y->data += (float)total;
}

static double rate_at(const struct schedule *s, int64_t step)
{
    if (step < s->warmup)
        return s->lr * (double)step / (double)s->warmup;
    if (step >= s->total)
        return 0;
    double u = (double)(step - s->warmup) / (double)(s->total - s->warmup);
    return s->lr * (s->cosine ? 0.5 * (1 + cos(3.141592653589793 * u)) : 1 - u);
}

void cpu_schedule(struct ctx *c, struct tensor *lr, struct tensor *rng, const struct schedule *s)
{
    int32_t *state = rng->data;

    (void)c;
    *(float *)lr->data = (float)rate_at(s, state[2]);
    state[2]++;
}

/* One element: the moments, then the new value of w. */
static inline float adamw_element(float w, float *m, float *v, float g, const struct adamw *a, float keep, float rate,
                                  float root)
{
    *m = a->beta1 * *m + (1 - a->beta1) * g;
    *v = a->beta2 * *v + (1 - a->beta2) * g * g;
    return keep * w - rate * *m / (sqrtf(*v) * root + a->eps);
}

void cpu_adamw(struct ctx *c, struct tensor *w, struct tensor *master, struct tensor *m, struct tensor *v,
               struct tensor *g, const struct tensor *norm, const struct tensor *lr, const struct tensor *rng,
               const struct adamw *a)
{
    int step = ((const int32_t *)rng->data)[2];
    double rate = *(const float *)lr->data * (double)a->lr_scale, size = sqrt(*(const float *)norm->data);
    float scale = a->clip > 0 && size > a->clip ? (float)(a->clip / size) : 1, keep = (float)(1 - rate * a->decay);
    float corrected = (float)(rate / (1 - pow(a->beta1, step))), root = (float)(1 / sqrt(1 - pow(a->beta2, step)));
    float *weight = master ? master->data : w->data, *mean = m->data, *square = v->data, *grad = g->data;
    uint16_t *half = master ? w->data : NULL;
    int64_t n = tensor_size(w);

    (void)c;
#pragma omp parallel for simd schedule(static) if (n > ROWS_PARALLEL)
    for (int64_t i = 0; i < n; i++) {
        weight[i] = adamw_element(weight[i], &mean[i], &square[i], scale * grad[i], a, keep, corrected, root);
        grad[i] = 0;
    }
#pragma omp parallel for simd schedule(static) if (n > ROWS_PARALLEL)
    for (int64_t i = 0; i < (half ? n : 0); i++)
        half[i] = bf16_round(weight[i]);
}
