/*
 * sql_wire.h - what a program and its ambit-sql-worker say to each other over a socket: requests and answers in turn.
 *
 * Both are of one build and one machine, so structs travel as they lie in memory.  The program takes nothing that comes
 * from a worker for granted, since a stranger's SQL may have broken it; the worker trusts the program.
 */
#ifndef DATA_EXEC_SQL_WIRE_H
#define DATA_EXEC_SQL_WIRE_H

#include "data/exec/sqlite_exec.h"
#include "data/sqlite/sqlite_view.h"

/* The worker's only argument: one of another build ends at once. */
#define WIRE_VERSION "3"

enum {
    WIRE_SOCKET = 0,          /* the worker's descriptor */
    WIRE_MAX_MESSAGE = 1024,  /* bytes, the NUL too */
    WIRE_MAX_COLUMNS = 32767, /* SQLite's own limit */
    WIRE_MAX_NAMES = 8 << 20  /* bytes of the columns' names, which limits.bytes does not count */
};

enum wire_op {
    WIRE_OPEN_FILE,          /* text: its path */
    WIRE_OPEN_SCHEMA,        /* the same, to be asked for what its tables are */
    WIRE_OPEN_SCRIPT,        /* text: the script */
    WIRE_OPEN_SCRIPT_SCHEMA, /* the same, to be asked for what its tables are */
    WIRE_RUN,                /* text: one SELECT */
    WIRE_CLOSE               /* has no answer */
};

/* Text of n bytes follows, and a NUL. */
struct wire_request {
    enum wire_op op;
    int db; /* number of the connection, the program's choice, as small as can be */
    struct exec_limits limits;
    size_t n;
};

/*
 * What follows: rows * columns cells; then `heap` bytes, which begin with the columns' names, a NUL behind each.  The
 * text or blob of a cell is at its `integer` in the heap, and a NUL stands behind it.  When the status is not EXEC_OK
 * there are no rows, and the heap is a message and its NUL.
 */
struct wire_answer {
    enum exec_status status;
    enum exit_code code; /* of what could not be opened */
    unsigned notes;      /* a set of enum sqlite_view_note: what is read beside the database file */
    int columns;
    int64_t rows;
    size_t heap;
};

#endif
