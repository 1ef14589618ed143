/*
 * sql_count.h - numbers of functions and joins in a statement.
 */
#ifndef DATA_SQL_SQL_COUNT_H
#define DATA_SQL_SQL_COUNT_H

#include "data/sql/sql.h"

struct sql_counts {
    int functions; /* calls of functions and aggregates */
    int joins;     /* of any kind, commas between tables included */
};

/* Counts in the whole statement, sub-queries included.  The tree need not be resolved. */
struct sql_counts sql_count(const struct sql_query *q);

#endif
