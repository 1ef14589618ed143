/*
 * bag.h - logistic regression on bags of words, the probe of what a text alone gives away.
 */
#ifndef DATA_CONTRAST_BAG_H
#define DATA_CONTRAST_BAG_H

#include "data/util/strings.h"

/* Texts as lists of distinct word numbers. */
struct bag_texts {
    struct strings words; /* lower-case runs of letters and digits */
    int *newest;          /* by word: the newest text that has it */
    int *ids;             /* of all texts, end to end */
    int *first;           /* [n + 1] */
    int n, n_ids, newest_cap, ids_cap, first_cap;
};

/* A zeroed struct is ready.  Returns the text's number. */
int bag_add(struct bag_texts *t, const char *text);
void bag_release(struct bag_texts *t);

struct bag_model {
    double *weight; /* [n_words + 1], the last one the bias */
    int n_words;
};

/* Fits to examples (texts[i], labels[i]) by AdaGrad over seeded passes: the same inputs give the same bits. */
void bag_fit(struct bag_model *m, const struct bag_texts *t, const int *texts, const uint8_t *labels, int n);
/* Probability of label 1. */
double bag_score(const struct bag_model *m, const struct bag_texts *t, int text);
void bag_model_release(struct bag_model *m);

#endif
