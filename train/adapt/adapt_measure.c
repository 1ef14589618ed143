#include "train/adapt/adapt_measure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const adapt_figure_names[ADAPT_FIGURES] = { "AP", "F1", "macro-F1", "accuracy", "Brier", "seconds" };

void adapt_measure(const struct gate_model *m, const double *logit, const uint8_t *label, int n,
                   double figures[ADAPT_FIGURES])
{
    double *p = xmalloc((size_t)n * sizeof *p + 1);

    for (int i = 0; i < n; i++)
        p[i] = gate_probability(m, logit[i]);
    struct scored s = { p, label, n };
    struct confusion c = stats_confusion(s, m->threshold);
    figures[ADAPT_AP] = stats_average_precision(s);
    figures[ADAPT_F1] = stats_decision(c).f1;
    figures[ADAPT_MACRO_F1] = stats_macro_f1(c);
    figures[ADAPT_ACCURACY] = stats_decision(c).accuracy;
    figures[ADAPT_BRIER] = stats_brier(s);
    free(p);
}

void adapt_cell_add(struct adapt_cell *c, const double figures[ADAPT_FIGURES])
{
    if (c->n == c->cap) {
        c->cap = c->cap ? 2 * c->cap : 64;
        for (int k = 0; k < ADAPT_FIGURES; k++)
            c->of[k] = xrealloc(c->of[k], (size_t)c->cap * sizeof *c->of[k]);
    }
    for (int k = 0; k < ADAPT_FIGURES; k++)
        c->of[k][c->n] = figures[k];
    c->n++;
}

void adapt_cell_release(struct adapt_cell *c)
{
    for (int k = 0; k < ADAPT_FIGURES; k++)
        free(c->of[k]);
    *c = (struct adapt_cell){ 0 };
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(const double *sorted, int n, double share)
{
    double at = share * (n - 1);
    int below = (int)floor(at), above = below + 1 < n ? below + 1 : below;
    return sorted[below] + (at - below) * (sorted[above] - sorted[below]);
}

struct adapt_spread adapt_cell_spread(const struct adapt_cell *c, enum adapt_figure figure)
{
    double *sorted = xmalloc((size_t)c->n * sizeof *sorted + 1), sum = 0;
    int n = 0;

    for (int i = 0; i < c->n; i++)
        if (isfinite(c->of[figure][i]))
            sum += sorted[n++] = c->of[figure][i];
    struct adapt_spread s = { NAN, NAN, NAN };
    if (n) {
        qsort(sorted, (size_t)n, sizeof *sorted, ascending);
        s = (struct adapt_spread){ sum / n, quantile(sorted, n, 0.05), quantile(sorted, n, 0.95) };
    }
    free(sorted);
    return s;
}
