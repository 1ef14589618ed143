/*
 * database_state.h - detects whether a database file or the files beside it have changed.
 *
 * It calls stat only.  Opening and closing a file would drop the locks that the process holds on it.  Nothing fails: a
 * missing file is a state, too.
 */
#ifndef DATA_SQLITE_DATABASE_STATE_H
#define DATA_SQLITE_DATABASE_STATE_H

#include "kernels/base.h"

#include <stdint.h>

/* All zero: no such file. */
struct file_state {
    int64_t device, inode, size;
    int64_t written[2], changed[2]; /* mtime and ctime: seconds, nanoseconds */
};

struct database_state {
    struct file_state file, wal, journal, shm; /* of shm only the identity */
    bool young, young_wal;                     /* written so recently that a further write may leave the same times */
};

/* Takes the state of the database at path.  If path is a link, the other files are beside its target. */
void database_state_look(struct database_state *s, const char *path);
/* False if anything changed after `before`, or may have changed without a trace. */
bool database_state_same(const struct database_state *before, const struct database_state *after);
/* The same, but allows writes to the same -wal file. */
bool database_state_same_but_wal(const struct database_state *before, const struct database_state *after);

/* A hash of all bytes from which the database is read, including its -wal and -journal files; 0 if it cannot be
 * read. */
uint64_t database_hash(const char *path);

/* Seconds after which a state is no longer young. */
#define DATABASE_STATE_SETTLES 0.03

#endif
