#include "data/base/risk_coverage.h"

#include <math.h>
#include <stdlib.h>

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
