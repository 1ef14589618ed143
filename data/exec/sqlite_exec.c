#include "data/exec/sqlite_exec.h"

#include "data/exec/sql_worker.h"
#include "data/util/log.h"
#include "data/util/strings.h"
#include "data/util/work_limit.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

/* A database that is open in a worker, with what it takes to open it in another one. */
struct exec_db {
    struct sql_worker *worker;
    int number;
    int64_t age; /* of the worker that has it open */
    enum wire_op how;
    char *text; /* path or script */
    struct exec_limits limits;
};

const struct exec_limits exec_limits_default = {
    .steps = 500000000, .rows = 1000000, .bytes = 256 << 20, .seconds = 120
};
const struct exec_limits exec_limits_preview = { .steps = 20000000, .rows = 20000, .bytes = 1 << 20, .seconds = 5 };

const char *exec_status_name(enum exec_status s)
{
    static const char *const names[] = { "ok", "refused", "failed", "stopped" };
    return names[s];
}

const char *exec_sqlite_version(void)
{
    return sqlite3_libversion();
}

/* Names stand at the beginning of the heap. */
static bool find_names(struct exec_result *r, size_t heap)
{
    char *at = r->block, *end = at + heap;

    for (int i = 0; i < r->columns; i++) {
        char *nul = memchr(at, '\0', (size_t)(end - at));
        if (!nul)
            return false;
        r->names[i] = at;
        at = nul + 1;
    }
    return true;
}

/* Turns places in the heap into pointers. */
static bool find_bytes(struct exec_result *r, size_t heap)
{
    const char *block = r->block;

    for (int64_t i = 0; i < r->n * r->columns; i++) {
        struct cell *c = &r->cells[i];
        uint64_t at = (uint64_t)c->integer;
        if ((unsigned)c->type > CELL_BLOB)
            return false;
        if (c->type != CELL_TEXT && c->type != CELL_BLOB)
            continue;
        if (c->n < 0 || at >= heap || (uint64_t)c->n >= heap - at || block[at + (uint64_t)c->n])
            return false;
        c->bytes = block + at;
    }
    return true;
}

static bool can_be(const struct exec_limits *limits, const struct wire_answer *a)
{
    int64_t row = a->columns * (int64_t)sizeof(struct cell);

    if (a->status != EXEC_OK)
        return a->status > EXEC_OK && a->status <= EXEC_STOPPED && a->rows == 0 && a->columns == 0 && a->heap > 0 &&
               a->heap <= WIRE_MAX_MESSAGE;
    return a->columns >= 0 && a->columns <= WIRE_MAX_COLUMNS && a->rows >= 0 && a->rows <= limits->rows &&
           (a->rows == 0 || (row > 0 && a->rows <= limits->bytes / row)) &&
           a->heap <= (size_t)limits->bytes + WIRE_MAX_NAMES;
}

static enum sql_worker_end take_rows(struct exec_db *db, struct exec_result *r, size_t heap, struct error *err)
{
    size_t cells = (size_t)r->n * (size_t)r->columns * sizeof *r->cells;

    r->cells = xmalloc(cells + 1);
    r->names = xcalloc((size_t)r->columns, sizeof *r->names);
    r->block = xmalloc(heap + 1);
    enum sql_worker_end end = sql_worker_take(db->worker, r->cells, cells, err);
    if (end == WORKER_ANSWERS)
        end = sql_worker_take(db->worker, r->block, heap, err);
    if (end == WORKER_ANSWERS && !(find_names(r, heap) && find_bytes(r, heap)))
        end = sql_worker_refuse(db->worker, err);
    r->bytes = (int64_t)(cells + heap);
    return end;
}

static enum sql_worker_end take_message(struct exec_db *db, struct exec_result *r, size_t heap, struct error *err)
{
    r->message = xcalloc(heap + 1, 1);
    return sql_worker_take(db->worker, r->message, heap, err);
}

/* Once for each file. */
static void tell_once(const char *path, const char *what)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct strings told;
    char *text;

    CHECK(asprintf(&text, "%s: %s", path, what) >= 0, "out of memory");
    pthread_mutex_lock(&lock);
    int n = told.n;
    if (strings_add(&told, text) == n)
        log_info("%s", text);
    pthread_mutex_unlock(&lock);
    free(text);
}

static void tell_notes(const struct exec_db *db, unsigned notes)
{
    if (notes & VIEW_WITH_WAL)
        tell_once(db->text, "read together with the commits in its -wal file");
    if (notes & VIEW_ROLLED_BACK)
        tell_once(db->text, "an unfinished transaction in its -journal file was rolled back in memory; the file itself "
                            "is unchanged");
}

/* Sends the request and takes the answer into r; the error's code is the worker's for what it could not open. */
static enum sql_worker_end exchange(struct exec_db *db, enum wire_op op, const char *text, size_t n,
                                    struct exec_result *r, struct error *err)
{
    struct wire_request q;
    struct wire_answer a;

    memset(&q, 0, sizeof q); /* its padding travels too */
    q = (struct wire_request){ .op = op, .db = db->number, .limits = db->limits, .n = n };
    enum sql_worker_end end = sql_worker_ask(db->worker, &q, text, err);
    if (end == WORKER_ANSWERS)
        end = sql_worker_take(db->worker, &a, sizeof a, err);
    if (end != WORKER_ANSWERS)
        return end;
    if (!can_be(&db->limits, &a))
        return sql_worker_refuse(db->worker, err);
    tell_notes(db, a.notes);
    *r = (struct exec_result){ .status = a.status, .columns = a.columns, .n = a.rows };
    if (a.status == EXEC_OK)
        return take_rows(db, r, a.heap, err);
    end = take_message(db, r, a.heap, err);
    if (end == WORKER_ANSWERS && op != WIRE_RUN)
        error_set(err, a.code, "%s", r->message);
    return end;
}

/* Opens it in the worker, which may have died since it was started; -1 with an error. */
static int open_there(struct exec_db *db, struct error *err)
{
    enum sql_worker_end end = WORKER_GONE;
    struct exec_result r = { 0 };

    for (int tries = 0; tries < 2 && end == WORKER_GONE; tries++) {
        db->age = sql_worker_age(db->worker, err);
        if (!db->age)
            return -1;
        end = exchange(db, db->how, db->text, strlen(db->text), &r, err);
    }
    bool open = end == WORKER_ANSWERS && r.status == EXEC_OK;
    exec_result_release(&r);
    if (!open)
        db->age = 0;
    if (end != WORKER_ANSWERS)
        error_prefix(err, "%s",
                     db->how == WIRE_OPEN_SCRIPT || db->how == WIRE_OPEN_SCRIPT_SCHEMA ? "a database in memory"
                                                                                       : db->text);
    return open ? 0 : -1;
}

static struct exec_db *open_db(enum wire_op how, const char *text, const struct exec_limits *limits, struct error *err)
{
    struct exec_db *db = xcalloc(1, sizeof *db);

    db->how = how;
    db->text = xstrdup(text);
    db->limits = *limits;
    db->worker = sql_worker_join(&db->number);
    sql_worker_lock(db->worker);
    int rc = open_there(db, err);
    sql_worker_unlock(db->worker);
    if (rc == 0)
        return db;
    exec_close(db);
    return NULL;
}

struct exec_db *exec_open(const char *path, const struct exec_limits *limits, struct error *err)
{
    return open_db(WIRE_OPEN_FILE, path, limits, err);
}

struct exec_db *exec_open_schema(const char *path, const struct exec_limits *limits, struct error *err)
{
    return open_db(WIRE_OPEN_SCHEMA, path, limits, err);
}

struct exec_db *exec_open_script(const char *script, const struct exec_limits *limits, struct error *err)
{
    return open_db(WIRE_OPEN_SCRIPT, script, limits, err);
}

struct exec_db *exec_open_script_schema(const char *script, const struct exec_limits *limits, struct error *err)
{
    return open_db(WIRE_OPEN_SCRIPT_SCHEMA, script, limits, err);
}

void exec_close(struct exec_db *db)
{
    if (!db)
        return;
    sql_worker_leave(db->worker, db->number, db->age);
    free(db->text);
    free(db);
}

static struct exec_result run(struct exec_db *db, const char *sql, size_t n)
{
    enum sql_worker_end end = WORKER_GONE;
    struct exec_result r = { 0 };
    struct error err;

    for (int tries = 0; tries < 2 && end == WORKER_GONE; tries++) {
        int64_t age = sql_worker_age(db->worker, &err);
        if (!age || (age != db->age && open_there(db, &err)))
            break;
        end = exchange(db, WIRE_RUN, sql, n, &r, &err);
    }
    if (end == WORKER_ANSWERS)
        return r;
    exec_result_release(&r);
    bool stopped = end == WORKER_STOPPED || work_limit_ended();
    return (struct exec_result){ .status = stopped ? EXEC_STOPPED : EXEC_FAILED, .message = xstrdup(err.text) };
}

struct exec_result exec_run_bytes(struct exec_db *db, const char *sql, size_t n)
{
    sql_worker_lock(db->worker);
    struct exec_result r = run(db, sql, n);
    sql_worker_unlock(db->worker);
    return r;
}

struct exec_result exec_run(struct exec_db *db, const char *sql)
{
    return exec_run_bytes(db, sql, strlen(sql));
}

void exec_result_release(struct exec_result *r)
{
    free(r->cells);
    free(r->names);
    free(r->block);
    free(r->message);
    *r = (struct exec_result){ 0 };
}
