/*
 * ambiguate_impl.h - what the generators of ambiguate.h share.
 */
#ifndef DATA_AMBIGUATE_AMBIGUATE_IMPL_H
#define DATA_AMBIGUATE_AMBIGUATE_IMPL_H

#include "data/ambiguate/ambiguate.h"
#include "data/rewrite/sql_edit.h"

/* A new record of that kind with what the question gives; good until the next one. */
struct ambiguity *ambiguity_add(struct ambiguities *out, const struct ambiguate_question *q, int kind);
/* The words in one text, in normal form; out keeps it. */
const char *ambiguity_join(struct ambiguities *out, const char *const *words, int n);
/* The table's first primary key, or NULL. */
const char *ambiguity_key(const struct schema *s, int table);
/* By the exact name. */
int ambiguity_table(const struct schema *s, const char *name);
int ambiguity_column(const struct schema *s, int table, const char *name);

/* A question's query, parsed and resolved; all is borrowed but the arena. */
struct resolved_query {
    struct ambiguities *out;
    const struct ambiguate_question *q;
    struct arena arena;
    struct sql_query *query;
    struct sql_uses uses;
    bool natural; /* it has a NATURAL join, whose columns no text names */
};

/* -1 for a query that is not understood, which is counted as left out; either way the caller releases. */
int resolved_query_init(struct resolved_query *r, struct ambiguities *out, const struct ambiguate_question *q);
void resolved_query_release(struct resolved_query *r);
/* Whether a word of the query, in quotes or not, is the name: neither a string in single quotes nor a function. */
bool resolved_query_says(const struct resolved_query *r, const char *name);
/* Whether the source is the schema's table itself. */
bool resolved_source_is(const struct sql_source *s, int table);
void ambiguity_leave_out(struct ambiguities *out, enum ambiguity_fault fault);
/* The text, which is freed; out keeps it. */
const char *ambiguity_take(struct ambiguities *out, char *text);

/*
 * Checks the readings of a record: both run on empty tables of the altered schema, in which every word that was a
 * string or a name is so still.  Where there is a database, SQLite takes the query on it, the second reading of J gives
 * the query's rows, and that of P runs.  *fault says what is wrong, AMBIGUITY_FAULTS that nothing is.  s has every name
 * in lower case; path is that of the record's database or NULL.  -1 when statements cannot be run at all.
 */
int ambiguity_check(enum ambiguity_fault *fault, const struct ambiguity *a, const struct schema *s, const char *path,
                    struct error *err);

#endif
