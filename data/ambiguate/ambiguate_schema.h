/*
 * ambiguate_schema.h - the altered schema of an AmbiQT record as one line of text, with sample values and without.
 *
 * "table : column (v1, v2, v3), column (...) | table : ...": columns of every table in random order, tables too for
 * kinds T and P.  The form without values is the other with all between parentheses struck out, which leaves the blanks
 * before commas that published strings have, and tails of values that hold parentheses themselves.
 */
#ifndef DATA_AMBIGUATE_AMBIGUATE_SCHEMA_H
#define DATA_AMBIGUATE_AMBIGUATE_SCHEMA_H

#include "data/ambiguate/ambiguate.h"
#include "data/exec/column_values.h"
#include "kernels/rng.h"

/* Both texts are the caller's to free.  s has every name in lower case; values may be NULL: then the parentheses are
 * empty. */
struct schema_texts {
    char *with_content, *without_content;
};
struct schema_texts ambiguate_schema_texts(const struct ambiguity *a, const struct schema *s,
                                           const struct column_values *values, struct rng *rng);

#endif
