/* Part of sqlite_exec.h: connections: what they are told before a stranger's SQL comes. */
#include "data/exec/sqlite_exec_impl.h"
#include "data/sql/sql.h"
#include "data/util/json.h"
#include "data/util/log.h"
#include "data/util/sqlite_open.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum {
    STEPS_PER_CHECK = 100,
    STEPS_PER_LOOK = 1000, /* at the clock, at the most, since that may take as long as a hundred steps */
    MAX_PROGRAM = 100000,  /* instructions of one statement: they can stand in a row, without a check */
    MAX_VIEWS = 500        /* in one database: each may stand on another, and SQLite follows them by recursion */
};

const struct exec_limits exec_limits_default = {
    .steps = 500000000, .rows = 1000000, .bytes = 256 << 20, .seconds = 120
};

const char *exec_status_name(enum exec_status s)
{
    static const char *const names[] = { "ok", "refused", "failed", "stopped" };
    return names[s];
}

void exec_begin(struct exec_db *db)
{
    db->steps = 0;
    db->next_look = 0;
    db->calls = 0;
    db->deadline = now_seconds() + db->limits.seconds;
    db->status = EXEC_OK;
}

int exec_end(struct exec_db *db, enum exec_status status, const char *fmt, ...)
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

int exec_end_sqlite(struct exec_db *db, int rc)
{
    if (rc == SQLITE_NOMEM)
        return exec_end(db, EXEC_STOPPED, "more than %d MiB of memory, or %d instructions", EXEC_MEMORY >> 20,
                        MAX_PROGRAM);
    if (rc == SQLITE_TOOBIG)
        return exec_end(db, EXEC_STOPPED, "a text, blob or row of more than %d bytes", EXEC_MAX_VALUE);
    return exec_end(db, EXEC_FAILED, "%s", sqlite3_errmsg(db->db));
}

/* The next look comes sooner where steps are slow. */
static void look_at_clock(struct exec_db *db)
{
    double now = now_seconds();

    if (now > db->deadline)
        exec_end(db, EXEC_STOPPED, "more than %g seconds", db->limits.seconds);
    db->stride = now - db->looked > 0.001 ? STEPS_PER_CHECK : 2 * db->stride;
    if (db->stride > STEPS_PER_LOOK)
        db->stride = STEPS_PER_LOOK;
    db->looked = now;
    db->next_look = db->steps + db->stride;
}

bool exec_charge(struct exec_db *db, int64_t steps)
{
    db->steps += steps;
    if (db->steps > db->limits.steps)
        exec_end(db, EXEC_STOPPED, "more than %lld steps", (long long)db->limits.steps);
    else if (db->steps >= db->next_look)
        look_at_clock(db);
    return db->status == EXEC_OK;
}

bool exec_is_utf8(const char *text, size_t n)
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
    return !exec_charge(of, STEPS_PER_CHECK);
}

static struct exec_db *new_db(const struct exec_limits *limits)
{
    struct exec_db *db = xcalloc(1, sizeof *db);

    db->limits = *limits;
    sqlite3_hard_heap_limit64(EXEC_MEMORY);
    exec_begin(db);
    return db;
}

static int set_up(struct exec_db *db, struct error *err)
{
    static const char *const no_modules[] = { "json_each", "json_tree", NULL };

    sqlite3_db_config(db->db, SQLITE_DBCONFIG_DQS_DML, 1, NULL); /* "English" is a string in Spider */
    sqlite3_drop_modules(db->db, (const char **)no_modules);
    sqlite3_limit(db->db, SQLITE_LIMIT_VDBE_OP, MAX_PROGRAM);
    sqlite3_limit(db->db, SQLITE_LIMIT_SQL_LENGTH, SQL_MAX_TEXT);
    sqlite3_exec(db->db, "PRAGMA temp_store = MEMORY; PRAGMA cell_size_check = ON", NULL, NULL, NULL);
    if (exec_guard_functions(db))
        return error_set(err, EXIT_CODE_MEMORY, "SQLite: %s", sqlite3_errmsg(db->db));
    sqlite3_set_authorizer(db->db, exec_authorize, db);
    sqlite3_progress_handler(db->db, STEPS_PER_CHECK, on_steps, db);
    return 0;
}

/* Reads the schema, so that a file which is no database shows here. */
static int check_schema(struct exec_db *db, const char *path, struct error *err)
{
    struct exec_result r = exec_run(db, "SELECT count(*), total(type = 'view') FROM sqlite_schema");
    int rc = 0;

    if (r.status != EXEC_OK)
        rc = error_set(err, EXIT_CODE_DATA, "%s: %s", path, r.message);
    else if (r.cells[0].integer == 0)
        rc = error_set(err, EXIT_CODE_DATA, "%s: holds no table", path);
    else if (r.cells[1].real > MAX_VIEWS)
        rc = error_set(err, EXIT_CODE_DATA, "%s: holds %.0f views, at most %d are taken", path, r.cells[1].real,
                       MAX_VIEWS);
    exec_result_release(&r);
    return rc;
}

struct exec_db *exec_open(const char *path, const struct exec_limits *limits, struct error *err)
{
    struct exec_db *db = new_db(limits);

    if (sqlite_open_file(&db->db, path, EXEC_MAX_VALUE, err) == 0 && set_up(db, err) == 0 &&
        check_schema(db, path, err) == 0)
        return db;
    exec_close(db);
    return NULL;
}

static int script_error(struct exec_db *db, const char *statement, int rc, struct error *err)
{
    size_t begin = strspn(statement, " \t\r\n");

    exec_end_sqlite(db, rc);
    return error_set(err, EXIT_CODE_DATA, "\"%.60s\": %s", statement + begin, db->why);
}

/* Runs the statement that script begins with; *rest is what follows it. */
static int run_statement(struct exec_db *db, const char *script, const char **rest, struct error *err)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(db->db, script, -1, &stmt, rest);

    db->calls = 0;
    if (rc == SQLITE_OK && sqlite3_column_count(stmt) > 0)
        rc = exec_end(db, EXEC_REFUSED, "SELECT is not allowed");
    if (rc == SQLITE_OK && stmt)
        rc = sqlite3_step(stmt) == SQLITE_DONE ? SQLITE_OK : sqlite3_errcode(db->db);
    sqlite3_finalize(stmt);
    return rc == SQLITE_OK ? 0 : script_error(db, script, rc, err);
}

static int run_script(struct exec_db *db, const char *script, struct error *err)
{
    sqlite3_limit(db->db, SQLITE_LIMIT_SQL_LENGTH, EXEC_MEMORY);
    sqlite3_limit(db->db, SQLITE_LIMIT_VDBE_OP, EXEC_MEMORY);
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

struct exec_db *exec_open_script(const char *script, const struct exec_limits *limits, struct error *err)
{
    struct exec_db *db = new_db(limits);

    if (sqlite_open_memory(&db->db, EXEC_MAX_VALUE, err) == 0 && set_up(db, err) == 0 &&
        run_script(db, script, err) == 0)
        return db;
    exec_close(db);
    return NULL;
}

void exec_close(struct exec_db *db)
{
    if (!db)
        return;
    sqlite3_close(db->db);
    exec_guard_release(db);
    free(db);
}
