#include "data/base/risk_coverage.h"

#include "data/base/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static int surest_first(const void *a, const void *b)
{
    double x = ((const struct risk_decision *)a)->margin, y = ((const struct risk_decision *)b)->margin;
    return (x < y) - (x > y);
}

void risk_sort(struct risk_decision *list, int n)
{
    qsort(list, (size_t)n, sizeof *list, surest_first);
}

int risk_answered(const struct risk_decision *sorted, int n, double coverage, int *right)
{
    int answered = (int)ceil(coverage * n - 1e-9); /* .3 of 10 are 3, although .3 * 10 may round to more */

    while (answered > 0 && answered < n && sorted[answered].margin >= sorted[answered - 1].margin)
        answered++;
    *right = 0;
    for (int i = 0; i < answered; i++)
        *right += sorted[i].right;
    return answered;
}

struct risk_row risk_row_of(int answered, int right, int n)
{
    return (struct risk_row){ .coverage = n ? (double)answered / n : 0,
                              .accuracy = answered ? (double)right / answered : (double)NAN,
                              .answered = answered,
                              .right = right };
}

void risk_rows(struct risk_row rows[RISK_ROWS], const struct risk_decision *sorted, int n)
{
    static const double coverages[RISK_ROWS] = { 1, 0.95, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1 };

    for (int i = 0; i < RISK_ROWS; i++) {
        int right, answered = risk_answered(sorted, n, coverages[i], &right);
        rows[i] = risk_row_of(answered, right, n);
    }
}

void risk_print_titles(const char *more)
{
    printf("%-10s%-11s%-10s%-10s%s\n", "coverage", "answered", "correct", "accuracy", more);
}

void risk_print_row(const struct risk_row *r, const char *more)
{
    char accuracy[32] = "-";

    if (!isnan(r->accuracy))
        snprintf(accuracy, sizeof accuracy, "%.3f", r->accuracy);
    printf("%-10.3f%-11d%-10d%-10s%s\n", r->coverage, r->answered, r->right, accuracy, more);
}

json_t *risk_row_json(const struct risk_row *r)
{
    return json_pack("{s:f, s:i, s:i, s:o}", "coverage", r->coverage, "answered", r->answered, "correct", r->right,
                     "accuracy", json_finite(r->accuracy));
}

void risk_curve_init(struct risk_curve *c, const struct risk_decision *sorted, int n)
{
    double sum = 0;
    int wrong = 0;

    *c = (struct risk_curve){ .coverage = xcalloc((size_t)n + 1, sizeof *c->coverage),
                              .risk = xcalloc((size_t)n + 1, sizeof *c->risk) };
    for (int i = 0, end; i < n; i = end) {
        for (end = i; end < n && sorted[end].margin >= sorted[i].margin; end++)
            wrong += !sorted[end].right;
        c->coverage[c->points] = (double)end / n;
        c->risk[c->points++] = (double)wrong / end;
        sum += (double)(end - i) * wrong / end;
    }
    c->area = n ? sum / n : NAN;
}

void risk_curve_release(struct risk_curve *c)
{
    free(c->coverage);
    free(c->risk);
    *c = (struct risk_curve){ 0 };
}
