/*
 * schema_sqlite.h - the schema of a SQLite file: whatever a SELECT can name is a table.
 *
 * Views are tables, and virtual tables; SQLite's own are not, nor those in which a virtual table keeps its rows.  What
 * SQLite cannot resolve is left out: a view of what is not there, or one that stands on itself so often that it would
 * take for ever, a virtual table whose module is missing.  The columns are those of *, generated ones among them.
 */
#ifndef DATA_EXEC_SCHEMA_SQLITE_H
#define DATA_EXEC_SCHEMA_SQLITE_H

#include "data/schema/schema.h"

/* The file at path, read in a worker and named by schema_db_id.  tell: what is left out goes to the log, and collations
 * that are missing.  -1 with EXIT_CODE_DATA. */
int schema_set_open_sqlite(struct schema_set *s, const char *path, bool tell, struct error *err);
/* The db_id of a SQLite file: its base name without its last extension.  The caller frees it. */
char *schema_db_id(const char *path);

#endif
