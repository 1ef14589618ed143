/*
 * sql_check.h - what SQLite refuses of a statement that parses and whose names are known.
 *
 * Functions that there are, with as many arguments as they take; aggregates and windows where they may stand; as many
 * columns as there must be; ORDER BY and LIMIT behind a set operation alone.  Apart from sql_resolve, since published
 * statements are not always held to it: who reads them for their meaning does not ask.
 */
#ifndef DATA_SQL_SQL_CHECK_H
#define DATA_SQL_SQL_CHECK_H

#include "data/sql/sql_tree.h"

/* A resolved statement; -1 with EXIT_CODE_DATA: line, column, what was expected. */
int sql_check(const struct sql_query *q, const struct schema *s, struct error *err);

#endif
