/*
 * thesis.h - data sets labelled as the GATekeeper thesis labelled them, to reproduce its numbers.
 */
#ifndef DATA_CONTRAST_THESIS_H
#define DATA_CONTRAST_THESIS_H

#include "data/contrast/contrast.h"
#include "data/util/strings.h"

/* What the thesis called ambiguous: a question that gives two or more records when the columns of its outermost SELECT
 * are looked up in the synonym dictionary.  For reproduction only: the label says nothing about the schema. */
struct thesis_counts {
    int records, ambiguous;
};

/* train_spider.json gives train and valid (databases of their own, valid_share of them), dev.json gives test. counts[0]
 * are of training and validation together, counts[1] of the test fold, which is AmbiQT's validation form. */
int thesis_build(struct dataset *out, struct thesis_counts counts[2], const struct contrast_options *o,
                 const char *ambiqt, const char *spider, struct error *err);

/*
 * Which columns AmbiQT's generator finds in the outermost SELECT list of a query.
 *
 * Deliberately textual, word for word what the published generator does: it knows no sub-queries, takes aliases of two
 * characters only, and gives every bare column to the table behind the first FROM.  The published label counts depend
 * on it.  Anything else should ask data/sql/sql.h.
 */
struct thesis_column {
    const char *table, *column;
};

/* The distinct columns of a query in normal form (ambiqt_text.h) in order of appearance; text keeps the names.  At most
 * max are written; returns how many. */
int thesis_columns(const char *normalized, struct strings *text, struct thesis_column *out, int max);

#endif
