/*
 * database_writers.h - databases that other programs write to, and crash over, while a test reads them.
 */
#ifndef TESTS_DATABASE_WRITERS_H
#define TESTS_DATABASE_WRITERS_H

#include "data/db/sqlite_exec.h"

#include <sys/types.h>

struct sqlite3;

#define SUMMARY                                                                                                        \
    "SELECT count(*), coalesce(sum(x), 0), coalesce(max(y), '') FROM t" /* its three cells are what a test reads */

#define FEW "CREATE TABLE t (x INT, y TEXT); INSERT INTO t VALUES (1, 'one');"
#define MANY                                                                                                           \
    "WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 3000) "                                 \
    "INSERT INTO t SELECT n, printf('%0*d', 200, n) FROM r;"
/* Pages are written to the file before the transaction ends. */
#define SPILL "PRAGMA cache_size = 1; PRAGMA cache_spill = 1;"

#define WAL "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;"

/* Opens for writing, and runs SQL; the process ends where it fails. */
struct sqlite3 *writer_open(const char *path);
void writer_run(struct sqlite3 *db, const char *sql);
/* The same to its end. */
void writer_finish(const char *path, const char *sql);

/* Another program, which runs SQL, then waits with the database open, and is killed. */
struct writer {
    pid_t pid;
    int said;
};
typedef void writer_fn(const char *path, const char *sql);
struct writer writer_start(const char *path, writer_fn *work, const char *sql);
void writer_kill(struct writer *w);
writer_fn writer_work; /* runs the SQL */
/* Runs it, and is killed. */
void writer_crash(const char *path, const char *sql);

/* Every file of a folder, its name, bytes, times and mode, as one number. */
uint64_t folder_state(const char *dir);

/* A connection with a time limit for its statements, and the result of SUMMARY there: "3|6|text" or "error: ...". */
struct exec_db *summary_open(const char *path, double seconds);
void summary_read(char *to, size_t size, struct exec_db *db);
void summary_show(char *to, size_t size, const char *count, const char *sum, const char *text);
/* Checks that the result contains the expected text. */
void summary_assert(const char *what, struct exec_db *db, const char *expected);

#endif
