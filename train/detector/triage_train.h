/*
 * triage_train.h - trains the triage head of a detector (gate_triage.h).
 *
 * The detector scores all questions once and stays unchanged.  The head is then fitted to the cached features by
 * accelerated gradient descent (Nesterov 1983) on the cross-entropy with an L2 penalty.  Each class has the same total
 * weight, because the frequencies of the classes in use are unknown, and each kind of a class an equal share of it.
 * The problem is convex, so nothing is random.
 *
 * A question with "values" is read twice: with its stored values, and as if none were known.  One whose class depends
 * on the values ("by_values") is only read with them.  The thresholds of the head are chosen on validation questions,
 * of which it may refuse a given share of the answerable ones, and call as many ambiguous.  Values are not used there:
 * `ambit-infer detect` refuses no question before it has looked its words up.
 */
#ifndef TRAIN_DETECTOR_TRIAGE_TRAIN_H
#define TRAIN_DETECTOR_TRIAGE_TRAIN_H

#include "models/gatekeeper/gate_triage.h"

struct triage_train_request {
    const char *model, *data; /* folders: the detector; questions.jsonl with kinds and tables.json */
    const char *valid;        /* folder of the same form, which chooses the thresholds */
    double false_refusals;    /* maximum share of the answerable validation questions that are refused */
    const char *out;          /* file */
    const char *device;
    int64_t tokens; /* maximum number of tokens encoded at once */
    bool no_graph;
};

/* The shares of validation questions, by their class, that a head refuses and calls ambiguous. */
struct triage_shares {
    double refused[TRIAGE_CLASSES], asked[TRIAGE_CLASSES];
};

struct triage_train_counts {
    int64_t of_class[TRIAGE_CLASSES], skipped; /* skipped: questions of schemas that are too wide, or without tokens */
    int64_t of_kind[TRIAGE_KINDS];
    double accuracy;            /* on the validation questions, each class having the same weight */
    double kind_accuracy;       /* the same by kind, each kind having the same weight */
    struct triage_shares valid; /* shares of the validation questions */
};

/* Fits the head to n questions.  features: [n, TRIAGE_FEATURES]; kinds: [n]. */
void triage_fit(struct gate_triage *t, const float *features, const uint8_t *kinds, int n);

/* Chooses the thresholds of a head on n questions.  features: [n, TRIAGE_FEATURES]; classes, origins: [n]. */
void triage_choose(struct triage_shares *shares, struct gate_triage *head, const float *features,
                   const uint8_t *classes, const int *origins, int n, double false_refusals);

/* Returns -1 with EXIT_CODE_DATA naming file, line and field, also if a class has no question. */
int triage_train(const struct triage_train_request *q, struct triage_train_counts *counts, struct error *err);

#endif
