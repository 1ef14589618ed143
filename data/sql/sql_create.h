/*
 * sql_create.h - what the CREATE statements that a database keeps say, and no pragma tells.
 *
 * They have been through SQLite already, so their words are enough: nothing is parsed.
 */
#ifndef DATA_SQL_SQL_CREATE_H
#define DATA_SQL_SQL_CREATE_H

#include "data/schema/schema.h"
#include "data/util/strings.h"

enum { SQL_CREATE_MODULE = 32 };

/* Of a CREATE TABLE or CREATE VIRTUAL TABLE, with the module of the latter; "" of others, and of a longer name. */
enum table_form sql_create_form(const char *sql, char module[SQL_CREATE_MODULE]);
/* What the first n columns of a CREATE TABLE compare and sort by, in order: COLLATION_BINARY where nothing is said. */
void sql_create_column_collations(enum column_collation *list, int n, const char *sql);
/* Adds the names that stand behind COLLATE. */
void sql_create_collations(struct strings *names, const char *sql);

#endif
