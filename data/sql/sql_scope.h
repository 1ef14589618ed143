/*
 * sql_scope.h - what one FROM clause offers, and where a name leads in it.
 */
#ifndef DATA_SQL_SQL_SCOPE_H
#define DATA_SQL_SQL_SCOPE_H

#include "data/sql/sql_resolve.h"

/* What a source offers; a group what * would show of it. */
int sql_source_size(const struct sql_resolver *r, const struct sql_source *s);
struct sql_output sql_source_output(const struct sql_resolver *r, const struct sql_source *s, int i);
/* The alias, or the table's name. */
const char *sql_source_name(const struct sql_source *s);
/* The first source of that name or alias behind `after` (NULL: of all), in groups too but not a group itself; NULL when
 * there is none. */
struct sql_source *sql_find_source(struct sql_source *list, const char *table, struct sql_source *after);

/* Calls fn for every column that * covers in a FROM clause, or t.* when table is given: once for what USING joins.
 * Returns how many sources there were, or -1. */
typedef int sql_column_fn(void *context, struct sql_output column);
int sql_each_column(struct sql_resolver *r, struct sql_source *list, const char *table, sql_column_fn *fn,
                    void *context);

/* Where a name leads in one FROM clause. */
struct sql_match {
    struct sql_source *source;
    struct sql_output column;
    int count;                 /* 0: nowhere; 2 and more: ambiguous */
    struct sql_source *second; /* another one when ambiguous */
};
/* schema and table may be NULL. */
void sql_find_column(struct sql_resolver *r, struct sql_source *list, const struct sql_name *schema,
                     const struct sql_name *table, const char *name, struct sql_match *m);
/* "T1 (singer), T2 (song)" */
void sql_list_sources(char *text, size_t size, const struct sql_source *list);

#endif
