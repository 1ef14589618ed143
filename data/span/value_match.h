/*
 * value_match.h - which values a question says: runs of its words in a value index, and its numbers.
 *
 * Of runs that overlap the one stays that has more letters in common with its value, of two alike the one that is more
 * alike; values of one run stay side by side.  No run lies over a part of a quotation or of a date, and digits must be
 * the same.  A number may be a value of every column of numbers, for models to choose from, unless it is part of a
 * longer run; number_match.h knows which columns hold it.
 */
#ifndef DATA_SPAN_VALUE_MATCH_H
#define DATA_SPAN_VALUE_MATCH_H

#include "data/span/value_index.h"

/* Values less alike than this are others; the published matcher's. */
#define VALUE_RATIO 0.82

struct value_matches {
    struct tag_value *items;
    int n, cap;
    struct strings numbers; /* texts of numbers; all others are the index's own */
};

/* At most VALUE_BEST of each column, the best first; released by the caller. */
void value_match(struct value_matches *m, struct value_index *x, const char *question,
                 const struct span_column *columns, int n_columns, double least);
void value_matches_release(struct value_matches *m);

#endif
