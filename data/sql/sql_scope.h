/*
 * sql_scope.h - the columns that a FROM clause offers, and lookup of names in it.
 */
#ifndef DATA_SQL_SQL_SCOPE_H
#define DATA_SQL_SQL_SCOPE_H

#include "data/sql/sql_resolve.h"

/* The number of columns of a source, and its i-th column. A group has the columns that * would show. */
int sql_source_size(const struct sql_resolver *r, const struct sql_source *s);
struct sql_output sql_source_output(const struct sql_resolver *r, const struct sql_source *s, int i);
/* Returns the alias of a source, or its table name. */
const char *sql_source_name(const struct sql_source *s);
/* Returns the first source with that name or alias after `after`, or of all if `after` is NULL. Searches inside groups;
 * never returns a group. Returns NULL if there is none. */
struct sql_source *sql_find_source(struct sql_source *list, const char *table, struct sql_source *after);

/* Calls fn for every column that * covers in a FROM clause, or t.* if table is given. Columns joined by USING are
 * visited once. Returns the number of sources, or -1. */
typedef int sql_column_fn(void *context, struct sql_output column);
int sql_each_column(struct sql_resolver *r, struct sql_source *list, const char *table, sql_column_fn *fn,
                    void *context);

/* The result of a lookup in one FROM clause. */
struct sql_match {
    struct sql_source *source;
    struct sql_output column;
    int count;                 /* 0: not found; 2 or more: ambiguous */
    struct sql_source *second; /* another source if ambiguous */
};
/* Looks up a column. schema and table may be NULL. */
void sql_find_column(struct sql_resolver *r, struct sql_source *list, const struct sql_name *schema,
                     const struct sql_name *table, const char *name, struct sql_match *m);
/* Appends a list such as "T1 (singer), T2 (song)". */
void sql_list_sources(char *text, size_t size, const struct sql_source *list);

#endif
