/*
 * value_match.h - finds the values in a question: runs of words in a value index, and numbers.
 *
 * Of overlapping runs, the one with more letters in common with its value stays, then the more similar one; values of
 * one run stay together. No run covers a part of a quotation or a date, and digits must be equal. A number may be a
 * value of every numeric column, for models to choose from, unless it is part of a longer run; number_match.h knows
 * its columns.
 */
#ifndef DATA_SPAN_VALUE_MATCH_H
#define DATA_SPAN_VALUE_MATCH_H

#include "data/span/value_index.h"
#include "kernels/base.h"

/* Quotations: a quoted text is one name or value. Marks are straight and curly, single and double, guillemets and
 * backticks. A mark beside letters on its wrong side, as in "O'Brien", "customers' orders" or 5", is ignored. */

enum { QUOTED_MAX = 16 };

struct quoted {
    struct {
        int from, to;    /* bytes between the marks */
    } items[QUOTED_MAX]; /* the first ones of a longer text */
    int n;
};

void quoted_read(struct quoted *q, const char *text);
/* Whether bytes [from, to) cover a part of a quotation but not all of it. */
bool quoted_cuts(const struct quoted *q, const char *text, int from, int to);
/* Whether they are one whole quotation, except for blanks and punctuation at its ends. */
bool quoted_is(const struct quoted *q, const char *text, int from, int to);

/* Minimum similarity of a value, as in the published matcher. */
#define VALUE_RATIO 0.82

struct value_matches {
    struct tag_value *items;
    int n, cap;
    struct strings numbers; /* texts of numbers; other texts belong to the index */
};

/* At most VALUE_BEST values of each column, the best first. The caller releases. */
void value_match(struct value_matches *m, struct value_index *x, const char *question,
                 const struct span_column *columns, int n_columns, double least);
void value_matches_release(struct value_matches *m);

#endif
