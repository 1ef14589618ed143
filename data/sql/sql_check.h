/*
 * sql_check.h - the checks that SQLite makes after parsing and name resolution.
 *
 * It checks function names and argument counts, the places of aggregates and windows, the number of columns of rows
 * and sub-queries, and ORDER BY and LIMIT of set operations. The checks are separate from sql_resolve because
 * published gold statements do not always pass them.
 */
#ifndef DATA_SQL_SQL_CHECK_H
#define DATA_SQL_SQL_CHECK_H

#include "data/sql/sql_tree.h"

/* Checks a resolved statement. Returns -1 with EXIT_CODE_DATA; the message has line, column and the expected form. */
int sql_check(const struct sql_query *q, const struct schema *s, struct error *err);

#endif
