/*
 * sql_wire.h - the protocol between a program and its ambit-sql-worker: alternating requests and answers on a socket.
 *
 * Both sides come from the same build and run on the same machine, so structs are sent as they lie in memory. The
 * program validates all data from a worker, because untrusted SQL may have taken the worker over. The worker trusts
 * the program.
 */
#ifndef DATA_DB_SQL_WIRE_H
#define DATA_DB_SQL_WIRE_H

#include "data/db/sqlite_exec.h"
#include "data/sqlite/sqlite_view.h"

/* The worker's only argument. A worker of another version exits at once. */
#define WIRE_VERSION "3"

enum {
    WIRE_SOCKET = 0,          /* the worker's descriptor */
    WIRE_MAX_MESSAGE = 1024,  /* bytes, including the NUL */
    WIRE_MAX_COLUMNS = 32767, /* SQLite's own limit */
    WIRE_MAX_NAMES = 8 << 20  /* bytes of column names, which limits.bytes does not include */
};

enum wire_op {
    WIRE_OPEN_FILE,          /* text: the path */
    WIRE_OPEN_SCHEMA,        /* the same, with pragmas that describe tables */
    WIRE_OPEN_SCRIPT,        /* text: the script */
    WIRE_OPEN_SCRIPT_SCHEMA, /* the same, with pragmas that describe tables */
    WIRE_RUN,                /* text: one SELECT */
    WIRE_CLOSE               /* no answer */
};

/* A request; n bytes of text and a NUL follow it. */
struct wire_request {
    enum wire_op op;
    int db; /* connection number, chosen by the program, as small as possible */
    struct exec_limits limits;
    size_t n;
};

/*
 * An answer. After it come rows * columns cells, then `heap` bytes, which start with the column names, each followed
 * by a NUL. The text or blob of a cell is at offset `integer` in the heap and is followed by a NUL. If the status is
 * not EXEC_OK, there are no rows, and the heap is a message with its NUL.
 */
struct wire_answer {
    enum exec_status status;
    enum exit_code code; /* of a failed open */
    unsigned notes;      /* a set of enum sqlite_view_note: files read beside the database */
    int columns;
    int64_t rows;
    size_t heap;
};

#endif
