/*
 * sql_walk.h - visits every part of a statement's tree: sub-queries, derived tables and CTEs included.
 */
#ifndef DATA_REWRITE_SQL_WALK_H
#define DATA_REWRITE_SQL_WALK_H

#include "data/sql/sql_tree.h"

/* Each function may be NULL.  `core` is the SELECT in which the part stands: NULL in ORDER BY and LIMIT of a compound.
 * An expression is visited behind its operands. */
struct sql_walker {
    void *context;
    void (*expr)(void *context, struct sql_expr *e, struct sql_core *core);
    void (*source)(void *context, struct sql_source *s, struct sql_core *core);
    void (*core)(void *context, struct sql_core *core, struct sql_select *select); /* before its parts */
    void (*cte)(void *context, struct sql_cte *c);
};

/* The depth of the recursion is that of the tree, which the parser bounds. */
void sql_walk(const struct sql_walker *w, struct sql_select *select);
/* One SELECT of those, with the ORDER BY and LIMIT behind it where it is the only one. */
void sql_walk_core(const struct sql_walker *w, struct sql_core *core, struct sql_select *select);

#endif
