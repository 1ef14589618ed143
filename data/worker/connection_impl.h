/* connection_impl.h - a connection, and what its parts share. */
#ifndef DATA_WORKER_CONNECTION_IMPL_H
#define DATA_WORKER_CONNECTION_IMPL_H

#include "data/sqlite/database_state.h"
#include "data/sqlite/sqlite_open.h"
#include "data/worker/connection.h"

#include <sqlite3.h>

enum {
    CONNECTION_MAX_VALUE = 1 << 20, /* bytes of one row, text or blob */
    CONNECTION_MEMORY = 256 << 20   /* bytes of all connections of the process */
};

struct guard; /* a function whose work is looked at before it is done */

struct connection {
    /* of a file, which is opened again when it has changed: */
    char *path; /* NULL: a script's database */
    struct sqlite_file file;
    struct database_state state; /* when the newest statement began to read it */
    unsigned ways;               /* to open it (sqlite_open.h) */
    unsigned notes;              /* a set of enum sqlite_view_note */

    sqlite3 *db;    /* the file's, or the script's */
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
    char why[1024];
    int code; /* SQLite's extended one, of what failed */
};

/* A new statement begins. */
void connection_begin(struct connection *db);
/* Ends the statement, unless something else has; returns -1. */
int connection_end(struct connection *db, enum exec_status status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* The same for what SQLite answered. */
int connection_end_sqlite(struct connection *db, int rc);
/* Sets up what SQLite has open as `db`: guards, authorizer, limits.  -1 with EXIT_CODE_MEMORY. */
int connection_set_up(struct connection *db, struct error *err);

/* Opens the file at db->path.  -1 with an error. */
int connection_open_file(struct connection *db, struct error *err);
void connection_close_file(struct connection *db);
/* Before a statement: opens the file again where it is no more what it was.  -1 ends the statement. */
int connection_refresh(struct connection *db);
/* After it: whether it must be run again, since it may have seen parts of two states; tries: how often it was run
 * before. */
bool connection_is_torn(struct connection *db, int tries);
/* Holds no lock from here to the next statement. */
void connection_rest(struct connection *db);

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
