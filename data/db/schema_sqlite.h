/*
 * schema_sqlite.h - read the schema of a SQLite file: all tables that a SELECT can name.
 *
 * Views and virtual tables count as tables. SQLite's internal tables and the shadow tables of virtual tables do not.
 * Tables that SQLite cannot resolve are left out, such as views of missing tables, excessively nested views, and
 * virtual tables of missing modules. The columns are those of *, including generated ones.
 */
#ifndef DATA_DB_SCHEMA_SQLITE_H
#define DATA_DB_SCHEMA_SQLITE_H

#include "data/schema/schema.h"

/* Reads the schema of the file at path in a worker process; schema_db_id gives its name. `tell` logs omitted tables and
 * missing collations. Returns -1 with EXIT_CODE_DATA. */
int schema_set_open_sqlite(struct schema_set *s, const char *path, bool tell, struct error *err);
/* Returns the db_id of a SQLite file, which is its base name without the last extension. The caller frees it. */
char *schema_db_id(const char *path);

#endif
