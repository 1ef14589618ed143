/*
 * db_list.h - the names of all databases that --db names (db_path.h).
 */
#ifndef DATA_EXEC_DB_LIST_H
#define DATA_EXEC_DB_LIST_H

#include "data/util/json.h"

/* An array of db_ids in the order of their bytes, a new reference.  A folder has those whose one file begins as a
 * SQLite file does.  NULL with EXIT_CODE_DATA where the folder cannot be read. */
json_t *db_list(const char *db, struct error *err);

#endif
