#include "train/gate/gate_risk.h"

#include "models/gate/gate_band.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const double coverages[RISK_ROWS] = { 1, 0.95, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3 };
/* The first n, and those that are as sure as the last of them. */
static struct gate_risk_row row_of(const struct gate_model *m, const struct gate_decided *d, int all, double coverage)
{
    int n = (int)ceil(coverage * all - 1e-9), right = 0;

    while (n < all && n > 0 && d[n].margin >= d[n - 1].margin)
        n++;
    for (int i = 0; i < n; i++)
        right += d[i].right;
    struct gate_risk_row row = { .coverage = all ? (double)n / all : 0,
                                 .accuracy = n ? (double)right / n : NAN,
                                 .n = n };
    gate_margin_scores(m, n ? d[n - 1].margin : 0, &row.low, &row.high);
    return row;
}

/* Ties count at the place behind the last of them. */
static double area_of(const struct gate_decided *d, int n)
{
    double sum = 0;
    int wrong = 0;

    for (int i = 0, end; i < n; i = end) {
        for (end = i; end < n && d[end].margin >= d[i].margin; end++)
            wrong += !d[end].right;
        sum += (double)(end - i) * wrong / end;
    }
    return n ? sum / n : NAN;
}

struct gate_risk gate_risk(const struct gate_model *m, const struct gate_answers *a)
{
    struct gate_decided *d = gate_decide(m, a->logit, a->label, a->n);
    struct gate_risk r = { .area = area_of(d, a->n) };

    for (int i = 0; i < RISK_ROWS; i++)
        r.rows[i] = row_of(m, d, a->n, coverages[i]);
    free(d);
    return r;
}

void gate_risk_print(const struct gate_risk *r)
{
    printf("\n%-10s%-11s%-10s%s\n", "coverage", "questions", "right", "unsure between");
    for (int i = 0; i < RISK_ROWS; i++) {
        const struct gate_risk_row *row = &r->rows[i];
        printf("%-10.3f%-11d%-10.3f%.4f and %.4f\n", row->coverage, row->n, row->accuracy, row->low, row->high);
    }
    printf("mean error over all coverages (AURC) %.4f\n", r->area);
}

json_t *gate_risk_json(const struct gate_risk *r)
{
    json_t *rows = json_array();

    for (int i = 0; i < RISK_ROWS; i++) {
        const struct gate_risk_row *row = &r->rows[i];
        json_array_append_new(rows,
                              json_pack("{s:f, s:i, s:o, s:f, s:f}", "coverage", row->coverage, "questions", row->n,
                                        "accuracy", json_finite(row->accuracy), "low", row->low, "high", row->high));
    }
    return json_pack("{s:o, s:o}", "rows", rows, "aurc", json_finite(r->area));
}
