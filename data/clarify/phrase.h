/*
 * phrase.h - parts of a statement in words for people, with the natural names of the schema.
 *
 * The words follow the expression term by term.  A part without an exact wording, and a part that would be too long or
 * too deep to follow, appears as SQL in quotes.  So the words never say anything that the statement does not.  The
 * context's pool owns all texts.  No function fails.
 */
#ifndef DATA_CLARIFY_PHRASE_H
#define DATA_CLARIFY_PHRASE_H

#include "data/sql/sql_form.h"

struct phrase_scope; /* a SELECT, in which names are resolved */

struct phrase_context {
    const struct schema *schema;
    struct strings *pool;           /* owns the texts */
    const struct form_store *store; /* of the forms */
    bool exact;                     /* name the table of each column, whole lists, and join conditions */
    /* State of the phrase being made; zero at the start. */
    int depth, nesting; /* depth of sub-queries, and of the expression */
    bool brief;         /* omit the tables of columns, since there is only one */
    const struct phrase_scope *scope;
    int *left; /* budget of expressions */
};

/* "age of singer" */
const char *phrase_column(const struct phrase_context *p, int column);
/* "age of singer", "the average of age of singer", "the number of rows", "quantity times unit price" */
const char *phrase_operand(const struct phrase_context *p, const struct form_term *t);
/* "age of singer is more than 20"; with `boundary` also "(20 not included)". */
const char *phrase_condition(const struct phrase_context *p, const struct form_term *t, bool boundary);
/* The left side of a condition: "age of singer". */
const char *phrase_subject(const struct phrase_context *p, const struct form_term *t);
/* A constant, with quotes for people in place of those of SQL. */
const char *phrase_value(const struct phrase_context *p, const char *value);
/* Table number `which`, 0 or 1, of a pair: "singer" or "song" of "singer,song". */
const char *phrase_table(const struct phrase_context *p, const char *pair, int which);
/* Source of a column: "singer", or "the first singer" where the table occurs twice.  NULL for a sub-query of several
 * tables. */
const char *phrase_records(const struct phrase_context *p, const struct form_term *t);
/* The condition of an outer join, or a whole FROM clause that is a chain of joins. */
const char *phrase_matching(const struct phrase_context *p, const struct form *form, const struct form_term *t);
/* "name of singer, age of singer"; long lists and whole tables are abbreviated. */
const char *phrase_outputs(const struct phrase_context *p, const struct form *form);
const char *phrase_tables(const struct phrase_context *p, const struct form *form);
/* "country of singer"; "" without GROUP BY. */
const char *phrase_groups(const struct phrase_context *p, const struct form *form);
/* "largest first, empty ones before all" */
const char *phrase_direction(const struct phrase_context *p, const struct form_term *t);
/* "the first 3" */
const char *phrase_limit(const struct phrase_context *p, const char *limit);
/* The set operations of a compound; "" for a plain SELECT. */
const char *phrase_sets(const struct phrase_context *p, const struct form *form);
/* The whole statement, with semicolons between clauses. */
const char *phrase_query(const struct phrase_context *p, const struct form *form);
/* The end of a, from the list item on in which it first differs from b.  The texts must differ. */
const char *phrase_difference(const struct phrase_context *p, const char *a, const char *b);
/* The statement as SQL. */
const char *phrase_sql(const struct phrase_context *p, const struct form *form);

#endif
