/*
 * number_match.h - the numbers of a question, and which columns hold them.
 */
#ifndef DATA_SPAN_NUMBER_MATCH_H
#define DATA_SPAN_NUMBER_MATCH_H

#include "data/span/tagging.h"
#include "data/util/strings.h"

/*
 * The numbers that a question says, in digits.
 *
 * "1,000", "1'000.5", "1.000,50", "-3", "$20", "20 %", "2nd" and "50kg" are numbers; digits that are a part of a date,
 * a time, a range, a version or a word, as in "2023-05-01", "10:30", "10-20" and "b2", are none.
 */

/* The next number behind byte *at, which is moved behind it; false where there is no more.  Its holders are not known
 * yet. */
bool number_read_next(struct said_number *number, const char *question, int *at);

struct number_matches {
    struct said_number *items;
    int n, cap;
    struct strings texts;
};

/* A column holds a number where a cell is that number or a text that says it and nothing else; a percentage also where
 * the hundredth part is held; four digits that may be a year also where a date is of that year.  Released by the
 * caller. */
void number_match(struct number_matches *m, const struct number_index *x, const char *question);
void number_matches_release(struct number_matches *m);

#endif
