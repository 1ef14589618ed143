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
#include "kernels/base.h"

/*
 * Texts in quotation marks: what a user quotes is one name or value, and no part of it is another one.
 *
 * Marks are straight and curly, single and double, guillemets and backticks.  A mark beside letters on its wrong side,
 * as in "O'Brien", "customers' orders" or 5", opens or closes nothing.
 */

enum { QUOTED_MAX = 16 };

struct quoted {
    struct {
        int from, to;    /* bytes between the marks */
    } items[QUOTED_MAX]; /* of a longer text the first ones */
    int n;
};

void quoted_read(struct quoted *q, const char *text);
/* Whether bytes [from, to) lie over a part of a quotation and not all of it. */
bool quoted_cuts(const struct quoted *q, const char *text, int from, int to);
/* Whether they are all of one, but for blanks and punctuation at its ends. */
bool quoted_is(const struct quoted *q, const char *text, int from, int to);

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
