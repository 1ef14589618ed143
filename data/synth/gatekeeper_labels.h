/*
 * gatekeeper_labels.h - data sets with the labels of Skadborg and Mortensen (Aalborg University), to reproduce their
 * numbers.
 *
 * Their label calls a question ambiguous if it gives two or more records: one for each column of its outermost SELECT
 * that has synonyms in the dictionary. The label does not depend on the schema, so it serves reproduction only.
 */
#ifndef DATA_SYNTH_GATEKEEPER_LABELS_H
#define DATA_SYNTH_GATEKEEPER_LABELS_H

#include "data/base/strings.h"
#include "data/synth/contrast.h"

/* The number of records and of ambiguous ones. */
struct gatekeeper_counts {
    int records, ambiguous;
};

/* Builds the data set. train_spider.json gives the splits train and valid (valid_share of the databases), dev.json
 * gives test. counts[0] counts train and valid together, counts[1] the test split, which is AmbiQT's validation form.
 * The caller releases out in either case. */
int gatekeeper_labels_build(struct dataset *out, struct gatekeeper_counts counts[2], const struct contrast_options *o,
                            const char *ambiqt, const char *spider, struct error *err);

/*
 * A column of the outermost SELECT list, as AmbiQT's generator finds it. It reproduces the published generator word
 * for word: it ignores sub-queries, accepts aliases of two characters only, and gives every bare column to the table
 * behind the first FROM. The published label counts depend on this. Other code should use data/sql/sql.h.
 */
struct gatekeeper_column {
    const char *table, *column;
};

/* Lists the distinct columns of a normalized query (ambiqt_text.h) in order of appearance. text keeps the names. Writes
 * at most max columns and returns their number. */
int gatekeeper_columns(const char *normalized, struct strings *text, struct gatekeeper_column *out, int max);

#endif
