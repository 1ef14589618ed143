/*
 * db_path.h - the databases given by --db: a SQLite file, or a folder of SQLite files.
 *
 * In a folder, the database of a db_id is DB/ID.EXT or DB/ID/ID.EXT, where EXT is sqlite, db or sqlite3. A db_id
 * cannot contain a slash or start with a dot, so it never names a file outside the folder. A single file is the
 * database of its base name. Records without db_id use it, and records with another db_id are errors.
 */
#ifndef DATA_DB_DB_PATH_H
#define DATA_DB_DB_PATH_H

#include "data/base/json.h"

/* Checks --db before records are read. Returns -1 with EXIT_CODE_DATA if it is neither a folder nor a SQLite file. NULL
 * means no database. */
int db_path_check(const char *db, struct error *err);
/* Returns whether --db is a folder. */
bool db_path_is_folder(const char *db);
/* Sets the db_id of a record without one if db is a single file. */
void db_path_name(const char *db, json_t *record);
/* Returns the file of a db_id; the caller frees it. Returns NULL with EXIT_CODE_DATA if there is no such file, or more
 * than one. */
char *db_path(const char *db, const char *db_id, struct error *err);

/* Returns a new array of all db_ids in byte order. A folder has those with exactly one file that starts like a SQLite
 * file. Returns NULL with EXIT_CODE_DATA if the folder cannot be read. */
json_t *db_list(const char *db, struct error *err);

#endif
