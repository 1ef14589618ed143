/*
 * explain.h - SQLite's own opinion of a statement, for tests of the parser: the program it compiles it to.
 */
#ifndef TESTS_EXPLAIN_H
#define TESTS_EXPLAIN_H

#include "data/schema/schema.h"

#include <sqlite3.h>

/* A file, read-only; or a new database in memory when path is NULL, with every statement of `script` run. */
sqlite3 *explain_open(const char *path, const char *script);
/* The rows of EXPLAIN, or SQLite's message when it refuses the statement: *good says which.  The caller frees. */
char *explain(sqlite3 *db, const char *sql, bool *good);
/* The schema of a database in memory, read from the file that `dir` then holds. */
void explain_schema(struct schema_set *s, sqlite3 *db, const char *dir);

#endif
