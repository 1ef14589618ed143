/*
 * sqlite_view.h - a VFS for SQLite that never changes the disk: everything that SQLite writes in order to read a
 * database stays in memory.
 *
 * SQLite itself determines the committed state.  It rolls back the journal of a crash into copies of the changed pages
 * and builds the index of a -wal file that has none.  Where possible, it holds real locks that stop writers during a
 * statement.  These are the shared lock of the database file and the locks of an existing -shm file.  Without a
 * readable -shm file, the view is private.  No lock stops writers then, and the caller compares the files before and
 * after (database_state.h).
 *
 * A view serves one connection at a time and must outlive it.  Its changes in memory outlast the connection.  The
 * caller frees views; creating one does not fail.
 */
#ifndef DATA_SQLITE_SQLITE_VIEW_H
#define DATA_SQLITE_SQLITE_VIEW_H

#include "kernels/base.h"

struct sqlite_view;

/* alone: ignore -shm files, and continue without a lock if the file system does not support it. */
struct sqlite_view *sqlite_view_new(bool alone);
void sqlite_view_free(struct sqlite_view *v);
/* The name of the VFS. */
const char *sqlite_view_name(const struct sqlite_view *v);

/* Files that were read beside the database. */
enum sqlite_view_note {
    VIEW_WITH_WAL = 1,   /* a -wal file with commits */
    VIEW_ROLLED_BACK = 2 /* a -journal file, whose transaction was rolled back in memory */
};
/* A set of enum sqlite_view_note. */
unsigned sqlite_view_notes(const struct sqlite_view *v);
bool sqlite_view_is_private(const struct sqlite_view *v);
/* Whether the -wal file has the same header as when it was opened, so that frames were only appended.  True without a
 * -wal file. */
bool sqlite_view_wal_goes_on(const struct sqlite_view *v);
/* The reason of a failure for which SQLite has no message, or NULL. */
const char *sqlite_view_trouble(const struct sqlite_view *v);

/* Releases the shared lock of a private view between two statements, which SQLite would keep.  False if the connection
 * holds other locks and must be closed instead. */
bool sqlite_view_rest(struct sqlite_view *v);
/* Takes the lock again.  Returns SQLITE_OK, SQLITE_BUSY or another code of SQLite. */
int sqlite_view_wake(struct sqlite_view *v);

#endif
