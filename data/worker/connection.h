/*
 * connection.h - a database that strangers' SQL runs on, in the process that is there for it (sqlite_exec.h says what
 * holds for it).
 *
 * Where SQLite looks at no limit (in one call of a function, in one sort) the work is bounded by the size of what it
 * works on; what is not ends with the process.
 */
#ifndef DATA_WORKER_CONNECTION_H
#define DATA_WORKER_CONNECTION_H

#include "data/exec/sql_wire.h"

struct connection;

/* A file, or a script's private database; `schema`: it may be asked what its tables are, by the pragmas that tell.
 * NULL with an error. */
struct connection *connection_open(const char *path, bool schema, const struct exec_limits *limits, struct error *err);
struct connection *connection_open_script(const char *script, bool schema, const struct exec_limits *limits,
                                          struct error *err);
void connection_close(struct connection *c);
/* What was read beside its file until now: a set of enum sqlite_view_note. */
unsigned connection_notes(const struct connection *c);

/* What a statement gives, as sql_wire.h sends it. */
struct rows {
    int columns;
    int64_t n;
    struct cell *cells;
    int64_t cap; /* of cells */
    char *heap;
    size_t used, size; /* bytes of the heap */
};

/* Runs one SELECT of n bytes and puts its rows in place of what is there; without EXEC_OK *why says what happened,
 * good until the next statement. */
enum exec_status connection_run(struct connection *c, struct rows *rows, const char *sql, size_t n, const char **why);
void rows_release(struct rows *rows);

#endif
