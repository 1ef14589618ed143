/*
 * number_read.h - the numbers that a question says, in digits.
 *
 * "1,000", "1'000.5", "1.000,50", "-3", "$20", "20 %", "2nd" and "50kg" are numbers; digits that are a part of a date,
 * a time, a range, a version or a word, as in "2023-05-01", "10:30", "10-20" and "b2", are none.
 */
#ifndef DATA_SPAN_NUMBER_READ_H
#define DATA_SPAN_NUMBER_READ_H

#include "data/span/tagging.h"

/* The next number behind byte *at, which is moved behind it; false where there is no more.  Its holders are not known
 * yet. */
bool number_read_next(struct said_number *number, const char *question, int *at);

#endif
