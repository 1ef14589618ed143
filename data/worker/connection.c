#include "data/worker/connection.h"

#include "data/base/json.h"
#include "data/base/log.h"
#include "data/base/strings.h"
#include "data/sql/sql.h"
#include "data/sqlite/database_state.h"
#include "data/sqlite/sqlite_open.h"

#include <sqlite3.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    CONNECTION_MAX_VALUE = 1 << 20, /* bytes of one row, text or blob */
    CONNECTION_MEMORY = 256 << 20   /* bytes of all connections together */
};

struct guard; /* a wrapped SQL function whose cost is estimated before each call */

struct connection {
    /* database file, reopened when it changes: */
    char *path; /* NULL for a script's database */
    struct sqlite_file file;
    struct database_state state; /* when the last statement started to read it */
    unsigned ways;               /* flags for opening (sqlite_open.h) */
    unsigned notes;              /* a set of enum sqlite_view_note */

    sqlite3 *db;    /* the file's or the script's database */
    sqlite3 *plain; /* has SQLite's own versions of the wrapped functions */
    struct guard *guards;
    struct exec_limits limits;
    bool filling; /* a script is running */
    bool schema;  /* pragmas that describe tables are allowed */
    /* state of the running statement: */
    int64_t steps, next_look, stride; /* steps at which to check the clock next, and steps between two checks */
    double deadline, looked;
    int calls;               /* function calls in its text */
    enum exec_status status; /* the first reason to stop */
    char why[1024];
    int code; /* SQLite's extended code of an error */
};

static int end_statement(struct connection *db, enum exec_status status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

enum {
    STEPS_PER_CHECK = 100,
    STEPS_PER_LOOK = 1000, /* maximum steps between two clock checks; a check may cost as much as a hundred steps */
    MAX_PROGRAM = 100000,  /* instructions of one statement; a straight run of them has no check */
    MAX_VIEWS = 5000       /* of one database; SQLite resolves nested views by recursion */
};

/* --- Limits and the end of a statement --- */

/* Resets the state for a new statement. */
static void begin_statement(struct connection *db)
{
    db->steps = 0;
    db->next_look = 0;
    db->calls = 0;
    db->deadline = now_seconds() + db->limits.seconds;
    db->status = EXEC_OK;
    db->code = SQLITE_OK;
}

/* Stops the statement, unless it has been stopped already. Returns -1. */
static int end_statement(struct connection *db, enum exec_status status, const char *fmt, ...)
{
    va_list ap;

    if (db->status != EXEC_OK)
        return -1;
    db->status = status;
    va_start(ap, fmt);
    vsnprintf(db->why, sizeof db->why, fmt, ap);
    va_end(ap);
    return -1;
}

/* Stops a statement with the error of the file view, which is more precise than SQLite's. */
static int end_in_view(struct connection *db, int rc)
{
    const char *trouble = db->file.view ? sqlite_view_trouble(db->file.view) : NULL;

    if ((rc & 0xff) == SQLITE_BUSY)
        return end_statement(db, EXEC_FAILED, "the database is locked by another program");
    return end_statement(db, EXEC_FAILED, "%s", trouble ? trouble : sqlite3_errmsg(db->db));
}

/* Stops a statement with SQLite's error. */
static int end_with_sqlite(struct connection *db, int rc)
{
    int extended = sqlite3_extended_errcode(db->db);

    if (db->status == EXEC_OK)
        db->code = (extended & 0xff) == rc ? extended : rc;
    if (rc == SQLITE_NOMEM)
        return end_statement(db, EXEC_STOPPED, "more than %d MiB of memory, or %d instructions",
                             CONNECTION_MEMORY >> 20, MAX_PROGRAM);
    if (rc == SQLITE_TOOBIG)
        return end_statement(db, EXEC_STOPPED, "a text, blob or row of more than %d bytes", CONNECTION_MAX_VALUE);
    return end_in_view(db, rc);
}

/* Checks the clock more often if steps are slow. */
static void look_at_clock(struct connection *db)
{
    double now = now_seconds();

    if (now > db->deadline)
        end_statement(db, EXEC_STOPPED, "more than %g seconds", db->limits.seconds);
    db->stride = now - db->looked > 0.001 ? STEPS_PER_CHECK : 2 * db->stride;
    if (db->stride > STEPS_PER_LOOK)
        db->stride = STEPS_PER_LOOK;
    db->looked = now;
    db->next_look = db->steps + db->stride;
}

/* Charges work to the statement. Returns false if the steps or the time are used up. */
static bool charge(struct connection *db, int64_t steps)
{
    db->steps += steps;
    if (db->steps > db->limits.steps)
        end_statement(db, EXEC_STOPPED, "more than %lld steps", (long long)db->limits.steps);
    else if (db->steps >= db->next_look)
        look_at_clock(db);
    return db->status == EXEC_OK;
}

static bool is_utf8(const char *text, size_t n)
{
    size_t i = 0;

    while (i < n && !(text[i] & 0x80))
        i++;
    json_t *checked = i < n ? json_stringn(text + i, n - i) : NULL;
    json_decref(checked);
    return i == n || checked;
}

static int on_steps(void *of)
{
    return !charge(of, STEPS_PER_CHECK);
}

static struct connection *new_connection(const struct exec_limits *limits)
{
    struct connection *db = xcalloc(1, sizeof *db);

    db->limits = *limits;
    sqlite3_hard_heap_limit64(CONNECTION_MEMORY);
    begin_statement(db);
    return db;
}

/* --- Authorizer: which functions and actions a statement may use --- */

/* No real query needs more: this is one call for each column that a table can have. Each call may process
 * CONNECTION_MAX_VALUE bytes before SQLite checks its limits again. */
enum { MAX_CALLS = 2000 };

/* The allowed functions, sorted. */
static const char *const functions[] = {
    "->",
    "->>",
    "abs",
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "avg",
    "bm25",
    "ceil",
    "ceiling",
    "changes",
    "char",
    "coalesce",
    "concat",
    "concat_ws",
    "cos",
    "cosh",
    "count",
    "cume_dist",
    "current_date",
    "current_time",
    "current_timestamp",
    "date",
    "datetime",
    "degrees",
    "dense_rank",
    "exp",
    "first_value",
    "floor",
    "format",
    "glob",
    "group_concat",
    "hex",
    "highlight",
    "if",
    "ifnull",
    "iif",
    "instr",
    "json",
    "json_array",
    "json_array_length",
    "json_extract",
    "json_group_array",
    "json_group_object",
    "json_insert",
    "json_object",
    "json_patch",
    "json_quote",
    "json_remove",
    "json_replace",
    "json_set",
    "json_type",
    "json_valid",
    "julianday",
    "lag",
    "last_insert_rowid",
    "last_value",
    "lead",
    "length",
    "like",
    "likelihood",
    "likely",
    "ln",
    "log",
    "log10",
    "log2",
    "lower",
    "ltrim",
    "match",
    "matchinfo",
    "max",
    "min",
    "mod",
    "nth_value",
    "ntile",
    "nullif",
    "octet_length",
    "offsets",
    "percent_rank",
    "pi",
    "pow",
    "power",
    "printf",
    "quote",
    "radians",
    "random",
    "randomblob",
    "rank",
    "replace",
    "round",
    "row_number",
    "rtrim",
    "sign",
    "sin",
    "sinh",
    "snippet",
    "soundex",
    "sqlite_version",
    "sqrt",
    "strftime",
    "string_agg",
    "substr",
    "substring",
    "sum",
    "tan",
    "tanh",
    "time",
    "timediff",
    "total",
    "total_changes",
    "trim",
    "trunc",
    "typeof",
    "unhex",
    "unicode",
    "unixepoch",
    "unlikely",
    "upper",
    "zeroblob",
};

static int compare(const void *name, const void *item)
{
    return strcasecmp(name, *(const char *const *)item);
}

static bool is_harmless(const char *name)
{
    return bsearch(name, functions, sizeof functions / sizeof *functions, sizeof *functions, compare) != NULL;
}

/* Other functions of this SQLite version. */
static struct strings others;

static int add_other(void *unused, int n, char **name, char **column)
{
    (void)unused, (void)n, (void)column;
    if (!is_harmless(*name))
        strings_add(&others, *name);
    return 0;
}

static void refuse(sqlite3_context *c, int n, sqlite3_value **v)
{
    (void)n, (void)v;
    sqlite3_result_error(c, "not allowed", -1);
}

/* Expressions in a schema (indexes, columns, views) bypass the authorizer. So all functions that are not allowed are
 * replaced by ones that fail. Then the schema can be trusted with the rest, including those on JSON. Returns SQLite's
 * code. */
static int hide_functions(struct connection *db)
{
    enum { FLAGS = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY };
    int rc =
        others.n ? SQLITE_OK : sqlite3_exec(db->plain, "SELECT name FROM pragma_function_list", add_other, NULL, NULL);

    for (int i = 0; i < others.n && rc == SQLITE_OK; i++)
        rc = sqlite3_create_function(db->db, others.items[i], -1, FLAGS, NULL, refuse, NULL, NULL);
    return rc == SQLITE_OK ? sqlite3_db_config(db->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 1, NULL) : rc;
}

static int allow_function(struct connection *db, const char *name)
{
    if (++db->calls > MAX_CALLS)
        end_statement(db, EXEC_STOPPED, "more than %d calls of functions", MAX_CALLS);
    else if (!is_harmless(name))
        end_statement(db, EXEC_REFUSED, "the function %s is not allowed", name);
    else
        return SQLITE_OK;
    return SQLITE_DENY;
}

/* The names of authorizer actions for messages. */
static const char *action_name(int action)
{
    static const char *const names[] = {
        [SQLITE_CREATE_INDEX] = "CREATE INDEX",
        [SQLITE_CREATE_TABLE] = "CREATE TABLE",
        [SQLITE_CREATE_TEMP_INDEX] = "CREATE TEMP INDEX",
        [SQLITE_CREATE_TEMP_TABLE] = "CREATE TEMP TABLE",
        [SQLITE_CREATE_TEMP_TRIGGER] = "CREATE TEMP TRIGGER",
        [SQLITE_CREATE_TEMP_VIEW] = "CREATE TEMP VIEW",
        [SQLITE_CREATE_TRIGGER] = "CREATE TRIGGER",
        [SQLITE_CREATE_VIEW] = "CREATE VIEW",
        [SQLITE_DELETE] = "DELETE",
        [SQLITE_DROP_INDEX] = "DROP INDEX",
        [SQLITE_DROP_TABLE] = "DROP TABLE",
        [SQLITE_DROP_TRIGGER] = "DROP TRIGGER",
        [SQLITE_DROP_VIEW] = "DROP VIEW",
        [SQLITE_INSERT] = "INSERT",
        [SQLITE_PRAGMA] = "PRAGMA",
        [SQLITE_TRANSACTION] = "a transaction",
        [SQLITE_UPDATE] = "UPDATE",
        [SQLITE_ATTACH] = "ATTACH",
        [SQLITE_DETACH] = "DETACH",
        [SQLITE_ALTER_TABLE] = "ALTER TABLE",
        [SQLITE_REINDEX] = "REINDEX",
        [SQLITE_ANALYZE] = "ANALYZE",
        [SQLITE_CREATE_VTABLE] = "CREATE VIRTUAL TABLE",
        [SQLITE_DROP_VTABLE] = "DROP VIRTUAL TABLE",
        [SQLITE_SAVEPOINT] = "SAVEPOINT",
    };
    const char *name = action > 0 && action < ARRAY_LEN(names) ? names[action] : NULL;
    return name ? name : "this statement";
}

/* Returns whether a script needs the action to fill its database. */
static bool is_for_script(int action)
{
    return action == SQLITE_CREATE_TABLE || action == SQLITE_CREATE_INDEX || action == SQLITE_CREATE_VIEW ||
           action == SQLITE_REINDEX || action == SQLITE_INSERT || action == SQLITE_DELETE ||
           action == SQLITE_TRANSACTION;
}

static bool is_among(const char *name, const char *const *names, int n)
{
    for (int i = 0; i < n; i++)
        if (strcasecmp(name, names[i]) == 0)
            return true;
    return false;
}

/* Allows pragmas that describe a table, and those that virtual tables run when they are opened. */
static bool allow_pragma(const struct connection *db, const char *name)
{
    static const char *const own[] = { "data_version", "page_size" };
    static const char *const schema[] = { "table_list", "table_xinfo", "foreign_key_list", "index_list", "index_info" };

    return is_among(name, own, ARRAY_LEN(own)) || (db->schema && is_among(name, schema, ARRAY_LEN(schema)));
}

/* An R-tree prepares its write statements when it is opened. Write statements from other sources are refused when they
 * are prepared. */
static bool is_of_rtree(int action, const char *table)
{
    static const char *const ends[] = { "_node", "_rowid", "_parent" };
    bool writes = action == SQLITE_INSERT || action == SQLITE_UPDATE || action == SQLITE_DELETE;
    const char *end = writes ? strrchr(table, '_') : NULL;

    return end && is_among(end, ends, ARRAY_LEN(ends));
}

/* SQLite's authorizer callback; `of` is the connection. */
static int authorize(void *of, int action, const char *a, const char *b, const char *schema, const char *inner)
{
    struct connection *db = of;

    (void)schema, (void)inner;
    if (!charge(db, 1)) /* resolving names takes no steps, and nested views multiply them */
        return SQLITE_DENY;
    if (action == SQLITE_SELECT || action == SQLITE_READ || action == SQLITE_RECURSIVE)
        return SQLITE_OK;
    if (action == SQLITE_FUNCTION)
        return allow_function(db, b);
    /* SQLite asks this while it sets up a table or virtual table; direct writes to the schema are disabled */
    if (action == SQLITE_UPDATE && strcmp(a, "sqlite_master") == 0)
        return SQLITE_OK;
    if ((action == SQLITE_PRAGMA && allow_pragma(db, a)) || is_of_rtree(action, a))
        return SQLITE_OK;
    if (db->filling && is_for_script(action))
        return SQLITE_OK;
    end_statement(db, EXEC_REFUSED, "%s is not allowed", action_name(action));
    return SQLITE_DENY;
}

/* --- Wrapped functions: calls whose cost is the product of their arguments' sizes --- */

enum {
    MAX_WORK = 1 << 26, /* byte pairs in one call, which take tenths of a second */
    WORK_PER_STEP = 64  /* work that costs one step */
};

typedef double weigh_fn(int n, sqlite3_value **v);

static double weigh_pairs(int n, sqlite3_value **v)
{
    (void)n;
    return (double)sqlite3_value_bytes(v[0]) * sqlite3_value_bytes(v[1]);
}

/* Estimates the cost of all widths in a format, as if each * took the largest argument. */
static double weigh_format(int n, sqlite3_value **v)
{
    const char *f = n ? (const char *)sqlite3_value_text(v[0]) : NULL;
    double largest = 0, sum = 0;

    for (int i = 1; i < n; i++) {
        double x = (double)sqlite3_value_int64(v[i]);
        largest = x > largest ? x : -x > largest ? -x : largest;
    }
    for (double width = 0; f && *f; f++) {
        width = *f >= '0' && *f <= '9' ? 10 * width + *f - '0' : 0;
        sum += *f == '*' ? largest : width;
    }
    enum { WORK_PER_CHARACTER = 32 };
    return WORK_PER_CHARACTER * sum;
}

static const struct guarded {
    const char *name;
    int arguments; /* number of arguments; -1: any */
    weigh_fn *weigh;
} guarded[] = {
    { "format", -1, weigh_format }, { "glob", 2, weigh_pairs },    { "instr", 2, weigh_pairs },
    { "like", 2, weigh_pairs },     { "like", 3, weigh_pairs },    { "ltrim", 2, weigh_pairs },
    { "printf", -1, weigh_format }, { "replace", 3, weigh_pairs }, { "rtrim", 2, weigh_pairs },
    { "trim", 2, weigh_pairs },
};

struct guard {
    struct connection *db;
    const struct guarded *function;
    sqlite3_stmt *call; /* call of SQLite's own function, prepared on first use, */
    int arguments;      /* with that many arguments */
};

static bool affordable(const struct guard *g, int n, sqlite3_value **v)
{
    double work = g->function->weigh(n, v);

    if (work > MAX_WORK)
        end_statement(g->db, EXEC_STOPPED, "a call of %s() would take too long", g->function->name);
    return work <= MAX_WORK && charge(g->db, (int64_t)work / WORK_PER_STEP);
}

/* Prepares SELECT name(?,?,...), unless that statement exists. */
static int prepare_call(struct guard *g, int n)
{
    if (g->call && g->arguments == n)
        return SQLITE_OK;
    sqlite3_str *sql = sqlite3_str_new(NULL);
    sqlite3_str_appendf(sql, "SELECT %s(", g->function->name);
    for (int i = 0; i < n; i++)
        sqlite3_str_appendall(sql, i ? ",?" : "?");
    sqlite3_str_appendall(sql, ")");
    char *text = sqlite3_str_finish(sql);
    sqlite3_finalize(g->call);
    g->call = NULL;
    g->arguments = n;
    int rc = text ? sqlite3_prepare_v2(g->db->plain, text, -1, &g->call, NULL) : SQLITE_NOMEM;
    sqlite3_free(text);
    return rc;
}

static void call_plain(sqlite3_context *c, const struct guard *g, int n, sqlite3_value **v)
{
    for (int i = 0; i < n; i++)
        sqlite3_bind_value(g->call, i + 1, v[i]);
    if (sqlite3_step(g->call) == SQLITE_ROW) {
        sqlite3_result_value(c, sqlite3_column_value(g->call, 0));
    } else {
        sqlite3_result_error(c, sqlite3_errmsg(g->db->plain), -1);
        sqlite3_result_error_code(c, sqlite3_errcode(g->db->plain));
    }
    sqlite3_reset(g->call);
    sqlite3_clear_bindings(g->call);
}

static void call_guarded(sqlite3_context *c, int n, sqlite3_value **v)
{
    struct guard *g = sqlite3_user_data(c);

    if (!affordable(g, n, v))
        sqlite3_result_error_code(c, SQLITE_INTERRUPT);
    else if (prepare_call(g, n) != SQLITE_OK)
        sqlite3_result_error(c, sqlite3_errmsg(g->db->plain), -1);
    else
        call_plain(c, g, n, v);
}

/* SQLite checks its limits between steps, never inside a function. Some functions compare all pairs of parts of two
 * arguments, or write as many characters as a number says, so one call could take an hour. Wrappers replace them,
 * estimate the cost, and call SQLite's own functions through a second connection. Returns -1 if memory is out. */
static int guard_functions(struct connection *db)
{
    enum { FLAGS = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS };

    if (sqlite_open_memory(&db->plain, CONNECTION_MAX_VALUE, NULL))
        return -1;
    db->guards = xcalloc(ARRAY_LEN(guarded), sizeof *db->guards);
    for (int i = 0; i < ARRAY_LEN(guarded); i++) {
        const struct guarded *f = &guarded[i];
        db->guards[i] = (struct guard){ .db = db, .function = f };
        if (sqlite3_create_function(db->db, f->name, f->arguments, FLAGS, &db->guards[i], call_guarded, NULL, NULL))
            return -1;
    }
    return 0;
}

static void unguard_functions(struct connection *db)
{
    for (int i = 0; db->guards && i < ARRAY_LEN(guarded); i++)
        sqlite3_finalize(db->guards[i].call);
    free(db->guards);
    db->guards = NULL;
    sqlite3_close(db->plain);
    db->plain = NULL;
}

/* --- Database files: locks, reopening, and consistent reads --- */

enum { TRIES = 20 };

/* Maximum seconds to wait for another program's lock. */
static const double LOCKED_SECONDS = 10;

/* SQLite's busy handler; returns 0 to give up. */
static int wait_for_lock(void *of, int count)
{
    enum { SHORT = 1, LONG = 10 }; /* milliseconds */
    const struct connection *db = of;
    double now = now_seconds(), begun = db->deadline - db->limits.seconds;

    if (now > db->deadline - 0.1 || now > begun + LOCKED_SECONDS)
        return 0;
    sqlite3_sleep(count < 10 ? SHORT : LONG);
    return 1;
}

static void close_file(struct connection *db);
static int set_up(struct connection *db, struct error *err);

/* Opens the file at db->path. Returns -1 with an error. */
static int open_file(struct connection *db, struct error *err)
{
    database_state_look(&db->state, db->path);
    int rc = sqlite_open_file(&db->file, db->path, db->ways, CONNECTION_MAX_VALUE, err);
    db->db = db->file.db;
    if (rc == 0 && (rc = set_up(db, err)) == 0)
        sqlite3_busy_handler(db->db, wait_for_lock, db);
    if (rc)
        close_file(db);
    return rc;
}

static void close_file(struct connection *db)
{
    if (!db->path)
        return;
    db->notes |= db->file.view ? sqlite_view_notes(db->file.view) : 0;
    sqlite_close_file(&db->file);
    db->db = NULL;
    unguard_functions(db);
}

unsigned connection_notes(const struct connection *db)
{
    return db->notes | (db->file.view ? sqlite_view_notes(db->file.view) : 0);
}

/* Errors leave out the path, as if the file had been open. */
static int open_for_statement(struct connection *db)
{
    struct error err = { 0 };
    size_t n = strlen(db->path);

    if (open_file(db, &err) == 0)
        return 0;
    bool named = strncmp(err.text, db->path, n) == 0 && strncmp(err.text + n, ": ", 2) == 0;
    return end_statement(db, EXEC_FAILED, "%s", named ? err.text + n + 2 : err.text);
}

/* Takes the lock again. */
static int take_lock(struct connection *db)
{
    int rc, count = 0;

    while ((rc = sqlite_view_wake(db->file.view)) == SQLITE_BUSY && wait_for_lock(db, count))
        count++;
    return rc == SQLITE_OK ? 0 : end_with_sqlite(db, rc);
}

/* Reopens the file before a statement if it has changed. Returns -1 after stopping the statement. */
static int refresh(struct connection *db)
{
    struct database_state now;

    if (!db->path)
        return 0;
    if (db->db && take_lock(db))
        return -1;
    database_state_look(&now, db->path);
    if (db->db && database_state_same(&db->state, &now))
        return 0;
    if (db->db)
        db->ways = 0;
    close_file(db);
    return open_for_statement(db);
}

/* Restarts the statement within its remaining time. */
static void restart_statement(struct connection *db)
{
    double deadline = db->deadline;

    begin_statement(db);
    db->deadline = deadline;
}

static bool may_run_again(struct connection *db, int tries)
{
    if (tries < TRIES && now_seconds() < db->deadline)
        return true;
    db->status = EXEC_OK;
    end_statement(db, EXEC_FAILED,
                  "the database changes faster than it can be read: its -shm file, whose locks would "
                  "keep writers apart, is missing or cannot be used");
    return false;
}

/* Returns whether the statement must run again because it may have seen two states of the database. SQLite's locks
 * prevent this if other programs respect them. For private views (sqlite_view.h) and replaced files, the states of the
 * files are compared. `tries` counts the runs so far. */
static bool is_torn(struct connection *db, int tries)
{
    if (!db->path || !db->db)
        return false;
    bool torn = sqlite_file_is_torn(&db->file, db->path, &db->state), young = db->state.young;
    unsigned ways = torn ? 0 : sqlite_better_ways(db->ways, db->code);
    bool hot = db->code == SQLITE_READONLY_ROLLBACK; /* happens briefly while a writer starts */
    if (!torn && !hot && ways == db->ways)
        return false;
    close_file(db);
    if (!may_run_again(db, tries))
        return false;
    if (torn && young)
        sqlite3_sleep((int)(1e3 * DATABASE_STATE_SETTLES));
    db->ways = ways;
    restart_statement(db);
    return true;
}

/* Releases all locks until the next statement. */
static void release_locks(struct connection *db)
{
    if (db->path && db->db && !sqlite_view_rest(db->file.view))
        close_file(db);
}

/* --- Running a statement, and its rows --- */

static size_t keep(struct rows *r, const void *bytes, size_t n)
{
    size_t at = r->used;

    if (r->size - r->used < n + 1) {
        r->size = 2 * r->size > r->used + n + 1 ? 2 * r->size : r->used + n + 1;
        r->heap = xrealloc(r->heap, r->size);
    }
    if (n)
        memcpy(r->heap + at, bytes, n);
    r->heap[at + n] = '\0';
    r->used += n + 1;
    return at;
}

static int64_t bytes_of(const struct rows *r)
{
    return r->n * r->columns * (int64_t)sizeof *r->cells + (int64_t)r->used;
}

static int keep_bytes(struct connection *db, struct rows *r, struct cell *c, const void *bytes, int n)
{
    if (!bytes && n)
        return end_with_sqlite(db, SQLITE_NOMEM);
    if (bytes_of(r) + r->columns * (int64_t)sizeof *r->cells + n > db->limits.bytes)
        return end_statement(db, EXEC_STOPPED, "a result of more than %lld bytes", (long long)db->limits.bytes);
    c->n = n;
    c->integer = (int64_t)keep(r, bytes, (size_t)n);
    return 0;
}

static int read_text(struct connection *db, struct rows *r, struct cell *c, sqlite3_stmt *row, int i)
{
    const char *text = (const char *)sqlite3_column_text(row, i);
    int n = sqlite3_column_bytes(row, i);

    if (!text)
        return end_with_sqlite(db, SQLITE_NOMEM);
    if (db->limits.python_text && !is_utf8(text, (size_t)n))
        return end_statement(db, EXEC_FAILED, "Could not decode to UTF-8 column '%s' of row %lld",
                             sqlite3_column_name(row, i), (long long)r->n + 1);
    return keep_bytes(db, r, c, text, n);
}

static int read_cell(struct connection *db, struct rows *r, struct cell *c, sqlite3_stmt *row, int i)
{
    *c = (struct cell){ 0 };
    switch (sqlite3_column_type(row, i)) {
    case SQLITE_INTEGER:
        c->type = CELL_INTEGER;
        c->integer = sqlite3_column_int64(row, i);
        return 0;
    case SQLITE_FLOAT:
        c->type = CELL_REAL;
        c->real = sqlite3_column_double(row, i);
        return 0;
    case SQLITE_TEXT:
        c->type = CELL_TEXT;
        return read_text(db, r, c, row, i);
    case SQLITE_BLOB:
        c->type = CELL_BLOB;
        const void *bytes = sqlite3_column_blob(row, i);
        return keep_bytes(db, r, c, bytes, sqlite3_column_bytes(row, i));
    default:
        return 0;
    }
}

static int read_row(struct connection *db, struct rows *r, sqlite3_stmt *row)
{
    if (r->n == db->limits.rows)
        return end_statement(db, EXEC_STOPPED, "more than %lld rows", (long long)db->limits.rows);
    if ((r->n + 1) * r->columns > r->cap) {
        r->cap = 2 * (r->n + 1) * r->columns;
        r->cells = xrealloc(r->cells, (size_t)r->cap * sizeof *r->cells);
    }
    if (bytes_of(r) + r->columns * (int64_t)sizeof *r->cells > db->limits.bytes)
        return end_statement(db, EXEC_STOPPED, "a result of more than %lld bytes", (long long)db->limits.bytes);
    for (int i = 0; i < r->columns; i++)
        if (read_cell(db, r, &r->cells[r->n * r->columns + i], row, i))
            return -1;
    r->n++;
    return 0;
}

static int read_rows(struct connection *db, struct rows *r, sqlite3_stmt *stmt)
{
    int rc;

    r->columns = sqlite3_column_count(stmt);
    for (int i = 0; i < r->columns; i++) {
        const char *name = sqlite3_column_name(stmt, i);
        if (!name)
            return end_with_sqlite(db, SQLITE_NOMEM);
        keep(r, name, strlen(name));
    }
    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW)
        if (read_row(db, r, stmt))
            return -1;
    return rc == SQLITE_DONE ? 0 : end_with_sqlite(db, rc);
}

/* Skips white space, semicolons and comments. */
static const char *skip_space(const char *sql)
{
    for (;;) {
        sql += strspn(sql, " \t\r\n\f;");
        bool block = strncmp(sql, "/*", 2) == 0;
        if (!block && strncmp(sql, "--", 2) != 0)
            return sql;
        const char *end = strstr(sql + 2, block ? "*/" : "\n");
        if (!end)
            return sql + strlen(sql);
        sql = end + (block ? 2 : 1);
    }
}

static int check_text(struct connection *db, const char *sql, size_t n)
{
    if (n > SQL_MAX_TEXT)
        return end_statement(db, EXEC_REFUSED, "expected at most %d bytes of SQL, got %zu", SQL_MAX_TEXT, n);
    if (memchr(sql, '\0', n))
        return end_statement(db, EXEC_REFUSED, "unexpected NUL in the SQL at byte %zu", strlen(sql));
    if (!is_utf8(sql, n))
        return end_statement(db, EXEC_REFUSED, "the SQL is not valid UTF-8");
    return *skip_space(sql) ? 0 : end_statement(db, EXEC_REFUSED, "no statement");
}

/* Accepts exactly one SELECT. */
static int check_statement(struct connection *db, sqlite3_stmt *stmt, const char *rest)
{
    if (*skip_space(rest))
        return end_statement(db, EXEC_REFUSED, "more than one statement");
    if (sqlite3_stmt_isexplain(stmt))
        return end_statement(db, EXEC_REFUSED, "EXPLAIN is not allowed");
    if (!sqlite3_stmt_readonly(stmt) || !sqlite3_column_count(stmt))
        return end_statement(db, EXEC_REFUSED, "expected a SELECT statement");
    if (sqlite3_bind_parameter_count(stmt))
        return end_statement(db, EXEC_FAILED, "%d parameters without a value", sqlite3_bind_parameter_count(stmt));
    return 0;
}

static void run_text(struct connection *db, struct rows *r, const char *sql, size_t n)
{
    sqlite3_stmt *stmt = NULL;
    const char *rest;

    if (check_text(db, sql, n))
        return;
    int rc = sqlite3_prepare_v2(db->db, skip_space(sql), -1, &stmt, &rest);
    if (rc != SQLITE_OK)
        end_with_sqlite(db, rc);
    else if (check_statement(db, stmt, rest) == 0)
        read_rows(db, r, stmt);
    sqlite3_finalize(stmt);
}

enum exec_status connection_run(struct connection *db, struct rows *rows, const char *sql, size_t n, const char **why)
{
    int tries = 0;

    begin_statement(db);
    do {
        rows->columns = 0;
        rows->n = 0;
        rows->used = 0;
        if (refresh(db) == 0)
            run_text(db, rows, sql, n);
    } while (is_torn(db, tries++));
    release_locks(db);
    *why = db->why;
    return db->status;
}

void rows_release(struct rows *r)
{
    free(r->cells);
    free(r->heap);
    *r = (struct rows){ 0 };
}

/* --- Opening and closing --- */

/* Replaces a collation that only the database's own program defines. Statements that do not use the collation still
 * run. */
static int compare_by_none(void *of, int a_size, const void *a, int b_size, const void *b)
{
    (void)a_size, (void)a, (void)b_size, (void)b;
    end_statement(of, EXEC_FAILED, "the statement uses a collation that is missing");
    sqlite3_interrupt(((struct connection *)of)->db);
    return 0;
}

static void add_collation(void *of, sqlite3 *db, int encoding, const char *name)
{
    (void)encoding;
    sqlite3_create_collation(db, name, SQLITE_UTF8, of, compare_by_none);
}

/* Sets up db->db: function wrappers, authorizer and limits. Returns -1 with EXIT_CODE_MEMORY. */
static int set_up(struct connection *db, struct error *err)
{
    /* these modules read only the database */
    static const char *const modules[] = {
        "json_each", "json_tree", "fts3", "fts4", "fts5", "rtree", "rtree_i32", NULL
    };

    sqlite3_db_config(db->db, SQLITE_DBCONFIG_DQS_DML, 1, NULL); /* Spider writes strings as "English" */
    sqlite3_drop_modules(db->db, (const char **)modules);
    sqlite3_limit(db->db, SQLITE_LIMIT_VDBE_OP, MAX_PROGRAM);
    sqlite3_limit(db->db, SQLITE_LIMIT_SQL_LENGTH, SQL_MAX_TEXT);
    sqlite3_exec(db->db, "PRAGMA temp_store = MEMORY; PRAGMA cell_size_check = ON", NULL, NULL, NULL);
    if (guard_functions(db) || hide_functions(db))
        return error_set(err, EXIT_CODE_MEMORY, "SQLite: %s", sqlite3_errmsg(db->db));
    sqlite3_collation_needed(db->db, db, add_collation);
    sqlite3_set_authorizer(db->db, authorize, db);
    sqlite3_progress_handler(db->db, STEPS_PER_CHECK, on_steps, db);
    return 0;
}

/* Reads the schema, so that a file that is not a database is reported here. */
static int check_schema(struct connection *db, const char *path, struct error *err)
{
    static const char sql[] = "SELECT count(*), total(type = 'view') FROM sqlite_schema";
    struct rows r = { 0 };
    const char *why;
    int rc = 0;

    if (connection_run(db, &r, sql, sizeof sql - 1, &why) != EXEC_OK)
        rc = error_set(err, EXIT_CODE_DATA, "%s: %s", path, why);
    else if (r.cells[0].integer == 0)
        rc = error_set(err, EXIT_CODE_DATA, "%s: the database has no tables", path);
    else if (r.cells[1].real > MAX_VIEWS)
        rc =
            error_set(err, EXIT_CODE_DATA, "%s: expected at most %d views, got %.0f", path, MAX_VIEWS, r.cells[1].real);
    rows_release(&r);
    return rc;
}

struct connection *connection_open(const char *path, bool schema, const struct exec_limits *limits, struct error *err)
{
    struct connection *db = new_connection(limits);

    db->schema = schema;
    db->path = xstrdup(path);
    if (open_file(db, err) == 0 && check_schema(db, path, err) == 0)
        return db;
    connection_close(db);
    return NULL;
}

static int script_error(struct connection *db, const char *statement, int rc, struct error *err)
{
    size_t begin = strspn(statement, " \t\r\n");

    end_with_sqlite(db, rc);
    return error_set(err, EXIT_CODE_DATA, "\"%.60s\": %s", statement + begin, db->why);
}

/* Runs the first statement of a script; *rest points after it. */
static int run_statement(struct connection *db, const char *script, const char **rest, struct error *err)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(db->db, script, -1, &stmt, rest);

    db->calls = 0;
    if (rc == SQLITE_OK && sqlite3_column_count(stmt) > 0)
        rc = end_statement(db, EXEC_REFUSED, "SELECT is not allowed");
    if (rc == SQLITE_OK && stmt)
        rc = sqlite3_step(stmt) == SQLITE_DONE ? SQLITE_OK : sqlite3_errcode(db->db);
    sqlite3_finalize(stmt);
    return rc == SQLITE_OK ? 0 : script_error(db, script, rc, err);
}

static int run_script(struct connection *db, const char *script, struct error *err)
{
    sqlite3_limit(db->db, SQLITE_LIMIT_SQL_LENGTH, CONNECTION_MEMORY);
    sqlite3_limit(db->db, SQLITE_LIMIT_VDBE_OP, CONNECTION_MEMORY);
    db->filling = true;
    while (*script)
        if (run_statement(db, script, &script, err))
            return -1;
    if (!sqlite3_get_autocommit(db->db))
        return error_set(err, EXIT_CODE_DATA, "the script ends within a transaction");
    db->filling = false;
    sqlite3_limit(db->db, SQLITE_LIMIT_SQL_LENGTH, SQL_MAX_TEXT);
    sqlite3_limit(db->db, SQLITE_LIMIT_VDBE_OP, MAX_PROGRAM);
    return 0;
}

struct connection *connection_open_script(const char *script, bool schema, const struct exec_limits *limits,
                                          struct error *err)
{
    struct connection *db = new_connection(limits);

    db->schema = schema;
    if (sqlite_open_memory(&db->db, CONNECTION_MAX_VALUE, err) == 0 && set_up(db, err) == 0 &&
        run_script(db, script, err) == 0)
        return db;
    connection_close(db);
    return NULL;
}

void connection_close(struct connection *db)
{
    if (!db)
        return;
    close_file(db);
    sqlite3_close(db->db);
    unguard_functions(db);
    free(db->path);
    free(db);
}
