/*
 * labels_split.h - which fold each of a person's labelled questions goes to.
 *
 * Few questions have to do for three folds: a fifth is for choosing and calibrating, a fifth for the test.
 */
#ifndef DATA_CORPORA_LABELS_SPLIT_H
#define DATA_CORPORA_LABELS_SPLIT_H

#include "data/corpora/dataset.h"

/* Moves the examples of `all` to the folds of d and tells how on the log; name opens that line. */
void labels_split(struct dataset *d, const struct example_list *all, int64_t seed, const char *name);

/* The number among texts of a question, which is added when it is new; questions that differ by case and spaces alone
 * are one. */
int labels_text_number(struct strings *texts, const char *question);

#endif
