/*
 * sql_form.h - the canonical form of a statement: what it says, clause by clause, without what only its writer chose.
 *
 * Aliases, letter case, quotes, the order of conditions, of tables and of IN lists, join syntax, BETWEEN, parentheses
 * and the side on which a constant stands do not count; * stands for its columns.  Two statements of one form mean the
 * same, and the terms of two forms can be compared one by one.  Texts of terms are no SQL: a column is "table.column",
 * the second source of one table "table#2", an output of a derived table a number.  Beside its text each term has the
 * expression that it came from, for those who put it into words.
 */
#ifndef DATA_SQL_SQL_FORM_H
#define DATA_SQL_SQL_FORM_H

#include "data/sql/sql_tree.h"
#include "data/util/strings.h"

enum { FORM_MAX_BYTES = 1 << 20 }; /* of canonical text that one statement may need, sub-queries counted again */

/* One result, table, join, condition, group or order. */
struct form_term {
    const char *text;     /* all of it */
    const char *head;     /* the column or expression it is about, or the two tables of a join */
    const char *function; /* the aggregate around the head, "count distinct"; "" without */
    const char *op;       /* of a condition, "inner" and "left" of a join, "asc" and "desc" of an order; "" else */
    const char *value;    /* what a condition compares with, a join's condition; "" else */
    int column;           /* the schema's column that the head is, or -1 */
    int other;            /* likewise of the value */
    int table;            /* of FROM and of an outer join: the schema's table, or -1 */
    bool constant;        /* value is made of constants */
    struct form *sub;     /* the SELECT inside, or NULL */
    /* What it is made of: the expression; the condition, turned and folded as the text is; the ON of an outer join. */
    const struct sql_expr *expr;
    const struct sql_core *core; /* the SELECT whose names it has */
};

struct form_list {
    struct form_term *items;
    int n, cap;
};

enum form_clause { FORM_SELECT, FORM_FROM, FORM_JOIN, FORM_WHERE, FORM_GROUP, FORM_HAVING, FORM_ORDER, FORM_CLAUSES };

/* One SELECT of a compound. */
struct form {
    enum sql_set_op op; /* what joins it to those before it */
    bool distinct;
    bool any_where, any_having; /* one of the conditions is enough, rather than all */
    struct form_list lists[FORM_CLAUSES];
    const char *limit; /* "3", "3 after 2"; NULL without; of a compound the first form has it, and the order */
    struct form *next;
    const char *text;   /* canonical: of the first one the whole, of the others themselves */
    struct form *older; /* in the store */
    const struct sql_core *core;
    const struct sql_select *select; /* that the core is of */
};

struct form_node; /* an expression that is in no text as it is */

/* Owns forms and their texts.  A zeroed struct is ready. */
struct form_store {
    struct strings pool;
    struct form *newest;
    struct form_node *nodes;
};
void form_store_release(struct form_store *s);

/* The form of a statement, which belongs to the store; NULL with EXIT_CODE_DATA when it cannot be read or is too large,
 * with EXIT_CODE_MEMORY when the arena is full.  The arena keeps the trees of all forms of one store, and is emptied
 * for the first of them. */
struct form *form_of_text(struct form_store *store, const char *sql, const struct schema *s, struct arena *trees,
                          struct error *err);
/* Of a SELECT inside one of them, a common table expression's too; NULL when there is none. */
const struct form *form_find(const struct form_store *store, const struct sql_select *select);

#endif
