/*
 * sql_create.h - facts in stored CREATE statements that no pragma reports.
 *
 * SQLite has already accepted these statements, so the functions scan their tokens and need no parser.
 */
#ifndef DATA_SQL_SQL_CREATE_H
#define DATA_SQL_SQL_CREATE_H

#include "data/base/strings.h"
#include "data/schema/schema.h"

enum { SQL_CREATE_MODULE = 32 };

/* Returns the form of the table that a CREATE TABLE or CREATE VIRTUAL TABLE statement defines. module receives the name
 * of a virtual table's module; it is "" for other tables and for names that do not fit. */
enum table_form sql_create_form(const char *sql, char module[SQL_CREATE_MODULE]);
/* Sets the collations of the first n columns of a CREATE TABLE statement, in order. The default is COLLATION_BINARY. */
void sql_create_column_collations(enum column_collation *list, int n, const char *sql);
/* Adds the names that follow COLLATE. */
void sql_create_collations(struct strings *names, const char *sql);

#endif
