/*
 * risk_coverage.h - selective prediction (El-Yaniv and Wiener, 2010): the error among the questions that are answered,
 * by the share of questions that are answered.
 *
 * Decisions of one margin are answered together, so a result does not depend on their order.  risk_sort() comes first.
 */
#ifndef DATA_BASE_RISK_COVERAGE_H
#define DATA_BASE_RISK_COVERAGE_H

#include "kernels/base.h"

#include <jansson.h>

struct risk_decision {
    double margin; /* confidence of the decision; only its order counts */
    bool right;
};

/* Sorts by margin, the highest first. */
void risk_sort(struct risk_decision *list, int n);
/* The number of decisions that are answered at a coverage from 0 to 1, ties included; *right: how many of them are
 * right. */
int risk_answered(const struct risk_decision *sorted, int n, double coverage, int *right);

/* A row of a table. */
struct risk_row {
    double coverage, accuracy; /* accuracy is NAN if nothing is answered */
    int answered, right;
};
struct risk_row risk_row_of(int answered, int right, int n);
enum { RISK_ROWS = 11 };
/* Rows at the coverages 1, .95, .9, .8, .7 ... .1, ties included. */
void risk_rows(struct risk_row rows[RISK_ROWS], const struct risk_decision *sorted, int n);
/* Prints the titles or a row, with `more` as the title or the text of a further column. */
void risk_print_titles(const char *more);
void risk_print_row(const struct risk_row *r, const char *more);
/* {"coverage", "answered", "correct", "accuracy"}, a new reference. */
json_t *risk_row_json(const struct risk_row *r);

/* A point for each distinct margin. */
struct risk_curve {
    double *coverage, *risk; /* [points] shares from 0 to 1 */
    int points;
    double area; /* AURC: the mean risk over all questions, NAN of none */
};

/* The caller releases. */
void risk_curve_init(struct risk_curve *c, const struct risk_decision *sorted, int n);
void risk_curve_release(struct risk_curve *c);

#endif
