/*
 * gate_risk.h - selective prediction: how often a detector is right where it is surest (El-Yaniv and Wiener 2010).
 *
 * Sure is far from the threshold, in logits.  Of the surest share of the questions the accuracy is that of their
 * decisions; the others are those whose scores lie between low and high, which detect --abstain takes.
 */
#ifndef TRAIN_GATE_GATE_RISK_H
#define TRAIN_GATE_GATE_RISK_H

#include "data/util/json.h"
#include "train/gate/gate_eval.h"

enum { RISK_ROWS = 9 };

struct gate_risk {
    struct gate_risk_row {
        double coverage, accuracy, low, high;
        int n;         /* questions that are answered */
    } rows[RISK_ROWS]; /* of 1, .95, .9, .8 ... .3 */
    double area;       /* mean error over all coverages: AURC */
};

/* Questions that are as sure as one another are answered together.  Of no answers rows of n 0. */
struct gate_risk gate_risk(const struct gate_model *m, const struct gate_answers *a);
/* To standard output. */
void gate_risk_print(const struct gate_risk *r);
json_t *gate_risk_json(const struct gate_risk *r);

#endif
