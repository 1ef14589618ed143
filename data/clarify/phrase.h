/*
 * phrase.h - parts of a statement in words for people: the schema's natural names, and what is certain.
 *
 * Words come from the expression, term by term.  What has no certain wording, and what would be too long or too deep to
 * follow, stands as SQL in quotes; nothing is said that is not so.
 */
#ifndef DATA_CLARIFY_PHRASE_H
#define DATA_CLARIFY_PHRASE_H

#include "data/sql_form/sql_form.h"

struct phrase_scope; /* a SELECT whose names are read */

struct phrase_context {
    const struct schema *schema;
    struct strings *pool;           /* owns what comes back */
    const struct form_store *store; /* of the forms */
    bool exact;                     /* every column with its table, every list to its end, how tables are matched */
    /* While a phrase is made, zero to begin with. */
    int depth, nesting; /* of the sub-query at hand, of the expression */
    bool brief;         /* columns without their table, since there is but one */
    const struct phrase_scope *scope;
    int *left; /* expressions that may still be told */
};

/* "age of singer" */
const char *phrase_column(const struct phrase_context *p, int column);
/* "age of singer", "the average of age of singer", "the number of rows", "quantity times unit price" */
const char *phrase_operand(const struct phrase_context *p, const struct form_term *t);
/* "age of singer is more than 20"; boundary says whether the value itself counts: "(20 not included)". */
const char *phrase_condition(const struct phrase_context *p, const struct form_term *t, bool boundary);
/* What a condition is about: "age of singer". */
const char *phrase_subject(const struct phrase_context *p, const struct form_term *t);
/* A constant without the quotes of SQL, in those of people. */
const char *phrase_value(const struct phrase_context *p, const char *value);
/* "singer" and "song" of "singer,song"; which is 0 or 1. */
const char *phrase_table(const struct phrase_context *p, const char *pair, int which);
/* The records that a column is of: "singer", and "the first singer" where there are two; NULL for a list made of
 * several. */
const char *phrase_records(const struct phrase_context *p, const struct form_term *t);
/* How an outer join matches, or the whole of a FROM that is a chain of joins. */
const char *phrase_matching(const struct phrase_context *p, const struct form *form, const struct form_term *t);
/* "name of singer, age of singer"; long lists and whole tables are cut short. */
const char *phrase_outputs(const struct phrase_context *p, const struct form *form);
const char *phrase_tables(const struct phrase_context *p, const struct form *form);
/* "country of singer"; "" without. */
const char *phrase_groups(const struct phrase_context *p, const struct form *form);
/* "largest first, empty ones before all" */
const char *phrase_direction(const struct phrase_context *p, const struct form_term *t);
/* "the first 3" */
const char *phrase_limit(const struct phrase_context *p, const char *limit);
/* How results become one; "" for a statement that is no compound. */
const char *phrase_sets(const struct phrase_context *p, const struct form *form);
/* The whole of it, clauses parted by semicolons. */
const char *phrase_query(const struct phrase_context *p, const struct form *form);
/* Where a begins to differ from b, from the start of the item on; they differ. */
const char *phrase_difference(const struct phrase_context *p, const char *a, const char *b);
/* The statement itself. */
const char *phrase_sql(const struct phrase_context *p, const struct form *form);

#endif
