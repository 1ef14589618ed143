/*
 * sql_form.h - a canonical form that compares statements by meaning, clause by clause.
 *
 * Two statements of the same form return the same rows on every database of the schema, except where SQL leaves the
 * result open. SQL leaves open the order of rows that ORDER BY does not decide, the row that represents a group or
 * duplicates, and the order of additions. LIMIT without ORDER BY takes the first rows, so the order of its tables is
 * part of the form. Names of results are not part of it.
 *
 * The rules follow SQLite's datatype3.html, lang_expr.html and lang_select.html. Each rewriting applies only if it is
 * proved under the types and collations of the schema. A fact that the schema does not state is unknown. A tables.json
 * has no collations, so they are BINARY there.
 *
 *   rewriting                                   condition
 * - letter case and quotes of names             none
 * - aliases of tables and results               none: a name stands for its table or expression
 * - columns for * and t.*                       none
 * - the spelling of a number (007, 1e2, .50)    equal as literals; a real number has at most 15 digits
 * - TRUE for 1, FALSE for 0                     not on the right of IS, which then tests for truth
 * - + before a constant                         none
 * - 2013.0 for 2013 beside a comparison or IN   the affinity of the other operand is known and is not TEXT
 * - '2013' for 2013, likewise                   the other operand is a column of numbers; digits and at most one point
 * - x = 1 for 1 = x, x > 1 for 1 < x            a constant has neither affinity nor collation
 * - a = b for b = a, likewise < and IS          both orders have the same collation
 * - a + b for b + a, likewise *                 no COLLATE in the operands
 * - x >= a AND x <= b for BETWEEN               none; NOT BETWEEN is the OR of the opposites
 * - NOT folded into =, <, IS, IN, LIKE          none: NULL stays NULL
 * - x for NOT NOT x                             as a condition, not as a value
 * - order and duplicates of AND's operands      none, likewise OR
 * - x IN (1, 2) for x = 1 OR x = 2              only constants; NOT IN (1) is <> 1
 * - order and duplicates in IN lists            none; by the value that is compared
 * - ON, USING, NATURAL, WHERE of inner joins    none; within RIGHT and FULL joins ON and USING are kept
 * - order of tables, joins and groups           no RIGHT or FULL join, no LEFT join with a group of tables
 * - sub-queries for CTEs                        the CTE is not recursive
 * - count(1) for count(*)                       a number, without DISTINCT
 * - a number or alias in GROUP BY, ORDER BY     none; a COLLATE around it is kept
 * - OFFSET 0, LIMIT -1, ASC dropped             none
 * - order of UNION ALL's operands               no LIMIT without ORDER BY; sorted results are BINARY
 * - order of UNION's and INTERSECT's operands   equal results have equal bytes: BINARY texts, whole numbers
 *
 * The texts of terms are not SQL: a column is "table.column", a second source of the same table is "table#2", and an
 * output of a derived table is a number. The terms of two forms can be compared one by one. Each term also has the
 * expression that it was made from, so that callers can phrase it.
 */
#ifndef DATA_SQL_SQL_FORM_H
#define DATA_SQL_SQL_FORM_H

#include "data/base/strings.h"
#include "data/sql/sql_tree.h"

enum { FORM_MAX_BYTES = 1 << 20 }; /* bytes of canonical text of a statement; repeated sub-queries count each time */

/* One result, table, join, condition, GROUP BY term or ORDER BY term. */
struct form_term {
    const char *text;     /* the complete text */
    const char *head;     /* its column or expression, or the two tables of a join */
    const char *function; /* the aggregate around the head, such as "count distinct", or "" */
    const char *op;    /* operator of a condition; "inner" or "left" of a join; "asc" or "desc" of an order; else "" */
    const char *value; /* right operand of a condition, or condition of a join; else "" */
    int column;        /* the schema's column in the head, or -1 */
    int other;         /* the schema's column in the value, or -1 */
    int table;         /* table of a FROM or outer join term, or -1 */
    bool constant;     /* the value consists of constants */
    struct form *sub;  /* the form of a sub-query, or NULL */
    /* The source of the term: an expression, a condition rewritten like the text, or the ON of an outer join. */
    const struct sql_expr *expr;
    const struct sql_core *core; /* the SELECT in whose scope the expression is */
};

struct form_list {
    struct form_term *items;
    int n, cap;
};

enum form_clause { FORM_SELECT, FORM_FROM, FORM_JOIN, FORM_WHERE, FORM_GROUP, FORM_HAVING, FORM_ORDER, FORM_CLAUSES };

/* One SELECT of a compound. */
struct form {
    enum sql_set_op op; /* set operator before this SELECT */
    bool distinct;
    bool any_where, any_having; /* the conditions are joined by OR, not by AND */
    struct form_list lists[FORM_CLAUSES];
    const char *limit; /* "3", "3 after 2" or NULL; the first form of a compound has its limit and order */
    struct form *next;
    const char *text;   /* canonical text: of the whole compound in the first form, else of this SELECT */
    bool binary;        /* results are compared and sorted byte by byte */
    bool exact;         /* results that compare as equal have equal bytes */
    struct form *older; /* list in the store */
    const struct sql_core *core;
    const struct sql_select *select; /* the SELECT that contains the core */
};

struct form_node; /* a copied expression */

/* Owns forms and their texts. A zeroed struct is an empty store. */
struct form_store {
    struct strings pool;
    struct form *newest;
    struct form_node *nodes;
};
void form_store_release(struct form_store *s);

/* Returns the form of a statement, owned by the store. Returns NULL with EXIT_CODE_DATA if the statement cannot be
 * parsed or its form is too large, or with EXIT_CODE_MEMORY if the arena is full. The arena holds the trees of all
 * forms of one store; the first call resets it. */
struct form *form_of_text(struct form_store *store, const char *sql, const struct schema *s, struct arena *trees,
                          struct error *err);
/* Returns the form of a SELECT inside one of the statements, including CTEs, or NULL. */
const struct form *form_find(const struct form_store *store, const struct sql_select *select);

#endif
