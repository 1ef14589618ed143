/* sqlite_exec_impl.h - a connection of the executor, and what its parts share. */
#ifndef DATA_EXEC_SQLITE_EXEC_IMPL_H
#define DATA_EXEC_SQLITE_EXEC_IMPL_H

#include "data/exec/sqlite_exec.h"

#include <sqlite3.h>

enum {
    EXEC_MAX_VALUE = 1 << 20, /* bytes of one row, text or blob */
    EXEC_MEMORY = 256 << 20   /* bytes of all connections of the program */
};

struct exec_guard; /* a function whose work is looked at before it is done */

struct exec_db {
    sqlite3 *db;
    sqlite3 *plain; /* has the functions that ours stand in front of */
    struct exec_guard *guards;
    struct exec_limits limits;
    bool filling; /* a script is run */
    /* of the statement that runs: */
    int64_t steps, next_look, stride; /* at how many steps to look at the clock next, and then after how many */
    double deadline, looked;
    int calls;               /* of functions, in its text */
    enum exec_status status; /* why it ends, the first reason */
    char why[512];
};

/* A new statement begins. */
void exec_begin(struct exec_db *db);
/* Ends the statement, unless something else has; returns -1. */
int exec_end(struct exec_db *db, enum exec_status status, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* The same for what SQLite answered. */
int exec_end_sqlite(struct exec_db *db, int rc);
/* Counts work; false when there has been too much, or the time is up. */
bool exec_charge(struct exec_db *db, int64_t steps);

/* SQLite's authorizer for a connection; of is its exec_db. */
int exec_authorize(void *of, int action, const char *a, const char *b, const char *schema, const char *inner);
/* Puts ours in front of the functions whose work can be the product of their arguments' sizes; -1 without memory. */
int exec_guard_functions(struct exec_db *db);
void exec_guard_release(struct exec_db *db);

bool exec_is_utf8(const char *text, size_t n);

#endif
