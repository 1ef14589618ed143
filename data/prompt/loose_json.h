/*
 * loose_json.h - lists and objects as language models write them: JSON, or almost.
 *
 * Taken beside JSON: single, triple and typographic quotes, line ends and quotes within strings, commas too many or
 * missing at a line's end, bare names as fields, comments, and the text breaking off, when what was whole until then
 * counts.
 */
#ifndef DATA_PROMPT_LOOSE_JSON_H
#define DATA_PROMPT_LOOSE_JSON_H

#include "data/prompt/statement.h"

#include <jansson.h>

/*
 * The list or object that `text` begins with, its numbers and words as null; *used: bytes that were read, with NULL
 * too.  NULL where neither begins here.  `r` decides where a string with quotes in it ends that may be SQL: where it is
 * a whole statement.  A new reference.
 */
json_t *loose_json(struct passage text, struct statement_reader *r, size_t *used);

#endif
