/*
 * sql_exchange.h - exchange one schema element in a statement for another. It derives the second interpretation of a
 * question from the first one.
 *
 * - Columns of the same table: the name changes.
 * - Tables: the name and all column names change. Each column needs a column of the same name in the other table.
 * - Columns of different tables: the other table is joined, unless it is already there. A table that was joined only
 * for the old column is removed.
 *
 * Tables are joined by a foreign key, else by a whole primary key with matching names, else by the only common column
 * name. Several foreign keys between two tables must form one composite key. The result may make no sense; the caller
 * checks it by execution.
 */
#ifndef DATA_SYNTH_SQL_EXCHANGE_H
#define DATA_SYNTH_SQL_EXCHANGE_H

#include "data/sql/sql.h"

/* Elements are numbered like the nodes of a schema graph: tables first, then columns. Returns the canonical text in the
 * arena; earlier allocations stay valid. Returns NULL with EXIT_CODE_DATA if the statement is invalid, does not use
 * `from`, already uses `to`, or cannot be converted. */
const char *sql_exchange(struct arena *a, const char *sql, const struct schema *s, int from, int to, struct error *err);

#endif
