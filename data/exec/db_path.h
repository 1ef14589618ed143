/*
 * db_path.h - where the database of a db_id stands: DIR/ID.sqlite or DIR/ID/ID.sqlite.
 *
 * A db_id names a file in the folder and nothing outside it: it has no slash and does not begin with a dot.
 */
#ifndef DATA_EXEC_DB_PATH_H
#define DATA_EXEC_DB_PATH_H

#include "kernels/base.h"

/* The caller frees.  NULL with EXIT_CODE_DATA when the db_id is no name of a database, or naming both paths when
 * neither is there. */
char *db_path(const char *dir, const char *db_id, struct error *err);

#endif
