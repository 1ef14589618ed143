/*
 * dump.h - a database dump that lost lines on its way into print, as a script that SQLite takes.
 *
 * Published prediction files carry each database as CREATE TABLE and INSERT statements, and a filter that was meant for
 * DELETE statements removed every line with that word in it: "ON DELETE CASCADE" took columns, constraints and whole
 * tables along.  The INSERT statements were written afterwards and name every column, so what was lost comes back:
 *
 * - columns stand in the order of the INSERT statement; those that no CREATE defines are INTEGER when all their values
 *   are integers, else without a type;
 * - a table without rows gets the lost columns that its PRIMARY KEY, UNIQUE and FOREIGN KEY name;
 * - a table that no CREATE mentions is made from its INSERT.
 *
 * Of a definition only what a SELECT can see is kept: name, type, collation, PRIMARY KEY and UNIQUE.  Statements of any
 * other kind (views, indexes, triggers) are left out.
 */
#ifndef DATA_EXEC_DUMP_H
#define DATA_EXEC_DUMP_H

#include "kernels/base.h"

/* CREATE TABLE and INSERT statements in the caller's memory; NULL with EXIT_CODE_DATA and the line. */
char *dump_repair(const char *dump, struct error *err);

#endif
