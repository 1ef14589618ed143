#include "kernels/cpu/row.h"

#include <math.h>

/* Partial sums are cut by position, never by thread, so that the result is the same on any number of threads. */
enum { PARTS = 64 };

CPU_CLONES static double squares_run(const float *x, int64_t n)
{
    double lane[8] = { 0 };
    int64_t i = 0;

    for (; i + 8 <= n; i += 8)
        for (int k = 0; k < 8; k++)
            lane[k] += (double)x[i + k] * x[i + k];
    for (; i < n; i++)
        lane[0] += (double)x[i] * x[i];
    return lane[0] + lane[4] + lane[1] + lane[5] + lane[2] + lane[6] + lane[3] + lane[7];
}

void cpu_sum_squares(struct ctx *c, struct tensor *y, const struct tensor *x)
{
    const float *in = x->data;
    int64_t n = tensor_size(x), part = (n + PARTS - 1) / PARTS;
    double sums[PARTS], total = 0;

    (void)c;
#pragma omp parallel for schedule(static) if (n > PARALLEL_MIN)
    for (int p = 0; p < PARTS; p++) {
        int64_t from = p * part, left = n - from < part ? n - from : part;
        sums[p] = left > 0 ? squares_run(in + from, left) : 0;
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

/* What all elements of one update share. */
struct update {
    float beta1, beta2, eps, scale, keep, rate, root;
};

CPU_CLONES static void adamw_run(float *restrict w, float *restrict m, float *restrict v, float *restrict g, int64_t n,
                                 const struct update *u)
{
    for (int64_t i = 0; i < n; i++) {
        float x = u->scale * g[i];
        m[i] = u->beta1 * m[i] + (1 - u->beta1) * x;
        v[i] = u->beta2 * v[i] + (1 - u->beta2) * x * x;
        w[i] = u->keep * w[i] - u->rate * m[i] / (sqrtf(v[i]) * u->root + u->eps);
        g[i] = 0;
    }
}

static struct update update_of(const struct adamw *a, float norm, float lr, int step)
{
    double rate = (double)lr * a->lr_scale, size = sqrt(norm);

    return (struct update){ .beta1 = a->beta1,
                            .beta2 = a->beta2,
                            .eps = a->eps,
                            .scale = a->clip > 0 && size > a->clip ? (float)(a->clip / size) : 1,
                            .keep = (float)(1 - rate * a->decay),
                            .rate = (float)(rate / (1 - pow(a->beta1, step))),
                            .root = (float)(1 / sqrt(1 - pow(a->beta2, step))) };
}

void cpu_adamw(struct ctx *c, struct tensor *w, struct tensor *master, struct tensor *m, struct tensor *v,
               struct tensor *g, const struct tensor *norm, const struct tensor *lr, const struct tensor *rng,
               const struct adamw *a)
{
    struct update u = update_of(a, *(float *)norm->data, *(float *)lr->data, ((int32_t *)rng->data)[2]);
    float *weight = master ? master->data : w->data, *mean = m->data, *square = v->data, *grad = g->data;
    struct destination half = { w, false };
    int64_t n = tensor_size(w);

    (void)c;
#pragma omp parallel for schedule(static) if (n > PARALLEL_MIN)
    for (int64_t at = 0; at < n; at += ROW_BLOCK) {
        int64_t run = run_length(at, n);
        adamw_run(weight + at, mean + at, square + at, grad + at, run, &u);
        if (master)
            row_store(half, at, weight + at, run);
    }
}
