/*
 * number_match.h - the numbers of a question, and which columns hold them.
 */
#ifndef DATA_SPAN_NUMBER_MATCH_H
#define DATA_SPAN_NUMBER_MATCH_H

#include "data/span/tagging.h"
#include "data/util/strings.h"

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
