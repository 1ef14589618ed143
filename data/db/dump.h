/*
 * dump.h - repair a database dump in which lines are missing.
 *
 * The published prediction files of "Disambiguate First, Parse Later" carry each database as CREATE TABLE and INSERT
 * statements. A filter meant to remove DELETE statements removed every line that contains that word, so "ON DELETE
 * CASCADE" took columns, constraints and whole tables with it. The INSERT statements name every column, so most of the
 * loss can be restored:
 *
 * - Columns have the order of the INSERT statement. A column without definition is INTEGER if all its values are
 * integers, else it has no type.
 * - A table without rows gets the lost columns that its PRIMARY KEY, UNIQUE and FOREIGN KEY constraints name.
 * - A table without CREATE statement is created from its INSERT statements.
 *
 * Only the parts of a definition that a SELECT can see are kept: name, type, collation, PRIMARY KEY and UNIQUE. Other
 * statements (views, indexes, triggers) are dropped.
 */
#ifndef DATA_DB_DUMP_H
#define DATA_DB_DUMP_H

#include "kernels/base.h"

/* Returns CREATE TABLE and INSERT statements; the caller frees them. Returns NULL with EXIT_CODE_DATA and the line. */
char *dump_repair(const char *dump, struct error *err);

#endif
