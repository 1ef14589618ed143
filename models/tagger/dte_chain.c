#include "models/tagger/dte_chain.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of tag j at word t behind tag i, which is `tags` before the first word; -INFINITY: not allowed. */
static double step_score(const struct dte_chain *m, const struct dte_emissions *e, int t, int i, int j)
{
    bool barred = m->forbidden && m->forbidden[i] >> j & 1, allowed = !e->allowed || e->allowed[t] >> j & 1;

    if (barred || !allowed)
        return -INFINITY;
    return ((double)m->weights[i * m->tags + j] + (double)e->e[t * m->tags + j]) / e->temperature;
}

static double end_score(const struct dte_chain *m, const struct dte_emissions *e, int j)
{
    int end = m->tags + 1;

    if (m->forbidden && m->forbidden[end] >> j & 1)
        return -INFINITY;
    return (double)m->weights[end * m->tags + j] / e->temperature;
}

/* The best way to each tag of word t, given those of the word before; back gets where from. */
static void best_step(const struct dte_chain *m, const struct dte_emissions *e, int t, const double *before,
                      double *after, int *back)
{
    for (int j = 0; j < m->tags; j++) {
        after[j] = t ? -INFINITY : step_score(m, e, t, m->tags, j);
        back[j] = 0;
        for (int i = 0; t && i < m->tags; i++) {
            double s = before[i] + step_score(m, e, t, i, j);
            if (s > after[j]) {
                after[j] = s;
                back[j] = i;
            }
        }
    }
}

bool dte_chain_best(const struct dte_chain *m, const struct dte_emissions *e, int *tags)
{
    int *back = xmalloc((size_t)(e->n * m->tags) * sizeof *back), best = 0;
    double before[CRF_TAGS_MAX] = { 0 }, after[CRF_TAGS_MAX] = { 0 }, most = -INFINITY;

    for (int t = 0; t < e->n; t++) {
        best_step(m, e, t, before, after, back + t * m->tags);
        memcpy(before, after, sizeof before);
    }
    for (int j = 0; j < m->tags; j++)
        if (before[j] + end_score(m, e, j) > most) {
            most = before[j] + end_score(m, e, j);
            best = j;
        }
    for (int t = e->n - 1; t >= 0; t--) {
        tags[t] = best;
        best = back[t * m->tags + best];
    }
    free(back);
    return most > -INFINITY;
}

static double log_sum(const double *x, int n)
{
    double most = -INFINITY, sum = 0;

    for (int i = 0; i < n; i++)
        most = fmax(most, x[i]);
    for (int i = 0; i < n && most > -INFINITY; i++)
        sum += exp(x[i] - most);
    return most > -INFINITY ? most + log(sum) : most;
}

double dte_chain_log_z(const struct dte_chain *m, const struct dte_emissions *e)
{
    double alpha[CRF_TAGS_MAX] = { 0 }, next[CRF_TAGS_MAX] = { 0 }, terms[CRF_TAGS_MAX];

    for (int t = 0; t < e->n; t++) {
        for (int j = 0; j < m->tags; j++) {
            for (int i = 0; i < m->tags; i++)
                terms[i] = t ? alpha[i] + step_score(m, e, t, i, j) : -INFINITY;
            next[j] = t ? log_sum(terms, m->tags) : step_score(m, e, t, m->tags, j);
        }
        memcpy(alpha, next, sizeof alpha);
    }
    for (int j = 0; j < m->tags; j++)
        terms[j] = alpha[j] + end_score(m, e, j);
    return e->n ? log_sum(terms, m->tags) : 0;
}

double dte_chain_span(const struct dte_chain *m, const struct dte_emissions *e, int from, int to, const int *tags,
                      int32_t not_next)
{
    int32_t *allowed = xmalloc((size_t)e->n * sizeof *allowed);
    struct dte_emissions only = *e;

    for (int t = 0; t < e->n; t++) {
        int32_t any = e->allowed ? e->allowed[t] : (int32_t)((1u << m->tags) - 1);
        allowed[t] = t >= from && t < to ? any & (1 << tags[t - from]) : t == to ? any & ~not_next : any;
    }
    only.allowed = allowed;
    double p = exp(dte_chain_log_z(m, &only) - dte_chain_log_z(m, e));
    free(allowed);
    return p;
}
