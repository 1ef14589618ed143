/*
 * thesis.h - data sets labelled as the GATekeeper thesis labelled them, to reproduce its numbers.
 */
#ifndef DATA_CONTRAST_THESIS_H
#define DATA_CONTRAST_THESIS_H

#include "data/contrast/contrast.h"

/* What the thesis called ambiguous: a question that gives two or more records when the columns of its outermost SELECT
 * are looked up in the synonym dictionary.  For reproduction only: the label says nothing about the schema. */
struct thesis_counts {
    int records, ambiguous;
};

/* train_spider.json gives train and valid (databases of their own, valid_share of them), dev.json gives test. counts[0]
 * are of training and validation together, counts[1] of the test fold, which is AmbiQT's validation form. */
int thesis_build(struct dataset *out, struct thesis_counts counts[2], const struct contrast_options *o,
                 const char *ambiqt, const char *spider, struct error *err);

#endif
