/*
 * sql_resolve.h - what the parts of name resolution share.
 *
 * A scope is one SELECT's FROM clause with those around it.  Work, depth and numbers are all bounded, since a short
 * hostile text can ask for very much of each.
 */
#ifndef DATA_SQL_SQL_RESOLVE_H
#define DATA_SQL_SQL_RESOLVE_H

#include "data/sql/sql_tree.h"

enum {
    SQL_MAX_SOURCES = 64,   /* in one FROM, as in SQLite */
    SQL_MAX_OUTPUTS = 2000, /* columns of one SELECT, as in SQLite */
    SQL_MAX_USES = 1 << 20,
    SQL_MAX_DEPTH = 2000,    /* of the recursion, which common table expressions can lengthen beyond the text's own */
    SQL_SELECT_DEPTH = 4,    /* what a SELECT counts in it, an expression being 1 */
    SQL_MAX_WORK = 200000000 /* names compared */
};

struct sql_resolver {
    struct arena *arena;
    const char *text;
    const struct schema *schema;
    struct sql_use *uses; /* on the heap until all is done */
    int n_uses, uses_cap;
    int depth;
    int64_t work;
    struct error *err;
};

/* The common table expressions that can be seen from a place. */
struct sql_with {
    struct sql_cte *ctes;
    const struct sql_with *outer;
    struct sql_scope *scope; /* around the SELECT that they stand before */
    int level;
};

struct sql_scope {
    struct sql_core *core;
    struct sql_scope *outer;
    const struct sql_with *with;
    bool aliases; /* results have been resolved: their aliases can be named */
    int level;    /* sql_use.depth */
};

/* Zeroed memory; NULL with an error when the arena is full. */
void *sql_take(struct sql_resolver *r, size_t count, size_t size);
int sql_fail(struct sql_resolver *r, struct sql_span at, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Counts the recursion; -1 when there has been enough of it. */
int sql_deeper(struct sql_resolver *r, int by, struct sql_span at);

/* Counts names compared; -1 when there have been too many. */
int sql_work(struct sql_resolver *r, int n, struct sql_span at);

int sql_use_add(struct sql_resolver *r, struct sql_use use);
/* A column through an output of any source: nothing when it is no schema's column. */
int sql_use_column(struct sql_resolver *r, int column, enum sql_clause clause, int level, struct sql_span at);

/* Resolves names in an expression, or in a list of them. */
int sql_resolve_expr(struct sql_resolver *r, struct sql_scope *s, struct sql_expr *e, enum sql_clause clause);
int sql_resolve_list(struct sql_resolver *r, struct sql_scope *s, struct sql_expr *list, enum sql_clause clause);
/* Once resolved, a name is quoted only because it must be. */
void sql_settle_name(struct sql_name *n, const char *text);
/* The first result whose alias that is, or NULL. */
struct sql_result *sql_find_alias(const struct sql_core *core, const char *name);

struct sql_outputs {
    struct sql_output *list;
    int n;
};
/* A sub-query.  cte: the expression whose body it is, or NULL; its outputs are there for recursion after the first
 * core. */
int sql_resolve_select(struct sql_resolver *r, struct sql_select *select, struct sql_scope *outer,
                       const struct sql_with *with, int level, struct sql_cte *cte, struct sql_outputs *outputs);
/* The whole number that an ORDER BY or GROUP BY term is, 0 when that is negative; -1 when it is none. */
long sql_ordinal(const struct sql_expr *e);
/* Makes a common table expression's outputs known, under the names of its column list. */
int sql_publish_cte(struct sql_resolver *r, struct sql_cte *c, const struct sql_outputs *outputs);
int sql_resolve_cte(struct sql_resolver *r, const struct sql_with *with, struct sql_cte *c);
/* The scope's FROM clause: tables, sub-queries, USING and NATURAL; then ON and the arguments of functions, where
 * aliases of results can be named. */
int sql_resolve_tables(struct sql_resolver *r, struct sql_scope *s);
int sql_resolve_conditions(struct sql_resolver *r, struct sql_scope *s);
/* The tables alone; also of x IN table. */
int sql_resolve_source(struct sql_resolver *r, struct sql_scope *s, struct sql_source *source, enum sql_clause clause,
                       int level);

#endif
