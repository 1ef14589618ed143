/*
 * adapt_questions.h - labelled questions, with what a base's encoder and classifier say of them, for all trainings.
 *
 * A detector's score is that of the likeliest candidate pair, and of hundreds only a few ever are the likeliest: each
 * question keeps ADAPT_PAIRS of them, on a schema that is as its own otherwise.
 */
#ifndef TRAIN_ADAPT_ADAPT_QUESTIONS_H
#define TRAIN_ADAPT_ADAPT_QUESTIONS_H

#include "data/corpora/labels.h"
#include "models/gate/gate_score.h"
#include "train/gate/gate_data.h"

enum { ADAPT_PAIRS = 16 };

struct adapt_questions {
    struct dataset records;
    struct gate_data data;
    const struct gate_example *list; /* of data */
    int n;
    struct gate_item *items;     /* [n] on the narrowed schemas */
    struct schema_input *narrow; /* [n]; only pairs are their own */
    int *likeliest;              /* [n] the base's pair of narrow, -1: none; 0 without pairs */
    int *truth;                  /* [n] the pair of narrow that the two alternatives are, -1: none, or not known */
    float *states;               /* [start[n], C] */
    int64_t *start;              /* [n + 1] first row of each */
    double *logit;               /* [n] the base's */
};

/* Reads a file of own labels, of each schema `elements` (0: all) at most, found with the retriever (NULL: none), and
 * has the base score it.  The caller releases either way. */
int adapt_questions_read(struct adapt_questions *q, struct gate_scorer *s, const struct labels_request *labels,
                         int elements, struct sentence_encoder *retriever, struct error *err);
void adapt_questions_release(struct adapt_questions *q);

/* The likeliest of n pairs, best first, of equal ones the earlier; how many there are.  In one pass over them. */
int adapt_likeliest(const float *logit, int n, int best[ADAPT_PAIRS]);

/* -1 with EXIT_CODE_DATA when a question, by its text and database or by an id of its own, is one of the others too. */
int adapt_questions_apart(const struct adapt_questions *support, const struct adapt_questions *queries,
                          struct error *err);

/* The classifier's logits of the n questions `which`; again: the encoder has changed, and reads them again. */
int adapt_questions_score(const struct adapt_questions *q, struct gate_scorer *s, const int *which, int n, bool again,
                          double *logit, struct error *err);

#endif
