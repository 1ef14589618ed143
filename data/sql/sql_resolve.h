/*
 * sql_resolve.h - name resolution: the state and functions that sql_resolve.c and sql_scope.c share.
 *
 * A scope is the FROM clause of one SELECT, linked to the scopes around it. The resolver bounds its work, its
 * recursion depth and the number of uses, because a short untrusted statement can demand a lot of each.
 */
#ifndef DATA_SQL_SQL_RESOLVE_H
#define DATA_SQL_SQL_RESOLVE_H

#include "data/sql/sql_tree.h"

enum {
    SQL_MAX_SOURCES = 64,   /* in one FROM, as in SQLite */
    SQL_MAX_OUTPUTS = 2000, /* columns of one SELECT, as in SQLite */
    SQL_MAX_USES = 1 << 20,
    SQL_MAX_DEPTH = 2000,    /* recursion depth; CTEs can nest deeper than the text */
    SQL_SELECT_DEPTH = 4,    /* depth that a SELECT adds; an expression adds 1 */
    SQL_MAX_WORK = 200000000 /* name comparisons */
};

struct sql_resolver {
    struct arena *arena;
    const char *text;
    const struct schema *schema;
    struct sql_use *uses; /* on the heap until resolution ends */
    int n_uses, uses_cap;
    int depth;
    int64_t work;
    struct error *err;
};

/* The CTEs that are visible at a place. */
struct sql_with {
    struct sql_cte *ctes;
    const struct sql_with *outer;
    struct sql_scope *scope; /* around the SELECT of this WITH clause */
    int level;
};

struct sql_scope {
    struct sql_core *core;
    struct sql_scope *outer;
    const struct sql_with *with;
    bool aliases; /* results are resolved, so their aliases are visible */
    int level;    /* value for sql_use.depth */
};

/* Allocates zeroed memory. Returns NULL with an error if the arena is full. */
void *sql_take(struct sql_resolver *r, size_t count, size_t size);
/* Sets EXIT_CODE_DATA with the position and a formatted message. Returns -1. */
int sql_fail(struct sql_resolver *r, struct sql_span at, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Adds to the recursion depth. Returns -1 with an error at the limit. */
int sql_deeper(struct sql_resolver *r, int by, struct sql_span at);

/* Adds name comparisons. Returns -1 with an error at the limit. */
int sql_work(struct sql_resolver *r, int n, struct sql_span at);

/* Records a use of a schema element. Returns -1 with an error at the limit. */
int sql_use_add(struct sql_resolver *r, struct sql_use use);
/* Records the use of a column through an output of any source. Ignores columns that are not in the schema. */
int sql_use_column(struct sql_resolver *r, int column, enum sql_clause clause, int level, struct sql_span at);

/* Resolve the names in an expression, or in a list of expressions. */
int sql_resolve_expr(struct sql_resolver *r, struct sql_scope *s, struct sql_expr *e, enum sql_clause clause);
int sql_resolve_list(struct sql_resolver *r, struct sql_scope *s, struct sql_expr *list, enum sql_clause clause);
/* Replaces a name by its resolved spelling. The printer then quotes it only if it must. */
void sql_settle_name(struct sql_name *n, const char *text);
/* Returns the first result with that alias, or NULL. */
struct sql_result *sql_find_alias(const struct sql_core *core, const char *name);

struct sql_outputs {
    struct sql_output *list;
    int n;
};
/* Resolves a sub-query. cte is the CTE whose body it is, or NULL. Recursion in a CTE sees the outputs of its first
 * core. */
int sql_resolve_select(struct sql_resolver *r, struct sql_select *select, struct sql_scope *outer,
                       const struct sql_with *with, int level, struct sql_cte *cte, struct sql_outputs *outputs);
/* Returns the column number that an ORDER BY or GROUP BY term is, 0 if it is negative, -1 if the term is not a number.
 */
long sql_ordinal(const struct sql_expr *e);
/* Publishes the outputs of a CTE under the names of its column list. */
int sql_publish_cte(struct sql_resolver *r, struct sql_cte *c, const struct sql_outputs *outputs);
/* Resolves the body of a CTE on its first use. */
int sql_resolve_cte(struct sql_resolver *r, const struct sql_with *with, struct sql_cte *c);
/* Resolve a FROM clause in two steps. The first resolves tables, sub-queries, USING and NATURAL. The second resolves ON
 * and the arguments of functions, which can see aliases of results. */
int sql_resolve_tables(struct sql_resolver *r, struct sql_scope *s);
int sql_resolve_conditions(struct sql_resolver *r, struct sql_scope *s);
/* Resolves one source of FROM, or the table of `x IN table`. */
int sql_resolve_source(struct sql_resolver *r, struct sql_scope *s, struct sql_source *source, enum sql_clause clause,
                       int level);

#endif
