/* Part of connection.h: connections: what they are told before a stranger's SQL comes. */
#include "data/sql/sql.h"
#include "data/util/json.h"
#include "data/util/log.h"
#include "data/worker/connection_impl.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum {
    STEPS_PER_CHECK = 100,
    STEPS_PER_LOOK = 1000, /* at the clock, at the most, since that may take as long as a hundred steps */
    MAX_PROGRAM = 100000,  /* instructions of one statement: they can stand in a row, without a check */
    MAX_VIEWS = 5000       /* in one database: SQLite follows those that stand on others by recursion */
};

void connection_begin(struct connection *db)
{
    db->steps = 0;
    db->next_look = 0;
    db->calls = 0;
    db->deadline = now_seconds() + db->limits.seconds;
    db->status = EXEC_OK;
    db->code = SQLITE_OK;
}

int connection_end(struct connection *db, enum exec_status status, const char *fmt, ...)
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

/* What a view of a file says better than SQLite. */
static int end_in_view(struct connection *db, int rc)
{
    const char *trouble = db->file.view ? sqlite_view_trouble(db->file.view) : NULL;

    if ((rc & 0xff) == SQLITE_BUSY)
        return connection_end(db, EXEC_FAILED, "the database is locked by another program");
    return connection_end(db, EXEC_FAILED, "%s", trouble ? trouble : sqlite3_errmsg(db->db));
}

int connection_end_sqlite(struct connection *db, int rc)
{
    int extended = sqlite3_extended_errcode(db->db);

    if (db->status == EXEC_OK)
        db->code = (extended & 0xff) == rc ? extended : rc;
    if (rc == SQLITE_NOMEM)
        return connection_end(db, EXEC_STOPPED, "more than %d MiB of memory, or %d instructions",
                              CONNECTION_MEMORY >> 20, MAX_PROGRAM);
    if (rc == SQLITE_TOOBIG)
        return connection_end(db, EXEC_STOPPED, "a text, blob or row of more than %d bytes", CONNECTION_MAX_VALUE);
    return end_in_view(db, rc);
}

/* The next look comes sooner where steps are slow. */
static void look_at_clock(struct connection *db)
{
    double now = now_seconds();

    if (now > db->deadline)
        connection_end(db, EXEC_STOPPED, "more than %g seconds", db->limits.seconds);
    db->stride = now - db->looked > 0.001 ? STEPS_PER_CHECK : 2 * db->stride;
    if (db->stride > STEPS_PER_LOOK)
        db->stride = STEPS_PER_LOOK;
    db->looked = now;
    db->next_look = db->steps + db->stride;
}

bool connection_charge(struct connection *db, int64_t steps)
{
    db->steps += steps;
    if (db->steps > db->limits.steps)
        connection_end(db, EXEC_STOPPED, "more than %lld steps", (long long)db->limits.steps);
    else if (db->steps >= db->next_look)
        look_at_clock(db);
    return db->status == EXEC_OK;
}

bool connection_is_utf8(const char *text, size_t n)
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
    return !connection_charge(of, STEPS_PER_CHECK);
}

static struct connection *new_connection(const struct exec_limits *limits)
{
    struct connection *db = xcalloc(1, sizeof *db);

    db->limits = *limits;
    sqlite3_hard_heap_limit64(CONNECTION_MEMORY);
    connection_begin(db);
    return db;
}

/* In place of a collation that only the owner's program has: SQL that does not compare by it runs. */
static int compare_by_none(void *of, int a_size, const void *a, int b_size, const void *b)
{
    (void)a_size, (void)a, (void)b_size, (void)b;
    connection_end(of, EXEC_FAILED, "it compares by a collation that is missing");
    sqlite3_interrupt(((struct connection *)of)->db);
    return 0;
}

static void add_collation(void *of, sqlite3 *db, int encoding, const char *name)
{
    (void)encoding;
    sqlite3_create_collation(db, name, SQLITE_UTF8, of, compare_by_none);
}

int connection_set_up(struct connection *db, struct error *err)
{
    /* none of them reads more than the database */
    static const char *const modules[] = {
        "json_each", "json_tree", "fts3", "fts4", "fts5", "rtree", "rtree_i32", NULL
    };

    sqlite3_db_config(db->db, SQLITE_DBCONFIG_DQS_DML, 1, NULL); /* "English" is a string in Spider */
    sqlite3_drop_modules(db->db, (const char **)modules);
    sqlite3_limit(db->db, SQLITE_LIMIT_VDBE_OP, MAX_PROGRAM);
    sqlite3_limit(db->db, SQLITE_LIMIT_SQL_LENGTH, SQL_MAX_TEXT);
    sqlite3_exec(db->db, "PRAGMA temp_store = MEMORY; PRAGMA cell_size_check = ON", NULL, NULL, NULL);
    if (connection_guard(db) || connection_hide_functions(db))
        return error_set(err, EXIT_CODE_MEMORY, "SQLite: %s", sqlite3_errmsg(db->db));
    sqlite3_collation_needed(db->db, db, add_collation);
    sqlite3_set_authorizer(db->db, connection_authorize, db);
    sqlite3_progress_handler(db->db, STEPS_PER_CHECK, on_steps, db);
    return 0;
}

/* Reads the schema, so that a file which is no database shows here. */
static int check_schema(struct connection *db, const char *path, struct error *err)
{
    static const char sql[] = "SELECT count(*), total(type = 'view') FROM sqlite_schema";
    struct rows r = { 0 };
    const char *why;
    int rc = 0;

    if (connection_run(db, &r, sql, sizeof sql - 1, &why) != EXEC_OK)
        rc = error_set(err, EXIT_CODE_DATA, "%s: %s", path, why);
    else if (r.cells[0].integer == 0)
        rc = error_set(err, EXIT_CODE_DATA, "%s: holds no table", path);
    else if (r.cells[1].real > MAX_VIEWS)
        rc = error_set(err, EXIT_CODE_DATA, "%s: holds %.0f views, at most %d are taken", path, r.cells[1].real,
                       MAX_VIEWS);
    rows_release(&r);
    return rc;
}

struct connection *connection_open(const char *path, bool schema, const struct exec_limits *limits, struct error *err)
{
    struct connection *db = new_connection(limits);

    db->schema = schema;
    db->path = xstrdup(path);
    if (connection_open_file(db, err) == 0 && check_schema(db, path, err) == 0)
        return db;
    connection_close(db);
    return NULL;
}

static int script_error(struct connection *db, const char *statement, int rc, struct error *err)
{
    size_t begin = strspn(statement, " \t\r\n");

    connection_end_sqlite(db, rc);
    return error_set(err, EXIT_CODE_DATA, "\"%.60s\": %s", statement + begin, db->why);
}

/* Runs the statement that script begins with; *rest is what follows it. */
static int run_statement(struct connection *db, const char *script, const char **rest, struct error *err)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(db->db, script, -1, &stmt, rest);

    db->calls = 0;
    if (rc == SQLITE_OK && sqlite3_column_count(stmt) > 0)
        rc = connection_end(db, EXEC_REFUSED, "SELECT is not allowed");
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
    if (sqlite_open_memory(&db->db, CONNECTION_MAX_VALUE, err) == 0 && connection_set_up(db, err) == 0 &&
        run_script(db, script, err) == 0)
        return db;
    connection_close(db);
    return NULL;
}

void connection_close(struct connection *db)
{
    if (!db)
        return;
    connection_close_file(db);
    sqlite3_close(db->db);
    connection_unguard(db);
    free(db->path);
    free(db);
}
