/*
 * sqlite_open.h - opens a database that may come from a stranger: read-only and immutable, nothing in its schema
 * trusted, no extension, nothing attached.  What may run on it is the caller's to say, by an authorizer.
 */
#ifndef DATA_UTIL_SQLITE_OPEN_H
#define DATA_UTIL_SQLITE_OPEN_H

#include "kernels/base.h"

struct sqlite3;

/* -1 with EXIT_CODE_DATA; the caller closes *db either way.  max_bytes: of one row, text or blob. */
int sqlite_open_file(struct sqlite3 **db, const char *path, int max_bytes, struct error *err);
/* The same for a new database in memory, which can be written to. */
int sqlite_open_memory(struct sqlite3 **db, int max_bytes, struct error *err);

#endif
