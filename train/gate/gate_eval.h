/*
 * gate_eval.h - what a model says of a fold, and how good that is.
 */
#ifndef TRAIN_GATE_GATE_EVAL_H
#define TRAIN_GATE_GATE_EVAL_H

#include "data/stats/stats.h"
#include "train/gate/gate_trainer.h"

/* Kinds under one number: SIA's, then the linguistic ones; GATE_KINDS is that of an example of which none is known. */
enum { GATE_KINDS = SIA_KINDS + LINGUISTIC_KINDS };
int gate_kind(const struct example *e);
/* "-" of GATE_KINDS. */
const char *gate_kind_name(int kind);

/* Two elements of a schema, tables first, then columns; schema is NULL where there are none. */
struct gate_pair {
    const struct schema *schema; /* borrowed */
    int u, v;
};

/* Answers to the examples of one slice of a fold; all arrays [n]. */
struct gate_answers {
    double *logit, *score, *words;  /* words: of the likeliest linguistic kind, -HUGE_VAL without; logit: of both */
    uint8_t *label, *named;         /* named: the likeliest pair is the one that the two golds read */
    struct gate_pair *pair;         /* the likeliest; where logit > score a linguistic kind is likelier still */
    uint8_t *kind;                  /* see gate_kind */
    const struct example **example; /* borrowed */
    int *group;                     /* number of the source database, whose name, borrowed from the example, is */
    const char **groups;            /* [n_groups] */
    int n, n_groups;
    double *relevance; /* logits of every element of every question, and */
    uint8_t *relevant; /* whether some gold SQL touches it; [n_elements] */
    int64_t n_elements;
};

/* Scores the fold's examples that are (presence) or are not (!presence) of the presence slice.  1, and no answers, when
 * a signal asked to stop. */
int gate_eval(struct gate_trainer *t, enum fold fold, bool presence, struct gate_answers *a, struct error *err);
/* The same of a fold without a run. */
int gate_eval_fold(struct gate_scorer *s, const struct gate_fold *fold, bool presence, struct gate_answers *a,
                   struct error *err);
/* Answers of others: n examples, of each the probability that it is ambiguous, and whether both alternatives are named.
 */
void gate_answers_given(struct gate_answers *a, const struct example *const *list, const double *probability,
                        const bool *named, int n);
void gate_answers_release(struct gate_answers *a);

struct scored gate_answers_scored(const struct gate_answers *a);
/* Average precision, and the share of the ambiguous whose pair is named, of the answers of one part of a mixture; NAN
 * where one label is missing. */
struct gate_part_score {
    double ap, named;
};
struct gate_part_score gate_answers_of_part(const struct gate_answers *a, const char *part);
struct scored gate_answers_relevance(const struct gate_answers *a);

/* Threshold and temperatures from validation answers, whose logits are then joined by them, into the model; too few of
 * them leave it as it is, which the log tells.  The threshold has the best F1 among those that call at most the share
 * `alarms` of the presence slice's answers ambiguous, of each part of a mixture by itself. */
void gate_calibrate(struct gate_model *m, struct gate_answers *a, struct gate_answers *presence, double alarms);

#endif
