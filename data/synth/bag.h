/*
 * bag.h - logistic regression on bags of words. It probes how much a text alone reveals about the label.
 */
#ifndef DATA_SYNTH_BAG_H
#define DATA_SYNTH_BAG_H

#include "data/base/strings.h"

/* Texts as lists of distinct word indices. */
struct bag_texts {
    struct strings words; /* lower-case runs of letters and digits */
    int *newest;          /* [words.n] the newest text that has the word */
    int *ids;             /* the word indices of all texts, end to end */
    int *first;           /* [n + 1] the start of each text in ids */
    int n, n_ids, newest_cap, ids_cap, first_cap;
};

/* Adds a text and returns its index. Zero-initialise the struct. */
int bag_add(struct bag_texts *t, const char *text);
void bag_release(struct bag_texts *t);

struct bag_model {
    double *weight; /* [n_words + 1] weights, the last one is the bias */
    int n_words;
};

/* Fits the model to the examples (texts[i], labels[i]) by AdaGrad over seeded passes. The same inputs give the same
 * bits. */
void bag_fit(struct bag_model *m, const struct bag_texts *t, const int *texts, const uint8_t *labels, int n);
/* Returns the probability of label 1. */
double bag_score(const struct bag_model *m, const struct bag_texts *t, int text);
void bag_model_release(struct bag_model *m);

#endif
