#include "models/lm/sample.h"

#include "kernels/base.h"

#include <math.h>
#include <stdlib.h>

struct token_prob {
    double p;
    int32_t id;
};

static int descending(const void *x, const void *y)
{
    const struct token_prob *a = x, *b = y;
    if (a->p != b->p)
        return a->p > b->p ? -1 : 1;
    return a->id < b->id ? -1 : 1;
}

/* 0 for a logit that is no number; infinities are as good as the largest. */
static double exp_logit(float logit, float top, double temperature)
{
    if (isnan(logit))
        return 0;
    return logit == top ? 1 : exp(((double)logit - (double)top) / temperature);
}

/* The softmax before it is normalised; returns the sum. */
static double exp_logits(double *p, const float *logits, int64_t n, double temperature)
{
    float top = -INFINITY;
    double sum = 0;

    for (int64_t i = 0; i < n; i++)
        top = logits[i] > top ? logits[i] : top;
    for (int64_t i = 0; i < n; i++)
        sum += p[i] = exp_logit(logits[i], top, temperature);
    return sum;
}

/* Tokens below (1 - top_p) / n of the sum together hold less than 1 - top_p: the nucleus needs none of them. */
static int64_t candidates(struct token_prob *list, const double *p, int64_t n, double least)
{
    int64_t count = 0;

    for (int64_t i = 0; i < n; i++)
        if (p[i] >= least)
            list[count++] = (struct token_prob){ p[i], (int32_t)i };
    qsort(list, (size_t)count, sizeof *list, descending);
    return count;
}

/* The mass of the nucleus, the first tokens that reach `least`; *count becomes how many they are. */
static double take_nucleus(const struct token_prob *list, int64_t *count, double least)
{
    double mass = 0;

    for (int64_t i = 0; i < *count; i++) {
        mass += list[i].p;
        if (mass >= least)
            *count = i + 1;
    }
    return mass;
}

int32_t sample_token(const float *logits, int64_t n, double temperature, double top_p, float u)
{
    double *p = xmalloc((size_t)n * sizeof *p), sum = exp_logits(p, logits, n, temperature);
    struct token_prob *list = xmalloc((size_t)n * sizeof *list);
    int64_t count = candidates(list, p, n, (1 - top_p) * sum / (double)n), i = 0;
    double left = (double)u * take_nucleus(list, &count, top_p * sum);

    while (i < count - 1 && left >= list[i].p)
        left -= list[i++].p;
    int32_t id = list[i].id;
    free(p);
    free(list);
    return id;
}
