/*
 * gate_eval.h - predictions of a detector for a split of the data, and its calibration.
 */
#ifndef TRAIN_DETECTOR_GATE_EVAL_H
#define TRAIN_DETECTOR_GATE_EVAL_H

#include "data/base/stats.h"
#include "train/detector/gate_trainer.h"

/* Numbers of ambiguity types: schema types (SIA), then linguistic types. GATE_TYPES stands for an unknown type. */
enum { GATE_TYPES = AMBIGUITY_TYPES };
int gate_type(const struct example *e);
/* "-" for GATE_TYPES. */
const char *gate_type_name(int type);

/* Two elements of a schema, tables first, then columns. schema is NULL if there is no pair. */
struct gate_pair {
    const struct schema *schema; /* borrowed */
    int u, v;
};

/* Predictions for the examples of one slice of a split. All arrays are [n]. */
struct gate_answers {
    double *logit, *score, *words;  /* score: of the schema; words: of the likeliest linguistic type, or -HUGE_VAL;
                                       logit: of both together */
    uint8_t *label, *named;         /* named: both ambiguous elements were identified */
    struct gate_pair *pair;         /* the likeliest pair; if logit > score, a linguistic type is likelier */
    uint8_t *type;                  /* see gate_type */
    const struct example **example; /* borrowed */
    int *group;                     /* number of the source database in */
    const char **groups;            /* [n_groups] names, borrowed from the examples */
    int n, n_groups;
    double *relevance; /* logits of all elements of all questions */
    uint8_t *relevant; /* [n_elements] 1: a gold statement uses the element */
    int64_t n_elements;
};

/* Scores the split's hard negatives, or its other examples. Returns 1, without predictions,
 * when a signal asked to stop. The caller releases a. */
int gate_eval(struct gate_trainer *t, enum data_split split, bool hard_negatives, struct gate_answers *a,
              struct error *err);
/* The same for a split outside a run. */
int gate_eval_split(struct gate_scorer *s, const struct gate_split *split, bool hard_negatives, struct gate_answers *a,
                    struct error *err);
/* Predictions from elsewhere: the probability of ambiguity of n examples, and whether both ambiguous elements were
 * identified. */
void gate_answers_given(struct gate_answers *a, const struct example *const *list, const double *probability,
                        const bool *named, int n);
void gate_answers_release(struct gate_answers *a);

struct scored gate_answers_scored(const struct gate_answers *a);
/* Average precision, and the fraction of ambiguous questions with both elements identified, in one folder of a
 * mixture. NAN if a label is missing. */
struct gate_part_score {
    double ap, named;
};
struct gate_part_score gate_answers_of_part(const struct gate_answers *a, const char *part);
struct scored gate_answers_relevance(const struct gate_answers *a);

/* Fits threshold and temperatures to validation predictions, stores them in the model and joins the logits by them.
 * With too few predictions it logs a warning and changes nothing. The threshold has the best F1 among those with a
 * false alarm rate of at most `alarms` on the hard negatives of each folder of a mixture. */
void gate_calibrate(struct gate_model *m, struct gate_answers *a, struct gate_answers *hard_negatives, double alarms);

#endif
