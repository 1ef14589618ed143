/*
 * sqlite_open.h - opens untrusted databases to which other programs may write.
 *
 * Nothing on the disk changes (sqlite_view.h).  The schema is not trusted; extensions and attached databases are off.
 * The caller restricts statements by an authorizer.
 *
 * The caller closes files also after failures, which have EXIT_CODE_DATA.
 */
#ifndef DATA_SQLITE_SQLITE_OPEN_H
#define DATA_SQLITE_SQLITE_OPEN_H

#include "data/sqlite/database_state.h"
#include "data/sqlite/sqlite_view.h"

struct sqlite3;

struct sqlite_file {
    struct sqlite3 *db;
    struct sqlite_view *view;
};

/* A set of ways to open a file.  OPEN_ALONE: as in sqlite_view_new.  OPEN_RECOVER: first roll back a -journal file in
 * memory, which SQLite requests by SQLITE_READONLY_ROLLBACK. */
enum sqlite_open_way { OPEN_ALONE = 1, OPEN_RECOVER = 2 };

/* max_bytes: maximum size of a row, text or blob.  -1 with EXIT_CODE_DATA; the caller closes the file in every case. */
int sqlite_open_file(struct sqlite_file *f, const char *path, unsigned ways, int max_bytes, struct error *err);
/* The ways that may succeed after SQLite failed with an extended code; the same ways if there are none.  They help in
 * three cases: SQLite had to roll back a journal; it had to create or repair a -shm file; the file system has no
 * locks. */
unsigned sqlite_better_ways(unsigned ways, int code);
/* Whether the data read may mix two states: pages may have been written since `before`. */
bool sqlite_file_is_torn(const struct sqlite_file *f, const char *path, const struct database_state *before);
/* Also accepts a zeroed or closed struct. */
void sqlite_close_file(struct sqlite_file *f);

/* Opens a new writable database in memory with the same restrictions; closed by sqlite3_close. */
int sqlite_open_memory(struct sqlite3 **db, int max_bytes, struct error *err);

/* Copies the committed state of a database, whatever files are beside it, to a new file `to` in rollback-journal mode.
 * `to` must not exist.  -1 with EXIT_CODE_DATA, or EXIT_CODE_FAILURE if it cannot be written, with a partial file left
 * behind. */
int sqlite_copy(const char *from, const char *to, struct error *err);

#endif
