/*
 * measure_unit.h - units of measure in questions, and the names of columns measured in them.
 */
#ifndef DATA_SPAN_MEASURE_UNIT_H
#define DATA_SPAN_MEASURE_UNIT_H

#include "data/span/spoken.h"
#include "data/span/tagging.h"

/* Units of one dimension, such as kg and pound; a constant of the program. */
struct measure_unit;

/* The unit of a number of the question: "$" or "%", letters in the number's word ("50kg"), or the next word.  spoken:
 * the words of the question, of which `last` is the last one of the number.  *words is 1 if the unit is the next word,
 * else 0.  NULL: no unit. */
const struct measure_unit *measure_unit_of(const struct said_number *number, const char *question,
                                           const struct spoken *spoken, int last, int *words);
/* Whether a name has a word of a column in this unit, such as "weight". */
bool measure_unit_names(const struct measure_unit *unit, const struct spoken *name);

#endif
