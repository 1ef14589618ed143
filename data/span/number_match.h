/*
 * number_match.h - finds the numbers in a question, and the columns that contain them.
 */
#ifndef DATA_SPAN_NUMBER_MATCH_H
#define DATA_SPAN_NUMBER_MATCH_H

#include "data/base/strings.h"
#include "data/span/tagging.h"

/* Numbers in digits: "1,000", "1'000.5", "1.000,50", "-3", "$20", "20 %", "2nd" and "50kg". Digits in a date, a time,
 * a range, a version or a word are no numbers: "2023-05-01", "10:30", "10-20", "b2". */

/* Reads the next number after byte *at, and advances *at. False at the end. The holders are not set. */
bool number_read_next(struct said_number *number, const char *question, int *at);

struct number_matches {
    struct said_number *items;
    int n, cap;
    struct strings texts;
};

/* Finds the numbers and their columns. A column contains a number if a cell is that number or its text. A percentage
 * is also looked up as a fraction, and a possible year also among dates. The caller releases. */
void number_match(struct number_matches *m, const struct number_index *x, const char *question);
void number_matches_release(struct number_matches *m);

#endif
