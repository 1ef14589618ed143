/*
 * sql_function.h - the functions that SQLite 3.40 has: how many arguments each takes, and where it may stand.
 */
#ifndef DATA_SQL_SQL_FUNCTION_H
#define DATA_SQL_SQL_FUNCTION_H

#include "data/sql/sql_tree.h"

enum sql_function_kind {
    SQL_FUNCTION_SCALAR,
    SQL_FUNCTION_AGGREGATE, /* a window function too, with OVER */
    SQL_FUNCTION_WINDOW     /* with OVER alone */
};

struct sql_function {
    const char *name;
    int least, most; /* arguments */
    enum sql_function_kind kind;
};

/* The function of that name that takes so many arguments, or else any of that name; NULL when there is none. */
const struct sql_function *sql_function_find(const char *name, int n);
/* The same of a call; * is no argument. */
const struct sql_function *sql_function_of(const struct sql_expr *call);
int sql_count_list(const struct sql_expr *list);

#endif
