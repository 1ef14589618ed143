/*
 * triage_train.h - trains the triage head of a detector (gate_triage.h).
 *
 * The detector scores all questions once and stays unchanged.  The head is then fitted to the cached features by
 * accelerated gradient descent (Nesterov 1983) on the cross-entropy with an L2 penalty.  Each class has the same total
 * weight, because the frequencies of the classes in use are unknown.  The problem is convex, so nothing is random.
 */
#ifndef TRAIN_DETECTOR_TRIAGE_TRAIN_H
#define TRAIN_DETECTOR_TRIAGE_TRAIN_H

#include "models/gatekeeper/gate_triage.h"

struct triage_train_request {
    const char *model, *data; /* folders: the detector; questions.jsonl with classes and tables.json */
    const char *out;          /* file */
    const char *device;
    int64_t tokens; /* maximum number of tokens encoded at once */
    bool no_graph;
};

struct triage_train_counts {
    int64_t of_class[TRIAGE_CLASSES], skipped; /* skipped: questions of schemas that are too wide, or without tokens */
    double accuracy;                           /* on the training questions, each class having the same weight */
};

/* Fits the head to n questions.  features: [n, TRIAGE_FEATURES]; classes: [n]. */
void triage_fit(struct gate_triage *t, const float *features, const uint8_t *classes, int n);

/* Returns -1 with EXIT_CODE_DATA naming file, line and field, also if a class has no question. */
int triage_train(const struct triage_train_request *q, struct triage_train_counts *counts, struct error *err);

#endif
