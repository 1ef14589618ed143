/*
 * sqlite_open.h - opens a database that may come from a stranger and be written to by others meanwhile: nothing on the
 * disk changes (sqlite_view.h), nothing in its schema is trusted, no extension, nothing attached.  What may run on it
 * is the caller's to say, by an authorizer.
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

/* A set of ways to open: alone, as in sqlite_view_new; with what a -journal file holds undone in memory first, which
 * SQLite asks for by SQLITE_READONLY_ROLLBACK. */
enum sqlite_open_way { OPEN_ALONE = 1, OPEN_RECOVER = 2 };

/* max_bytes: of one row, text or blob.  -1 with EXIT_CODE_DATA; the caller closes either way. */
int sqlite_open_file(struct sqlite_file *f, const char *path, unsigned ways, int max_bytes, struct error *err);
/* The ways in which a file may open better after SQLite failed with an extended code: where it would have to undo a
 * journal, to make or mend a -shm file, or where the file system has no locks.  Else the same ones. */
unsigned sqlite_better_ways(unsigned ways, int code);
/* Whether what was read of a file may be of two states: pages may have been written to since `before` was taken. */
bool sqlite_file_is_torn(const struct sqlite_file *f, const char *path, const struct database_state *before);
/* A zeroed or closed struct may be closed too. */
void sqlite_close_file(struct sqlite_file *f);

/* The same for a new database in memory, which can be written to; closed by sqlite3_close. */
int sqlite_open_memory(struct sqlite3 **db, int max_bytes, struct error *err);

/* Writes the committed state of a database, whatever lies beside the file, as one that stands alone to `to`, which must
 * not exist.  -1 with EXIT_CODE_DATA, or EXIT_CODE_FAILURE when it cannot be written; a part of it may then be there.
 */
int sqlite_copy(const char *from, const char *to, struct error *err);

#endif
