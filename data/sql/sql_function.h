/*
 * sql_function.h - the built-in functions of SQLite 3.40: their argument counts, and whether they are scalars,
 * aggregates or window functions.
 */
#ifndef DATA_SQL_SQL_FUNCTION_H
#define DATA_SQL_SQL_FUNCTION_H

#include "data/sql/sql_tree.h"

enum sql_function_kind {
    SQL_FUNCTION_SCALAR,
    SQL_FUNCTION_AGGREGATE, /* also a window function, with OVER */
    SQL_FUNCTION_WINDOW     /* only with OVER */
};

struct sql_function {
    const char *name;
    int min_arguments, max_arguments;
    enum sql_function_kind kind;
};

/* Returns the function of that name that takes n arguments, else any function of that name, or NULL. */
const struct sql_function *sql_function_find(const char *name, int n);
/* Returns the function that an expression calls, or NULL. A star is not an argument. */
const struct sql_function *sql_function_of(const struct sql_expr *call);
/* Returns the length of a list of expressions. */
int sql_count_list(const struct sql_expr *list);

#endif
