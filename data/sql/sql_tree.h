/*
 * sql_tree.h - the tree of a SELECT statement, for those who walk it; sql.h has what most need.
 *
 * Lists are linked through `next`.  Spans are byte offsets into the text that was parsed.  Fields under "resolved" are
 * filled by sql_resolve.
 */
#ifndef DATA_SQL_SQL_TREE_H
#define DATA_SQL_SQL_TREE_H

#include "data/sql/sql.h"
#include "data/sql/sql_expr.h"

enum sql_join { SQL_JOIN_COMMA, SQL_JOIN_INNER, SQL_JOIN_CROSS, SQL_JOIN_LEFT, SQL_JOIN_RIGHT, SQL_JOIN_FULL };
enum sql_source_kind { SQL_SOURCE_TABLE, SQL_SOURCE_FUNCTION, SQL_SOURCE_SELECT, SQL_SOURCE_GROUP };
enum sql_indexed { SQL_INDEX_ANY, SQL_INDEX_NAMED, SQL_INDEX_NONE };

/* A column that a derived table, CTE or function offers. */
struct sql_output {
    const char *name;
    const char *printed; /* the same once the text is canonical: an expression without alias is named by its text */
    int column;          /* the schema's column that it only passes on, or -1 */
    bool named;          /* by an alias, or out of a * : ORDER BY looks for these first */
    bool hidden;         /* a function's own, which * leaves out */
};

struct sql_source {
    enum sql_source_kind kind;
    enum sql_join join; /* how it hangs on what stands before it */
    bool natural;
    struct sql_name schema, name, alias;
    enum sql_indexed indexed;
    struct sql_name index;
    struct sql_expr *arguments;
    struct sql_select *select;
    struct sql_source *group; /* ( a JOIN b ), of two and more */
    struct sql_expr *on;
    struct sql_name *columns; /* USING (...) */
    struct sql_span span;
    struct sql_source *next;
    struct sql_name *joined; /* resolved: the columns of USING or NATURAL */
    struct sql_cte *cte;     /* resolved: what the name means, if that */
    int table;               /* resolved: the schema's table, or -1 and the outputs below */
    struct sql_output *outputs;
    int n_outputs;
};

struct sql_result {
    struct sql_expr *expr; /* NULL for * and t.* */
    struct sql_name table; /* of t.* */
    struct sql_name alias;
    struct sql_span span;
    struct sql_result *next;
    int first_use, n_uses, n_outputs, level; /* while resolving: what it uses and gives, how deep it stands */
};

enum sql_set_op { SQL_FIRST_CORE, SQL_UNION, SQL_UNION_ALL, SQL_EXCEPT, SQL_INTERSECT };

/* ORDER BY and LIMIT; all NULL when there are none. */
struct sql_tail {
    struct sql_order *order;
    struct sql_expr *limit, *offset;
};

/* One SELECT or VALUES of a compound.  A tail before a set operator is something SQLite's grammar reads and SQLite then
 * refuses to run; Spider's gold queries have two of them. */
struct sql_core {
    enum sql_set_op op;    /* what joins it to those before it */
    struct sql_expr *rows; /* of VALUES: rows, also those of one value; NULL for SELECT */
    bool distinct;
    struct sql_result *results;
    struct sql_source *from;
    struct sql_expr *where, *group, *having;
    struct sql_window *windows;
    struct sql_tail tail; /* only when another core follows */
    struct sql_span span;
    struct sql_core *next;
};

enum sql_materialized { SQL_MATERIALIZED_DEFAULT, SQL_MATERIALIZED, SQL_NOT_MATERIALIZED };

struct sql_cte {
    struct sql_name name;
    struct sql_name *columns;
    enum sql_materialized materialized;
    struct sql_select *select;
    struct sql_cte *next;
    enum sql_cte_state { SQL_CTE_NEW, SQL_CTE_OPEN, SQL_CTE_RECURSIVE, SQL_CTE_DONE } state; /* while resolving */
    struct sql_output *outputs;                                                              /* resolved */
    int n_outputs;
};

struct sql_select {
    bool recursive;
    struct sql_cte *ctes;
    struct sql_core *cores;
    struct sql_tail tail;
    struct sql_span span;
};

struct sql_query {
    const char *text; /* a copy of what was parsed */
    struct sql_select *select;
};

#endif
