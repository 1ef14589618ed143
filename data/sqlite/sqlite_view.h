/*
 * sqlite_view.h - a file system for SQLite in which nothing on the disk changes: all that SQLite writes in order to
 * read a database stays in memory.
 *
 * SQLite itself finds the committed state.  It plays a journal that a crash left back into a copy of the pages that
 * differ, and builds the index of a -wal file that has none.  Locks that keep writers away for a statement are taken on
 * the real files where these can be: the shared one of the database, and those in a -shm file that a program keeps up.
 * Where there is no such file, or it cannot be read, the view is private: no lock keeps writers away, and the caller
 * compares the state of the files before and after (database_state.h).
 *
 * One view serves one connection at a time, and must outlive it; changes in memory outlast the connection.
 */
#ifndef DATA_SQLITE_SQLITE_VIEW_H
#define DATA_SQLITE_SQLITE_VIEW_H

#include "kernels/base.h"

struct sqlite_view;

/* alone: not even a -shm file that can be read is used, and a lock that the file system does not know is done
 * without. */
struct sqlite_view *sqlite_view_new(bool alone);
void sqlite_view_free(struct sqlite_view *v);
/* Its name as one of SQLite's file systems. */
const char *sqlite_view_name(const struct sqlite_view *v);

/* What was read beside the file. */
enum sqlite_view_note {
    VIEW_WITH_WAL = 1,   /* commits of a -wal file */
    VIEW_ROLLED_BACK = 2 /* a -journal file, whose transaction was undone in memory */
};
/* A set of these. */
unsigned sqlite_view_notes(const struct sqlite_view *v);
bool sqlite_view_is_private(const struct sqlite_view *v);
/* Whether the -wal file still begins as when it was opened: until then frames are only added to it.  True without one.
 */
bool sqlite_view_wal_goes_on(const struct sqlite_view *v);
/* What cannot be read or held, for an error that SQLite has no words for; NULL where there is nothing. */
const char *sqlite_view_trouble(const struct sqlite_view *v);

/* Between two statements the shared lock of a private view is given back, which SQLite would keep; false when the
 * connection holds others and must be closed instead. */
bool sqlite_view_rest(struct sqlite_view *v);
/* Takes it again: SQLITE_OK, SQLITE_BUSY or another of SQLite's codes. */
int sqlite_view_wake(struct sqlite_view *v);

#endif
