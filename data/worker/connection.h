/*
 * connection.h - a connection to a database on which untrusted SQL runs, inside the worker process (see sqlite_exec.h
 * for the guarantees).
 *
 * SQLite checks its limits between steps. Inside a single function call or sort, the work is bounded by the size of
 * the operands. All other overruns end with the process, which the program kills.
 */
#ifndef DATA_WORKER_CONNECTION_H
#define DATA_WORKER_CONNECTION_H

#include "data/db/sql_wire.h"

struct connection;

/* Opens a file, or a private database filled by a script. `schema` also allows pragmas that describe tables. Returns
 * NULL with an error. */
struct connection *connection_open(const char *path, bool schema, const struct exec_limits *limits, struct error *err);
struct connection *connection_open_script(const char *script, bool schema, const struct exec_limits *limits,
                                          struct error *err);
void connection_close(struct connection *c);
/* Returns the notes on reads beside the database file so far: a set of enum sqlite_view_note. */
unsigned connection_notes(const struct connection *c);

/* The result of a statement, in the layout of sql_wire.h. */
struct rows {
    int columns;
    int64_t n;
    struct cell *cells;
    int64_t cap; /* of cells */
    char *heap;
    size_t used, size; /* bytes of the heap */
};

/* Runs one SELECT of n bytes and replaces the contents of rows by its result. If the status is not EXEC_OK, *why is the
 * reason, valid until the next statement. */
enum exec_status connection_run(struct connection *c, struct rows *rows, const char *sql, size_t n, const char **why);
void rows_release(struct rows *rows);

#endif
