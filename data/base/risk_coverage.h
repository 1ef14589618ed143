/*
 * risk_coverage.h - selective prediction (El-Yaniv and Wiener, 2010): the error among the questions that are answered,
 * by the share of questions that are answered.
 *
 * Decisions of one margin are answered together, so a result does not depend on their order.  Callers sort by margin,
 * the highest first.
 */
#ifndef DATA_BASE_RISK_COVERAGE_H
#define DATA_BASE_RISK_COVERAGE_H

#include "kernels/base.h"

struct risk_decision {
    double margin; /* confidence of the decision; only its order counts */
    bool right;
};

/* The number of decisions that are answered at a coverage from 0 to 1, ties included; *right: how many of them are
 * right. */
int risk_answered(const struct risk_decision *sorted, int n, double coverage, int *right);

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
