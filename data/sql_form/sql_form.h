/*
 * sql_form.h - the canonical form of a statement: what it says, clause by clause, without what only its writer chose.
 *
 * Two statements of one form give the same rows on every database of the schema, up to what SQL leaves open: the order
 * that ORDER BY does not decide, the row that stands for a group or for equal rows, the order of additions.  A LIMIT
 * without ORDER BY takes the first rows, so the order of its tables counts.  Names of results do not count.
 *
 * The rules are those of SQLite's datatype3.html, lang_expr.html and lang_select.html.  Each rewriting is made only
 * where it is proved under the types and collations of the schema; what a schema does not tell may be anything.  A
 * tables.json names no collation, which is BINARY then.
 *
 *   rewriting                                   condition
 *   letter case and quotes of names             none
 *   aliases of tables and results               none: a name stands for its table or expression
 *   * and t.* for their columns                 none
 *   the spelling of a number (007, 1e2, .50)    equal as literals; a real number has at most 15 digits
 *   TRUE for 1, FALSE for 0                     not on the right of IS, which asks for truth
 *   + before a constant                         none
 *   2013.0 for 2013 beside a comparison or IN   the other operand has not TEXT affinity, and it is known
 *   '2013' for 2013 likewise                    the other operand is a column of numbers; digits and one point at most
 *   x = 1 for 1 = x, x > 1 for 1 < x            a constant has neither affinity nor collation
 *   a = b for b = a, likewise <, IS             one collation, whichever stands on the left
 *   a + b for b + a, likewise *                 no COLLATE within
 *   x >= a AND x <= b for BETWEEN               none; NOT BETWEEN is the OR of the opposites
 *   NOT folded into =, <, IS, IN, LIKE          none: NULL stays NULL
 *   x for NOT NOT x                            as a condition, not as a value
 *   order and repetition of AND's operands      none, likewise OR
 *   x IN (1, 2) for x = 1 OR x = 2              constants alone; NOT IN (1) is <> 1
 *   order and repetition in IN lists            none; constants as they compare
 *   ON, USING, NATURAL, WHERE of inner joins    none; within RIGHT and FULL joins ON and USING stay as written
 *   order of tables, joins and groups           no RIGHT or FULL join, no LEFT one with a group of tables
 *   common table expressions for sub-queries    they do not name themselves
 *   count(1) for count(*)                       a number, without DISTINCT
 *   a number or alias in GROUP BY, ORDER BY     none; a COLLATE around it stays
 *   OFFSET 0, LIMIT -1, ASC left out            none
 *   order of UNION ALL's arms                   no LIMIT without ORDER BY; sorted results are BINARY
 *   order of UNION's and INTERSECT's arms       equal results are the same bytes: BINARY texts, whole numbers
 *
 * Texts of terms are no SQL: a column is "table.column", the second source of one table "table#2", an output of a
 * derived table a number.  Terms of two forms can be compared one by one.  Beside its text each term has the expression
 * that it came from, for those who put it into words.
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
    bool binary;        /* the results are compared and sorted byte by byte */
    bool exact;         /* results that compare as equal are the same to the byte */
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
