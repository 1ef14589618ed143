/*
 * sqlite_exec.h - run untrusted SQL on SQLite databases, with limits and without side effects.
 *
 * Statements run in a worker process (sql_wire.h). A statement that crashes SQLite, hangs or exhausts memory gives one
 * failed result, and the next statement runs as if nothing had happened. In the worker, an authorizer allows only
 * SELECT and harmless functions. Each connection has limits on steps of SQLite's virtual machine, seconds, rows, bytes
 * and memory; steps are the same on every machine. Only one thread may use a connection at a time. All connections
 * that a thread opens share one worker and its memory.
 *
 * Database files are only read, while other programs may write to them. Each statement sees one committed state,
 * including -wal and -journal files, of the file that has the name when the statement starts. Results are reproducible
 * on unchanged files, except for random() and the current date.
 */
#ifndef DATA_DB_SQLITE_EXEC_H
#define DATA_DB_SQLITE_EXEC_H

#include "kernels/base.h"

#include <stdbool.h>
#include <stdint.h>

enum cell_type { CELL_NULL, CELL_INTEGER, CELL_REAL, CELL_TEXT, CELL_BLOB };

struct cell {
    enum cell_type type;
    int n; /* bytes of a text or blob; a text may be invalid UTF-8 and may contain NUL */
    union {
        int64_t integer;
        double real;
        const char *bytes; /* owned by the result, followed by a NUL */
    };
};

enum exec_status {
    EXEC_OK,
    EXEC_REFUSED, /* not a single SELECT, or a forbidden function */
    EXEC_FAILED,  /* SQLite reports an error or crashes */
    EXEC_STOPPED, /* a limit on steps, time, rows, bytes or memory was reached */
};
const char *exec_status_name(enum exec_status s); /* "ok", "refused", "failed", "stopped" */

struct exec_result {
    enum exec_status status;
    char *message; /* the reason if the status is not EXEC_OK, else NULL */
    int columns;
    int64_t n;          /* rows */
    struct cell *cells; /* [n * columns], row by row */
    char **names;       /* [columns] */
    void *block;        /* owns bytes and names */
    int64_t bytes;      /* of the whole result */
};

struct exec_limits {
    int64_t steps, rows, bytes;
    double seconds;
    bool python_text; /* fail queries with texts that are not valid UTF-8, as the published evaluators do */
};
extern const struct exec_limits exec_limits_default;
/* Smaller limits, for queries while a user waits. */
extern const struct exec_limits exec_limits_preview;

struct exec_db; /* one connection */

/* Opens the file at path; exec_close frees the connection. Returns NULL with EXIT_CODE_DATA, or EXIT_CODE_FAILURE if no
 * worker can be started. */
struct exec_db *exec_open(const char *path, const struct exec_limits *limits, struct error *err);
/* Like exec_open, and also allows SELECT from pragmas that describe tables, such as pragma_table_xinfo. */
struct exec_db *exec_open_schema(const char *path, const struct exec_limits *limits, struct error *err);
/* Opens a private database in memory that a script fills; afterwards the database is read-only. The script may contain
 * CREATE TABLE, INSERT, CREATE INDEX, CREATE VIEW, DELETE, BEGIN and COMMIT. Other statements fail with EXIT_CODE_DATA;
 * the message has the start of the statement and SQLite's error. The limits also apply to the script. */
struct exec_db *exec_open_script(const char *script, const struct exec_limits *limits, struct error *err);
/* Like exec_open_script, and also allows SELECT from pragmas that describe tables. */
struct exec_db *exec_open_script_schema(const char *script, const struct exec_limits *limits, struct error *err);
void exec_close(struct exec_db *db);

/* Runs one SELECT. Errors of the SQL are reported in the result's status. The caller always releases the result. */
struct exec_result exec_run(struct exec_db *db, const char *sql);
/* Like exec_run, for n bytes followed by a NUL. SQL that contains a NUL is refused. */
struct exec_result exec_run_bytes(struct exec_db *db, const char *sql, size_t n);
void exec_result_release(struct exec_result *r);

/* The version of the SQLite library, on which results may depend. */
const char *exec_sqlite_version(void);

#endif
