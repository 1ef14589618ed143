/*
 * loose_json.h - reads JSON, and the almost-JSON that language models write.
 *
 * Tolerates single, triple and typographic quotes, line ends and quotes inside strings, wrong commas at line ends,
 * unquoted field names and comments. The complete part of a truncated text counts.
 */
#ifndef DATA_PROMPT_LOOSE_JSON_H
#define DATA_PROMPT_LOOSE_JSON_H

#include "data/prompt/statement.h"

#include <jansson.h>

/* Reads the list or object at the beginning of `text`; numbers and words become null. *used: bytes read, also with
 * NULL. NULL if the text begins with neither. `r` finds the end of a string of SQL that contains quotes: the string
 * ends with its statement. A new reference. */
json_t *loose_json(struct passage text, struct statement_reader *r, size_t *used);

#endif
