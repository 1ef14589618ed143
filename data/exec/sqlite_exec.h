/*
 * sqlite_exec.h - runs SQL of strangers on SQLite databases: it reads, it ends, and it does nothing else.
 *
 * It runs in a worker process (sql_wire.h): a statement that crashes the library, hangs or eats memory ends as one
 * result that says so, and what comes next finds its databases open as before.  There a connection has an authorizer
 * that lets only SELECT and harmless functions through, and limits on everything: steps of SQLite's virtual machine
 * first, which are the same on every machine, wall clock second, rows and bytes of the result, memory.  A connection is
 * used by one thread at a time; those that a thread opens share a worker and its memory.
 *
 * A file is only read, and other programs may write to it: each statement sees one committed state, that of its -wal
 * and -journal files too, of the file that has the name when the statement begins.  random() and the current date give
 * something else each time; on files that nobody writes to everything else is the same each time.
 */
#ifndef DATA_EXEC_SQLITE_EXEC_H
#define DATA_EXEC_SQLITE_EXEC_H

#include "kernels/base.h"

#include <stdbool.h>
#include <stdint.h>

enum cell_type { CELL_NULL, CELL_INTEGER, CELL_REAL, CELL_TEXT, CELL_BLOB };

struct cell {
    enum cell_type type;
    int n; /* bytes of text or blob; text is what the database holds, valid UTF-8 or not, and may have NUL in it */
    union {
        int64_t integer;
        double real;
        const char *bytes; /* owned by the result; a NUL follows them */
    };
};

enum exec_status {
    EXEC_OK,
    EXEC_REFUSED, /* no single SELECT: another statement, a forbidden function, more than one statement, no text */
    EXEC_FAILED,  /* SQLite does not take it, or fails or crashes while running it */
    EXEC_STOPPED, /* out of steps, time, rows, bytes or memory */
};
const char *exec_status_name(enum exec_status s); /* "ok", "refused", "failed", "stopped" */

struct exec_result {
    enum exec_status status;
    char *message; /* why it is not EXEC_OK; else NULL */
    int columns;
    int64_t n;          /* rows */
    struct cell *cells; /* [n * columns], row after row */
    char **names;       /* [columns] */
    void *block;        /* owns bytes and names */
    int64_t bytes;      /* of all the above */
};

struct exec_limits {
    int64_t steps, rows, bytes;
    double seconds;
    bool python_text; /* text that is no valid UTF-8 fails the query, as it does in the published evaluators */
};
extern const struct exec_limits exec_limits_default;
/* For a look at a database while something else waits. */
extern const struct exec_limits exec_limits_preview;

struct exec_db; /* one connection */

/* The file at path; NULL with EXIT_CODE_DATA, or EXIT_CODE_FAILURE when there is no worker.  exec_close frees. */
struct exec_db *exec_open(const char *path, const struct exec_limits *limits, struct error *err);
/* The same, for who reads what its tables are: pragma_table_xinfo and others that only tell may be selected from. */
struct exec_db *exec_open_schema(const char *path, const struct exec_limits *limits, struct error *err);
/* A private database in memory, filled by a script of CREATE TABLE and INSERT statements (CREATE INDEX, CREATE VIEW,
 * DELETE, BEGIN and COMMIT may be among them), then closed to writing.  Anything else in the script is EXIT_CODE_DATA
 * with the statement's beginning and SQLite's words.  The limits hold for the script too. */
struct exec_db *exec_open_script(const char *script, const struct exec_limits *limits, struct error *err);
struct exec_db *exec_open_script_schema(const char *script, const struct exec_limits *limits, struct error *err);
void exec_close(struct exec_db *db);

/* Runs one SELECT.  What goes wrong with the SQL is the result's status, never an error of the program.  Always
 * release. */
struct exec_result exec_run(struct exec_db *db, const char *sql);
/* The same of n bytes, which a NUL follows; one among them is refused. */
struct exec_result exec_run_bytes(struct exec_db *db, const char *sql, size_t n);
void exec_result_release(struct exec_result *r);

/* Of the library, which results may depend on. */
const char *exec_sqlite_version(void);

#endif
