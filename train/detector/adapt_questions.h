/*
 * adapt_questions.h - labelled questions with the base's states and logits, computed once for all fits.
 *
 * Only a few of hundreds of candidate pairs are ever the likeliest. Each question therefore keeps ADAPT_PAIRS pairs,
 * on an otherwise unchanged schema.
 */
#ifndef TRAIN_DETECTOR_ADAPT_QUESTIONS_H
#define TRAIN_DETECTOR_ADAPT_QUESTIONS_H

#include "data/corpora/labels.h"
#include "models/gatekeeper/gate_score.h"
#include "train/detector/gate_data.h"

enum { ADAPT_PAIRS = 16 };

struct adapt_questions {
    struct dataset records;
    struct gate_data data;
    const struct gate_example *list; /* of data */
    int n;
    struct gate_item *items;     /* [n] on the narrowed schemas */
    struct schema_input *narrow; /* [n] schemas that own nothing but their pairs */
    int *likeliest; /* [n] the base's likeliest pair in narrow; -1: none; 0 for classifiers without pairs */
    int *truth;     /* [n] the pair in narrow that holds the alternatives; -1: none or unknown */
    float *states;  /* [start[n], C] */
    int64_t *start; /* [n + 1] first row of each */
    double *logit;  /* [n] of the base */
};

/* Reads a custom data set and scores it. Each schema is cut to `elements` (0: all), with the retriever (NULL: none).
 * The caller releases q either way. */
int adapt_questions_read(struct adapt_questions *q, struct gate_scorer *s, const struct labels_request *labels,
                         int elements, struct sentence_encoder *retriever, struct error *err);
void adapt_questions_release(struct adapt_questions *q);

/* The likeliest of n pairs, best first; of equal ones the earlier comes first. Returns their number. */
int adapt_likeliest(const float *logit, int n, int best[ADAPT_PAIRS]);

/* -1 with EXIT_CODE_DATA if both sets share a question, by text and database or by a given id. */
int adapt_questions_apart(const struct adapt_questions *support, const struct adapt_questions *queries,
                          struct error *err);

/* The classifier's logits of the n questions `which`. again: the encoder has changed, so that states are computed
 * again. */
int adapt_questions_score(const struct adapt_questions *q, struct gate_scorer *s, const int *which, int n, bool again,
                          double *logit, struct error *err);

#endif
