/*
 * sql_order.h - whether a statement decides the order of its rows.
 */
#ifndef DATA_SQL_SQL_ORDER_H
#define DATA_SQL_SQL_ORDER_H

#include "data/sql/sql.h"

/* 1 where the outermost SELECT or set operation has ORDER BY, else 0; the ORDER BY of a sub-query, a CTE or a window
 * decides nothing.  -1 with EXIT_CODE_DATA or EXIT_CODE_MEMORY, as of sql_parse; err may be NULL. */
int sql_ordered(const char *text, struct error *err);

#endif
