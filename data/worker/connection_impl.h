/* connection_impl.h - a connection, and what its parts share. */
#ifndef DATA_WORKER_CONNECTION_IMPL_H
#define DATA_WORKER_CONNECTION_IMPL_H

#include "data/worker/connection.h"

#include <sqlite3.h>

enum {
    CONNECTION_MAX_VALUE = 1 << 20, /* bytes of one row, text or blob */
    CONNECTION_MEMORY = 256 << 20   /* bytes of all connections of the process */
};

struct guard; /* a function whose work is looked at before it is done */

struct connection {
    sqlite3 *db;
    sqlite3 *plain; /* has the functions that ours stand in front of */
    struct guard *guards;
    struct exec_limits limits;
    bool filling; /* a script is run */
    bool schema;  /* what its tables are may be asked */
    /* of the statement that runs: */
    int64_t steps, next_look, stride; /* at how many steps to look at the clock next, and then after how many */
    double deadline, looked;
    int calls;               /* of functions, in its text */
    enum exec_status status; /* why it ends, the first reason */
    char why[512];
};

/* A new statement begins. */
void connection_begin(struct connection *db);
/* Ends the statement, unless something else has; returns -1. */
int connection_end(struct connection *db, enum exec_status status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* The same for what SQLite answered. */
int connection_end_sqlite(struct connection *db, int rc);
/* Counts work; false when there has been too much, or the time is up. */
bool connection_charge(struct connection *db, int64_t steps);

/* SQLite's authorizer for a connection; of is the connection. */
int connection_authorize(void *of, int action, const char *a, const char *b, const char *schema, const char *inner);
/* A schema's own expressions (of indexes, columns and views) are resolved without asking the authorizer.  Functions
 * that are not harmless are hidden from them first; then a schema may use the others, which SQLite keeps from one that
 * is not trusted: those on JSON.  Gives SQLite's code. */
int connection_hide_functions(struct connection *db);
/* Puts ours in front of the functions whose work can be the product of their arguments' sizes; -1 without memory. */
int connection_guard(struct connection *db);
void connection_unguard(struct connection *db);

bool connection_is_utf8(const char *text, size_t n);

#endif
