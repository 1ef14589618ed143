/*
 * db_path.h - the databases that --db names: one SQLite file, or a folder of them.
 *
 * In a folder the database of a db_id is DB/ID.EXT or DB/ID/ID.EXT, where EXT is sqlite, db or sqlite3.  A db_id names
 * a file there and nothing outside: it has no slash and does not begin with a dot.  A file is the one database of that
 * base name, whatever its ending: records that name none are about it, and those that name another are errors.
 */
#ifndef DATA_EXEC_DB_PATH_H
#define DATA_EXEC_DB_PATH_H

#include "data/util/json.h"

/* To be called before records are read: -1 with EXIT_CODE_DATA when there is neither a folder nor a SQLite file; NULL
 * is no database at all. */
int db_path_check(const char *db, struct error *err);
bool db_path_is_folder(const char *db);
/* Gives a record without db_id that of the one file; does nothing with a folder or NULL. */
void db_path_name(const char *db, json_t *record);
/* The file of a db_id; the caller frees.  NULL with EXIT_CODE_DATA when there is none, or more than one. */
char *db_path(const char *db, const char *db_id, struct error *err);

/* An array of db_ids in the order of their bytes, a new reference.  A folder has those whose one file begins as a
 * SQLite file does.  NULL with EXIT_CODE_DATA where the folder cannot be read. */
json_t *db_list(const char *db, struct error *err);

#endif
