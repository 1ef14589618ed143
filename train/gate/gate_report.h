/*
 * gate_report.h - the final table of a run: test.json, report.html and the same in words.
 */
#ifndef TRAIN_GATE_GATE_REPORT_H
#define TRAIN_GATE_GATE_REPORT_H

#include "train/gate/gate_eval.h"

/* Measures of one set of questions; NAN where undefined. */
struct gate_measures {
    int n;
    double prevalence, ap, auc, named; /* named: share of the ambiguous whose two alternatives are both right */
    struct interval ap_interval, auc_interval, f1_interval; /* over source databases */
    struct confusion confusion;
    struct decision decision, always_yes;
    double brier;
    struct reliability reliability;
};

/* Of the answers of one kind, or of all when kind is SIA_KINDS. */
struct gate_measures gate_measure(const struct gate_model *m, const struct gate_answers *a, int kind, uint64_t seed);

/* Judges the test fold (crossed and presence slices apart): prints the table to standard output, writes OUT/test.json
 * and OUT/report.html.  An empty test fold is only said. */
int gate_report(struct trainer *t, struct error *err);

#endif
