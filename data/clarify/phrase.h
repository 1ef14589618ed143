/*
 * phrase.h - parts of a statement in words for people: no SQL, the schema's natural names.
 */
#ifndef DATA_CLARIFY_PHRASE_H
#define DATA_CLARIFY_PHRASE_H

#include "data/sql/sql_form.h"

struct phrase_context {
    const struct schema *schema;
    struct strings *pool; /* owns what comes back */
    int depth;            /* of the sub-query at hand; 0 to begin with */
};

/* "age of singer" */
const char *phrase_column(const struct phrase_context *p, int column);
/* "age of singer", "the average of age of singer", "the number of rows" */
const char *phrase_operand(const struct phrase_context *p, const struct form_term *t);
/* "age of singer is more than 20"; boundary says whether the value itself counts: "(20 not included)". */
const char *phrase_condition(const struct phrase_context *p, const struct form_term *t, bool boundary);
/* A constant without the quotes of SQL, in those of people. */
const char *phrase_value(const struct phrase_context *p, const char *value);
/* "singer" and "song" of "singer,song"; which is 0 or 1. */
const char *phrase_table(const struct phrase_context *p, const char *pair, int which);
/* "name of singer, age of singer" */
const char *phrase_outputs(const struct phrase_context *p, const struct form *form);
const char *phrase_tables(const struct phrase_context *p, const struct form *form);
/* "country of singer"; "" without. */
const char *phrase_groups(const struct phrase_context *p, const struct form *form);
/* "the first 3" */
const char *phrase_limit(const struct phrase_context *p, const char *limit);
/* How two results become one. */
const char *phrase_set(enum sql_set_op op);
/* The whole of it, clauses parted by semicolons. */
const char *phrase_query(const struct phrase_context *p, const struct form *form);

#endif
