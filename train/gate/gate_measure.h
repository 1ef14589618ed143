/*
 * gate_measure.h - how good answers are, with intervals over the databases that the questions come from.
 */
#ifndef TRAIN_GATE_GATE_MEASURE_H
#define TRAIN_GATE_GATE_MEASURE_H

#include "data/util/json.h"
#include "train/gate/gate_eval.h"

/* Measures of one set of questions; NAN where undefined. */
struct gate_measures {
    int n;
    double prevalence, ap, auc, named; /* named: share of the ambiguous whose two alternatives are both right */
    struct interval ap_interval, auc_interval, f1_interval; /* over source databases */
    struct confusion confusion;
    struct decision decision, always_yes;
    double best_threshold, best_f1; /* of these very questions: what no threshold chosen elsewhere goes beyond */
    double brier;
    struct reliability reliability;
};

/* Of the answers of one kind (gate_kind), or of all when it is GATE_KINDS. */
struct gate_measures gate_measure(const struct gate_model *m, const struct gate_answers *a, int kind, uint64_t seed);
/* Of the answers of one folder of a mixture. */
struct gate_measures gate_measure_part(const struct gate_model *m, const struct gate_answers *a, const char *part,
                                       uint64_t seed);
/* Of those about one database, without intervals. */
struct gate_measures gate_measure_group(const struct gate_model *m, const struct gate_answers *a, int group);
json_t *gate_measures_json(const struct gate_measures *m);

#endif
