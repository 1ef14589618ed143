/*
 * sqlite_copy.h - a copy of a database's committed state, whatever lies beside the file.
 */
#ifndef DATA_SQLITE_SQLITE_COPY_H
#define DATA_SQLITE_SQLITE_COPY_H

#include "kernels/base.h"

/* Writes a database that stands alone to `to`, which must not exist.  -1 with EXIT_CODE_DATA, or EXIT_CODE_FAILURE when
 * it cannot be written; a part of it may then be there. */
int sqlite_copy(const char *from, const char *to, struct error *err);

#endif
