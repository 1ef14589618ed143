#include "models/lm/sample.h"

#include "kernels/base.h"

#include <math.h>
#include <stdlib.h>

struct choice {
    double p;
    int32_t id;
};

static int by_chance(const void *x, const void *y)
{
    const struct choice *a = x, *b = y;
    if (a->p != b->p)
        return a->p > b->p ? -1 : 1;
    return a->id < b->id ? -1 : 1;
}

/* A token whose logit is no number has none; infinities are as good as the largest. */
static double chance(float logit, float top, double temperature)
{
    if (isnan(logit))
        return 0;
    return logit == top ? 1 : exp(((double)logit - (double)top) / temperature);
}

/* Unnormalised chances; returns their sum. */
static double chances(double *p, const float *logits, int64_t n, double temperature)
{
    float top = -INFINITY;
    double sum = 0;

    for (int64_t i = 0; i < n; i++)
        top = logits[i] > top ? logits[i] : top;
    for (int64_t i = 0; i < n; i++)
        sum += p[i] = chance(logits[i], top, temperature);
    return sum;
}

/* Tokens below (1 - top_p) / n of the sum together hold less than 1 - top_p: the nucleus needs none of them. */
static int64_t likely(struct choice *list, const double *p, int64_t n, double least)
{
    int64_t count = 0;

    for (int64_t i = 0; i < n; i++)
        if (p[i] >= least)
            list[count++] = (struct choice){ p[i], (int32_t)i };
    qsort(list, (size_t)count, sizeof *list, by_chance);
    return count;
}

/* The mass of the first tokens that reach `wanted`; *count becomes how many they are. */
static double cut(const struct choice *list, int64_t *count, double wanted)
{
    double held = 0;

    for (int64_t i = 0; i < *count; i++) {
        held += list[i].p;
        if (held >= wanted)
            *count = i + 1;
    }
    return held;
}

int32_t sample_token(const float *logits, int64_t n, double temperature, double top_p, float u)
{
    double *p = xmalloc((size_t)n * sizeof *p), sum = chances(p, logits, n, temperature);
    struct choice *list = xmalloc((size_t)n * sizeof *list);
    int64_t count = likely(list, p, n, (1 - top_p) * sum / (double)n), i = 0;
    double left = (double)u * cut(list, &count, top_p * sum);

    while (i < count - 1 && left >= list[i].p)
        left -= list[i++].p;
    int32_t id = list[i].id;
    free(p);
    free(list);
    return id;
}
