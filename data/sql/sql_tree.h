/*
 * sql_tree.h - the syntax tree of a SELECT statement. sql.h is enough to parse, resolve and print.
 *
 * Lists are linked through `next`. Spans are byte offsets into the parsed text. sql_resolve fills the fields marked
 * "resolved".
 */
#ifndef DATA_SQL_SQL_TREE_H
#define DATA_SQL_SQL_TREE_H

#include "data/sql/sql.h"
#include <stdbool.h>

struct sql_span {
    int begin, end;
};

/* A name without its quotes. */
struct sql_name {
    const char *text; /* NULL if not given */
    char quote;       /* quote character: 0, '"', '`', '[' or '\'' */
    struct sql_span span;
    struct sql_name *next;
};

/* Ordered by precedence, lowest first; see sql_op_level. */
/* clang-format off */
enum sql_op {
    SQL_OR, SQL_AND, SQL_NOT,
    SQL_EQUAL, SQL_NOT_EQUAL, SQL_IS, SQL_IS_NOT, SQL_IS_DISTINCT, SQL_IS_NOT_DISTINCT,
    SQL_LIKE, SQL_GLOB, SQL_REGEXP, SQL_MATCH,
    SQL_LESS, SQL_LESS_EQUAL, SQL_GREATER, SQL_GREATER_EQUAL,
    SQL_BIT_AND, SQL_BIT_OR, SQL_SHIFT_LEFT, SQL_SHIFT_RIGHT,
    SQL_ADD, SQL_SUBTRACT, SQL_MULTIPLY, SQL_DIVIDE, SQL_REMAINDER,
    SQL_CONCAT, SQL_ARROW, SQL_ARROW_TEXT, SQL_COLLATE,
    SQL_MINUS, SQL_PLUS, SQL_BIT_NOT
};
/* clang-format on */

/* Returns the precedence of an operator, from 1 for OR to 12 for unary minus. */
int sql_op_level(enum sql_op op);

enum sql_expr_kind {
    SQL_EXPR_LITERAL,   /* number, blob, NULL, TRUE, CURRENT_DATE; `text` is its printed form */
    SQL_EXPR_STRING,    /* `text` is its value */
    SQL_EXPR_PARAMETER, /* `text` as written */
    SQL_EXPR_COLUMN,
    SQL_EXPR_UNARY,   /* op left */
    SQL_EXPR_BINARY,  /* left op right; `third` is the escape character of LIKE */
    SQL_EXPR_BETWEEN, /* left BETWEEN right AND third */
    SQL_EXPR_IN,      /* left IN (list), (select) or a table: `source` */
    SQL_EXPR_CASE,    /* left: operand or NULL; list: WHEN, THEN, WHEN, THEN ...; third: ELSE or NULL */
    SQL_EXPR_CAST,    /* left AS text */
    SQL_EXPR_COLLATE, /* left COLLATE name */
    SQL_EXPR_CALL,    /* name(list) or name(*) */
    SQL_EXPR_EXISTS,
    SQL_EXPR_SELECT,
    SQL_EXPR_ROW /* (list) of two or more values */
};

struct sql_expr {
    enum sql_expr_kind kind;
    enum sql_op op;
    bool negated;        /* NOT LIKE, NOT BETWEEN, NOT IN */
    bool star, distinct; /* of a call */
    struct sql_span span;
    struct sql_expr *next; /* in a list */
    const char *text;
    struct sql_name name;            /* of a column, function or collation */
    struct sql_name *schema, *table; /* qualifiers of a column; NULL if not written */
    struct sql_expr *left, *right, *third, *list;
    struct sql_select *select;
    struct sql_source *source; /* the table of IN; resolved: the source of a column */
    struct sql_expr *filter;   /* of a call */
    struct sql_window *over;   /* of a call; a window with only a base is OVER name */
    int column; /* resolved: the schema's column, also through derived tables; -1 if none, and for rowid */
};

enum sql_direction { SQL_ASCENDING, SQL_DESCENDING };
enum sql_nulls { SQL_NULLS_DEFAULT, SQL_NULLS_FIRST, SQL_NULLS_LAST };

struct sql_order {
    struct sql_expr *expr;
    enum sql_direction direction;
    enum sql_nulls nulls;
    struct sql_order *next;
};

enum sql_frame_unit { SQL_NO_FRAME, SQL_RANGE, SQL_ROWS, SQL_GROUPS };
enum sql_bound_kind { SQL_UNBOUNDED_PRECEDING, SQL_PRECEDING, SQL_CURRENT_ROW, SQL_FOLLOWING, SQL_UNBOUNDED_FOLLOWING };
enum sql_exclude {
    SQL_EXCLUDE_NONE,
    SQL_EXCLUDE_NO_OTHERS,
    SQL_EXCLUDE_CURRENT_ROW,
    SQL_EXCLUDE_GROUP,
    SQL_EXCLUDE_TIES
};

struct sql_bound {
    enum sql_bound_kind kind;
    struct sql_expr *expr; /* of PRECEDING and FOLLOWING */
};

struct sql_window {
    struct sql_name name; /* in a WINDOW clause */
    struct sql_name base;
    bool bare; /* OVER base, without parentheses */
    struct sql_expr *partition;
    struct sql_order *order;
    enum sql_frame_unit unit;
    bool between;
    struct sql_bound start, end;
    enum sql_exclude exclude;
    struct sql_window *next;
    bool used; /* during resolution: used by an OVER clause or by a used window */
};

enum sql_join { SQL_JOIN_COMMA, SQL_JOIN_INNER, SQL_JOIN_CROSS, SQL_JOIN_LEFT, SQL_JOIN_RIGHT, SQL_JOIN_FULL };
enum sql_source_kind { SQL_SOURCE_TABLE, SQL_SOURCE_FUNCTION, SQL_SOURCE_SELECT, SQL_SOURCE_GROUP };
enum sql_indexed { SQL_INDEX_ANY, SQL_INDEX_NAMED, SQL_INDEX_NONE };

/* A column that a derived table, CTE or function offers. */
struct sql_output {
    const char *name;
    const char *printed; /* its name in canonical text; an expression without alias is named by its text */
    int column;          /* the schema's column that it passes through, or -1 */
    bool named;          /* by an alias or through *; ORDER BY prefers these */
    bool hidden;         /* an argument column of a function, which * skips */
};

struct sql_source {
    enum sql_source_kind kind;
    enum sql_join join; /* the join with the preceding source */
    bool natural;
    struct sql_name schema, name, alias;
    enum sql_indexed indexed;
    struct sql_name index;
    struct sql_expr *arguments;
    struct sql_select *select;
    struct sql_source *group; /* ( a JOIN b ) of two or more sources */
    struct sql_expr *on;
    struct sql_name *columns; /* USING (...) */
    struct sql_span span;
    struct sql_source *next;
    struct sql_name *joined; /* resolved: the columns of USING or NATURAL */
    struct sql_cte *cte;     /* resolved: the CTE that the name refers to */
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
    int first_use, n_uses, n_outputs, level; /* during resolution: its uses, its outputs and its nesting level */
};

enum sql_set_op { SQL_FIRST_CORE, SQL_UNION, SQL_UNION_ALL, SQL_EXCEPT, SQL_INTERSECT };

/* ORDER BY and LIMIT; all fields are NULL if there are none. */
struct sql_tail {
    struct sql_order *order;
    struct sql_expr *limit, *offset;
};

/* One SELECT or VALUES of a compound. SQLite parses a tail before a set operator, and then refuses to run the
 * statement. Two of Spider's gold queries have such a tail. */
struct sql_core {
    enum sql_set_op op;    /* set operator before this core */
    struct sql_expr *rows; /* rows of VALUES, even of one value; NULL for SELECT */
    bool distinct;
    struct sql_result *results;
    struct sql_source *from;
    struct sql_expr *where, *group, *having;
    struct sql_window *windows;
    struct sql_tail tail; /* only if another core follows */
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
    enum sql_cte_state { SQL_CTE_NEW, SQL_CTE_OPEN, SQL_CTE_RECURSIVE, SQL_CTE_DONE } state; /* during resolution */
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
    const char *text; /* a copy of the parsed text */
    struct sql_select *select;
};

#endif
