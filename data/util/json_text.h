/*
 * json_text.h - JSON values as text: keys in the order they were set, reals with the digits that they need.
 *
 * jansson gives all reals of a value one number of digits.  9 suit scores of float precision, but cut 1234567890.12; 17
 * make 565.20000000000005 of 565.2.  Here a real has `digits`, or the fewest that read back as the same double.  Below
 * a field "result", where cells of a database stand, it always has the latter.
 */
#ifndef DATA_UTIL_JSON_TEXT_H
#define DATA_UTIL_JSON_TEXT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

enum { JSON_EXACT = 0 }; /* the fewest digits that read back as the same double */

/* On one line where indent is 0.  False when the stream did not take all of it, or a string is no UTF-8. */
bool json_put(FILE *f, const json_t *value, int indent, int digits);
/* On one line; the caller frees.  NULL when a string is no UTF-8. */
char *json_text(const json_t *value, int digits);

#endif
