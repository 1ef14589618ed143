/*
 * sql_exchange.h - a statement that uses one element of the schema, said of another one: the other reading of a
 * detector's two alternatives.
 *
 * Between two columns of one table the name changes; between two tables the name and those of their columns, each of
 * which must have a namesake.  A column of another table is brought in by a join over the columns that connect the
 * two tables (a foreign key, else a whole primary key by its names, else the only name that both have), unless that
 * table is there already; a table that was joined for the sake of that column alone goes.  Of several foreign keys
 * between the two all must be one key of several columns.  Whether the result says anything sensible
 * is left to who runs it.
 */
#ifndef DATA_REWRITE_SQL_EXCHANGE_H
#define DATA_REWRITE_SQL_EXCHANGE_H

#include "data/sql/sql.h"

/* Elements are numbered as a schema graph's nodes: tables first, then columns.  The statement in canonical form, in the
 * arena, whose memory before the call stays.  NULL with EXIT_CODE_DATA where the statement cannot be read, does not use
 * `from`, uses `to` already, or cannot be said of it. */
const char *sql_exchange(struct arena *a, const char *sql, const struct schema *s, int from, int to, struct error *err);

#endif
