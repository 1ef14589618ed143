/*
 * thesis_columns.h - which columns AmbiQT's generator finds in the outermost SELECT list of a query.
 *
 * Deliberately textual, word for word what the published generator does: it knows no sub-queries, takes aliases of two
 * characters only, and gives every bare column to the table behind the first FROM.  The published label counts depend
 * on it.  Anything else should ask data/sql/sql.h.
 */
#ifndef DATA_CONTRAST_THESIS_COLUMNS_H
#define DATA_CONTRAST_THESIS_COLUMNS_H

#include "data/util/strings.h"

struct thesis_column {
    const char *table, *column;
};

/* The distinct columns of a query in normal form (ambiqt_text.h) in order of appearance; text keeps the names.  At most
 * max are written; returns how many. */
int thesis_columns(const char *normalized, struct strings *text, struct thesis_column *out, int max);

#endif
