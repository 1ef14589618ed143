/* Part of stats.h: the bootstrap. */
#include "data/stats/stats.h"

#include "kernels/rng.h"

#include <math.h>
#include <stdlib.h>

/* Examples by group: those of group g are order[first[g]] to order[first[g + 1] - 1]. */
struct group_index {
    int *order, *first, n;
};

static struct group_index gather(int n, const struct bootstrap *how)
{
    struct group_index g = { .n = how->group ? how->n_groups : n };
    g.order = xmalloc((size_t)n * sizeof *g.order);
    g.first = xcalloc((size_t)g.n + 1, sizeof *g.first);
    for (int i = 0; i < n; i++) {
        int which = how->group ? how->group[i] : i;
        CHECK(which >= 0 && which < g.n, "example %d is in group %d of %d", i, which, g.n);
        g.first[which + 1]++;
    }
    for (int k = 0; k < g.n; k++)
        g.first[k + 1] += g.first[k];
    int *next = xmalloc((size_t)g.n * sizeof *next);
    for (int k = 0; k < g.n; k++)
        next[k] = g.first[k];
    for (int i = 0; i < n; i++)
        g.order[next[how->group ? how->group[i] : i]++] = i;
    free(next);
    return g;
}

/* How many groups have examples. */
static int count_filled(const struct group_index *g)
{
    int filled = 0;

    for (int k = 0; k < g->n; k++)
        filled += g->first[k + 1] > g->first[k];
    return filled;
}

/* A resample grows: groups differ in size. */
struct resample {
    double *score;
    uint8_t *label;
    int n, cap;
};

static void add(struct resample *to, double score, uint8_t label)
{
    if (to->n == to->cap) {
        to->cap = to->cap ? 2 * to->cap : 1024;
        to->score = xrealloc(to->score, (size_t)to->cap * sizeof *to->score);
        to->label = xrealloc(to->label, (size_t)to->cap);
    }
    to->score[to->n] = score;
    to->label[to->n++] = label;
}

static void draw(struct resample *to, struct scored from, const struct group_index *g, struct rng *rng)
{
    to->n = 0;
    for (int k = 0; k < g->n; k++) {
        uint32_t which = rng_below(rng, (uint32_t)g->n);
        for (int i = g->first[which]; i < g->first[which + 1]; i++)
            add(to, from.score[g->order[i]], from.label[g->order[i]]);
    }
}

static int rising(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Between the two nearest ranks, in proportion. */
static double quantile(const double *x, int n, double q)
{
    double at = q * (n - 1);
    int low = (int)at, high = low + 1 < n ? low + 1 : low;
    return x[low] + (at - low) * (x[high] - x[low]);
}

struct interval stats_bootstrap(struct scored s, double (*measure)(struct scored s, const void *arg), const void *arg,
                                const struct bootstrap *how)
{
    struct interval out = { NAN, NAN };
    struct rng rng = { .seed = how->seed };
    struct resample sample = { 0 };
    int n = 0;

    if (s.n == 0)
        return out;
    struct group_index g = gather(s.n, how);
    double *value = xmalloc((size_t)how->rounds * sizeof *value);
    int rounds = count_filled(&g) > 1 ? how->rounds : 0;
    for (int i = 0; i < rounds; i++) {
        draw(&sample, s, &g, &rng);
        double v = measure((struct scored){ sample.score, sample.label, sample.n }, arg);
        if (!isnan(v))
            value[n++] = v;
    }
    qsort(value, (size_t)n, sizeof *value, rising);
    if (n > 0)
        out = (struct interval){ quantile(value, n, (1 - how->level) / 2), quantile(value, n, (1 + how->level) / 2) };
    free(value);
    free(sample.score);
    free(sample.label);
    free(g.order);
    free(g.first);
    return out;
}

double stats_measure_ap(struct scored s, const void *arg)
{
    (void)arg;
    return stats_average_precision(s);
}

double stats_measure_auc(struct scored s, const void *arg)
{
    (void)arg;
    return stats_auc(s);
}

double stats_measure_f1(struct scored s, const void *threshold)
{
    return stats_decision(stats_confusion(s, *(const double *)threshold)).f1;
}
