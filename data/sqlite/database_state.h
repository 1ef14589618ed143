/*
 * database_state.h - whether a database file, or what lies beside it, has changed since it was looked at.
 *
 * A look is a few calls of stat: it opens nothing, so it drops no lock that the process has on the file.
 */
#ifndef DATA_SQLITE_DATABASE_STATE_H
#define DATA_SQLITE_DATABASE_STATE_H

#include "kernels/base.h"

#include <stdint.h>

/* All zero: there is no such file. */
struct file_state {
    int64_t device, inode, size;
    int64_t written[2], changed[2]; /* mtime and ctime: seconds, nanoseconds */
};

struct database_state {
    struct file_state file, wal, journal, shm; /* of the last one only which file it is */
    bool young, young_wal;                     /* written so recently that the next write may leave the same times */
};

/* Of the database at path; where path is a link the other files lie beside its target. */
void database_state_look(struct database_state *s, const char *path);
/* False when anything changed after `before` was taken, or could have without leaving a trace. */
bool database_state_same(const struct database_state *before, const struct database_state *after);
/* The same, but a -wal file may have been written to, as long as it is the same file. */
bool database_state_same_but_wal(const struct database_state *before, const struct database_state *after);

/* A number of all bytes that the database at path is read from, those of -wal and -journal files too; 0 when it cannot
 * be read. */
uint64_t database_sum(const char *path);

/* A state that is young is no longer so after these seconds. */
#define DATABASE_STATE_SETTLES 0.03

#endif
