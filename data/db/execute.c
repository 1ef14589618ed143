#include "data/db/execute.h"

#include "data/base/journal.h"
#include "data/base/log.h"
#include "data/base/stop.h"
#include "data/base/strings.h"
#include "data/db/db_path.h"
#include "data/db/schema_sqlite.h"
#include "data/db/sqlite_exec.h"
#include "data/schema/schema.h"
#include "data/sql/sql.h"
#include "data/sqlite/database_state.h"
#include "kernels/arena.h"

#include <inttypes.h>
#include <omp.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct exec_keys {
    struct strings paths, texts;
    struct exec_database {
        uint64_t hash;            /* 0 if the file cannot be read */
        struct schema_set schema; /* empty if there is none */
    } * databases;                /* one per path */
    int n, cap;
    struct arena arena;
};

struct exec_query {
    const char *path, *sql; /* a database file and one SELECT */
};

/* Receives the result of the i-th query, which is borrowed. Returns -1 to end the batch. */
typedef int exec_batch_fn(void *user, int64_t i, const struct exec_result *r, struct error *err);

struct exec_batch;

/* --- Results as JSON --- */

static json_t *hex_json(const char *field, const struct cell *c)
{
    static const char digits[] = "0123456789abcdef";
    size_t n = (size_t)c->n;
    char *hex = xmalloc(2 * n + 1);

    for (size_t i = 0; i < n; i++) {
        hex[2 * i] = digits[(unsigned char)c->bytes[i] >> 4];
        hex[2 * i + 1] = digits[c->bytes[i] & 15];
    }
    json_t *o = json_pack("{s:s#}", field, hex, (int)(2 * n));
    free(hex);
    return o;
}

static json_t *cell_json(const struct cell *c)
{
    json_t *v = NULL;

    switch (c->type) {
    case CELL_INTEGER:
        return json_integer(c->integer);
    case CELL_REAL:
        v = json_real(c->real);
        return v ? v : json_pack("{s:s}", "real", c->real < 0 ? "-inf" : "inf");
    case CELL_TEXT:
        v = json_stringn(c->bytes, (size_t)c->n);
        return v ? v : hex_json("text", c);
    case CELL_BLOB:
        return hex_json("blob", c);
    default:
        return json_null();
    }
}

static json_t *rows_json(const struct exec_result *r)
{
    json_t *rows = json_array();

    for (int64_t i = 0; i < r->n; i++) {
        json_t *row = json_array();
        for (int c = 0; c < r->columns; c++)
            json_array_append_new(row, cell_json(&r->cells[i * r->columns + c]));
        json_array_append_new(rows, row);
    }
    return rows;
}

static json_t *names_json(const struct exec_result *r)
{
    json_t *names = json_array();

    for (int c = 0; c < r->columns; c++)
        json_array_append_new(names, json_message(r->names[c]));
    return names;
}

json_t *exec_result_json(const struct exec_result *r)
{
    const char *status = exec_status_name(r->status);

    if (r->status == EXEC_OK)
        return json_pack("{s:s, s:o, s:o}", "status", status, "columns", names_json(r), "rows", rows_json(r));
    return json_pack("{s:s, s:o}", "status", status, "message", json_message(r->message));
}

/* --- Keys: queries are equal if database and canonical text are --- */

enum {
    ARENA_BYTES = 16 << 20, /* for the trees of one text */
    MAX_TEXT = 16 << 10     /* longer texts are compared as they are */
};

static struct exec_database *find_database(struct exec_keys *k, const char *path)
{
    int i = strings_add(&k->paths, path);

    if (i == k->n) {
        GROW(k->databases, k->n, k->cap);
        k->databases[k->n++] = (struct exec_database){ .hash = database_hash(path) };
        if (schema_set_open_sqlite(&k->databases[i].schema, path, false, NULL))
            schema_set_close(&k->databases[i].schema);
    }
    return &k->databases[i];
}

static uint64_t keys_hash(struct exec_keys *k, const char *path)
{
    return find_database(k, path)->hash;
}

/* Returns the text with names resolved by the schema, or NULL if that fails. */
static const char *canonical(struct exec_keys *k, const struct exec_database *d, const char *sql)
{
    struct sql_uses uses;

    if (!d->schema.n || strlen(sql) > MAX_TEXT)
        return NULL;
    arena_reset(&k->arena, 0);
    struct sql_query *q = sql_parse(&k->arena, sql, NULL);
    return q && sql_resolve(&k->arena, q, d->schema.schemas, &uses, NULL) == 0 ? sql_print(&k->arena, q) : NULL;
}

/* Returns the number of a query, counted from 0 in order of arrival, or -1 with EXIT_CODE_MEMORY. */
static int keys_find(struct exec_keys *k, const char *path, const char *sql, struct error *err)
{
    char *text = NULL;

    if (!k->arena.size && arena_init(&k->arena, ARENA_BYTES, err))
        return -1;
    const struct exec_database *d = find_database(k, path);
    const char *same = canonical(k, d, sql);
    int n =
        asprintf(&text, "%016" PRIx64 " %s %s %s", d->hash, d->hash ? "" : path, same ? "=" : "", same ? same : sql);
    CHECK(n >= 0, "no memory for a query of %zu bytes", strlen(sql));
    int key = strings_add(&k->texts, text);
    free(text);
    return key;
}

/* A zeroed struct is ready. */
static void keys_release(struct exec_keys *k)
{
    for (int i = 0; i < k->n; i++)
        schema_set_close(&k->databases[i].schema);
    free(k->databases);
    strings_release(&k->paths);
    strings_release(&k->texts);
    arena_release(&k->arena);
    *k = (struct exec_keys){ 0 };
}

/* --- Batches of queries on all cores --- */

enum {
    MAX_KEPT = 64 << 20, /* bytes of results kept for later queries */
    MAX_HELD = 512 << 20 /* bytes of unreported results above which no query is started */
};

/* A distinct query. Its index is the number of its key. */
struct batch_query {
    struct exec_result result;
    int64_t first, last; /* queries of this run that need it */
    bool done, kept;
};

struct batch_thread {
    struct exec_db *db;
    char *path; /* file of db */
};

struct exec_batch {
    struct exec_limits limits;
    struct exec_keys keys;
    struct batch_query *entries;
    int n, cap;
    struct batch_thread *threads;
    int n_threads;
    int64_t held, kept, runs;
};

static struct exec_batch *batch_open(const struct exec_limits *limits)
{
    struct exec_batch *b = xcalloc(1, sizeof *b);

    b->limits = *limits;
    b->n_threads = omp_get_max_threads();
    b->threads = xcalloc((size_t)b->n_threads, sizeof *b->threads);
    return b;
}

static void batch_close(struct exec_batch *b)
{
    if (!b)
        return;
    for (int i = 0; i < b->n_threads; i++) {
        exec_close(b->threads[i].db);
        free(b->threads[i].path);
    }
    for (int i = 0; i < b->n; i++)
        exec_result_release(&b->entries[i].result);
    keys_release(&b->keys);
    free(b->threads);
    free(b->entries);
    free(b);
}

/* Returns the hash of a file's bytes; 0 if it cannot be read. */
static uint64_t batch_hash(struct exec_batch *b, const char *path)
{
    return keys_hash(&b->keys, path);
}

/* Returns how many queries were run and not answered from earlier results. */
static int64_t batch_runs(const struct exec_batch *b)
{
    return b->runs;
}

static struct batch_query *entry_of(struct exec_batch *b, int key)
{
    while (b->n <= key) {
        GROW(b->entries, b->n, b->cap);
        b->entries[b->n++] = (struct batch_query){ 0 };
    }
    return &b->entries[key];
}

static void connect(struct batch_thread *w, const char *path, const struct exec_limits *limits, struct error *err)
{
    if (w->db && strcmp(w->path, path) == 0)
        return;
    exec_close(w->db);
    free(w->path);
    w->path = xstrdup(path);
    w->db = exec_open(path, limits, err);
}

static struct exec_result run_query(struct exec_batch *b, struct batch_thread *w, const struct exec_query *q)
{
    struct error err = { 0 };

    connect(w, q->path, &b->limits, &err);
    if (w->db)
        return exec_run(w->db, q->sql);
    return (struct exec_result){ .status = EXEC_FAILED, .message = xstrdup(err.text) };
}

static void run_job(struct exec_batch *b, struct batch_query *e, const struct exec_query *q)
{
    e->result = run_query(b, &b->threads[omp_get_thread_num()], q);
    e->done = true;
#pragma omp atomic
    b->held += e->result.bytes;
#pragma omp atomic
    b->runs++;
}

/* Runs the remaining queries from `next` on, as long as memory lasts and at least one. */
static void run_some(struct exec_batch *b, const struct exec_query *queries, const int *keys, int64_t next, int64_t n)
{
    int64_t *jobs = xmalloc((size_t)(n - next) * sizeof *jobs);
    int n_jobs = 0;

    for (int64_t i = next; i < n; i++)
        if (!b->entries[keys[i]].done && b->entries[keys[i]].first == i)
            jobs[n_jobs++] = i;
#pragma omp parallel for schedule(dynamic, 1)
    for (int j = 0; j < n_jobs; j++) {
        int64_t held;
#pragma omp atomic read
        held = b->held;
        if (!stop_requested() && (held <= MAX_HELD || j == 0))
            run_job(b, &b->entries[keys[jobs[j]]], &queries[jobs[j]]);
    }
    free(jobs);
}

/* Keeps a result that this run no longer needs for the next run, or drops it. */
static void settle(struct exec_batch *b, struct batch_query *e)
{
    if (!e->done || e->kept)
        return;
    b->held -= e->result.bytes;
    e->kept = b->kept + e->result.bytes <= MAX_KEPT;
    if (e->kept)
        b->kept += e->result.bytes;
    else
        exec_result_release(&e->result);
    e->done = e->kept;
}

static int find_entries(struct exec_batch *b, const struct exec_query *queries, int *keys, int64_t n, struct error *err)
{
    for (int64_t i = 0; i < n; i++) {
        keys[i] = keys_find(&b->keys, queries[i].path, queries[i].sql, err);
        if (keys[i] < 0)
            return -1;
        entry_of(b, keys[i])->last = i;
    }
    for (int64_t i = n; i-- > 0;)
        b->entries[keys[i]].first = i;
    return 0;
}

/*
 * Calls fn for 0, 1, 2, ... on the caller's thread. If a database cannot be opened, its queries fail. Returns the
 * number of reported queries, which is less than n after a signal (stop.h). Returns -1 if fn did, or with
 * EXIT_CODE_MEMORY.
 */
static int64_t batch_run(struct exec_batch *b, const struct exec_query *queries, int64_t n, exec_batch_fn *fn,
                         void *user, struct error *err)
{
    int *keys = xmalloc((size_t)n * sizeof *keys + 1);
    int64_t next = 0;
    int rc = find_entries(b, queries, keys, n, err);

    while (rc == 0 && next < n && !stop_requested()) {
        run_some(b, queries, keys, next, n);
        for (struct batch_query *e; rc == 0 && next < n && (e = &b->entries[keys[next]])->done; next++) {
            rc = fn(user, next, &e->result, err);
            if (e->last == next)
                settle(b, e);
        }
    }
    for (int64_t i = next; rc == 0 && i < n; i++)
        settle(b, &b->entries[keys[i]]);
    free(keys);
    return rc ? -1 : next;
}

/* --- Records --- */

enum { GROUP = 256 }; /* records at a time */

static const char line_form[] = "shortest"; /* part of the hash of each line; change it with the format of the lines */

static const char failed_note[] = "failed"; /* journal note of a failed line */

/* One input record in progress. */
struct execute_record {
    int64_t number;  /* line number in the input */
    json_t *json;    /* NULL if it could not be read */
    json_t *results; /* one per query */
    char *error, *path;
    bool failed;
    uint64_t key;
    int n; /* number of queries */
};

struct execute_job {
    const struct execute_request *q;
    struct record_reader *in;
    struct exec_batch *batch;
    struct journal journal;
    struct progress progress;
    struct execute_record group[GROUP];
    int n_group, n_written;
    struct exec_query *queries;
    int *owners; /* [n_queries]: index of the query's record */
    int n_queries, queries_cap, owners_cap;
    int64_t records, failed, resumed;
};

static int add_query(struct execute_job *x, struct execute_record *r, const json_t *sql, const char *where,
                     struct error *err)
{
    int owners = x->n_queries;

    if (!json_is_string(sql))
        return error_set(err, EXIT_CODE_DATA, "%s: field \"sql\": expected a string or strings", where);
    GROW(x->queries, x->n_queries, x->queries_cap);
    GROW(x->owners, owners, x->owners_cap);
    x->owners[x->n_queries] = (int)(r - x->group);
    x->queries[x->n_queries++] = (struct exec_query){ r->path, json_string_value(sql) };
    r->n++;
    return 0;
}

static int add_queries(struct execute_job *x, struct execute_record *r, const char *where, struct error *err)
{
    const json_t *sql = json_object_get(r->json, "sql");
    const char *db_id = json_get_string(r->json, "db_id", where, err);

    if (!db_id)
        return -1;
    r->path = db_path(x->q->db, db_id, err);
    if (!r->path)
        return error_prefix(err, "%s: field \"db_id\"", where);
    if (!json_is_array(sql))
        return add_query(x, r, sql, where, err);
    for (size_t i = 0; i < json_array_size(sql); i++)
        if (add_query(x, r, json_array_get(sql, i), where, err))
            return -1;
    return 0;
}

/* Hashes all inputs of the record's line. */
static uint64_t key_of(struct execute_job *x, const struct execute_record *r)
{
    const struct execute_request *q = x->q;
    char *text = r->json ? json_dumps(r->json, JSON_COMPACT) : NULL;
    const char *parts[] = { text ? text : "", r->error ? r->error : "", sqlite3_libversion(), line_form };
    uint64_t h = hash_bytes(HASH_START, &q->steps, sizeof q->steps);

    h = hash_bytes(h, &q->seconds, sizeof q->seconds);
    h = hash_bytes(h, &q->python_text, sizeof q->python_text);
    for (int i = 0; i < ARRAY_LEN(parts); i++)
        h = hash_bytes(h, parts[i], strlen(parts[i]) + 1);
    uint64_t file = r->path ? batch_hash(x->batch, r->path) : 0;
    free(text);
    return hash_bytes(h, &file, sizeof file);
}

static void record_release(struct execute_record *r)
{
    json_decref(r->json);
    json_decref(r->results);
    free(r->error);
    free(r->path);
    *r = (struct execute_record){ 0 };
}

/* Takes json. If json is NULL, `bad` is the error. */
static void add_record(struct execute_job *x, json_t *json, struct error *bad)
{
    struct execute_record *r = &x->group[x->n_group];
    int queries = x->n_queries;

    db_path_name(x->q->db, json);
    *r = (struct execute_record){ .json = json, .number = record_reader_number(x->in), .results = json_array() };
    if (!json || add_queries(x, r, record_reader_where(x->in), bad)) {
        r->error = xstrdup(bad->text);
        r->n = 0;
        x->n_queries = queries;
    }
    r->key = key_of(x, r);
    x->records++;
    const char *note = journal_next(&x->journal, r->key);
    if (!note) {
        x->n_group++;
        return;
    }
    x->n_queries = queries;
    x->resumed++;
    x->failed += strcmp(note, failed_note) == 0;
    record_release(r);
}

static int write_record(struct execute_job *x, struct execute_record *r, struct error *err)
{
    json_t *o = json_object(), *id = json_object_get(r->json, "id"), *db_id = json_object_get(r->json, "db_id");

    json_object_set_new(o, "id", id ? json_incref(id) : json_integer(r->number));
    json_object_set_new(o, "db_id", db_id ? json_incref(db_id) : json_null());
    json_object_set_new(o, "sqlite", json_string(sqlite3_libversion()));
    if (r->error)
        json_object_set_new(o, "error", json_message(r->error));
    else if (json_is_array(json_object_get(r->json, "sql")))
        json_object_set(o, "results", r->results);
    else
        json_object_update(o, json_array_get(r->results, 0));
    r->failed = r->failed || r->error;
    x->failed += r->failed;
    int rc = journal_write(&x->journal, r->key, r->failed ? failed_note : "ok", o, err);
    json_decref(o);
    record_release(r);
    x->n_written++;
    return rc;
}

/* Writes all records, in order, whose queries are done. */
static int write_ready(struct execute_job *x, struct error *err)
{
    while (x->n_written < x->n_group) {
        struct execute_record *r = &x->group[x->n_written];
        if ((int)json_array_size(r->results) < r->n)
            return 0;
        if (write_record(x, r, err))
            return -1;
    }
    return 0;
}

static int take_result(void *user, int64_t i, const struct exec_result *result, struct error *err)
{
    struct execute_job *x = user;
    struct execute_record *r = &x->group[x->owners[i]];
    json_t *o = exec_result_json(result);

    if (!o)
        return error_set(err, EXIT_CODE_MEMORY, "out of memory for a result");
    json_array_append_new(r->results, o);
    r->failed = r->failed || result->status != EXEC_OK;
    return write_ready(x, err);
}

static void release_group(struct execute_job *x)
{
    for (int i = 0; i < x->n_group; i++)
        record_release(&x->group[i]);
    x->n_group = x->n_queries = 0;
}

static int run_group(struct execute_job *x, struct error *err)
{
    x->n_written = 0;
    int64_t reported = batch_run(x->batch, x->queries, x->n_queries, take_result, x, err);
    int rc = reported < 0 || write_ready(x, err) ? -1 : 0;

    if (rc == 0)
        rc = journal_flush(&x->journal, err);
    release_group(x);
    progress_update(&x->progress, x->records, (double)(x->records - x->resumed), NULL);
    return rc;
}

static int run_records(struct execute_job *x, struct error *err)
{
    int more = 1;

    while (more && !stop_requested()) {
        while (x->n_group < GROUP && more) {
            json_t *json = NULL;
            struct error bad = { 0 };
            more = record_reader_next(x->in, &json, &bad);
            if (more < 0 && record_reader_failed(x->in)) {
                *err = bad;
                return -1;
            }
            if (more)
                add_record(x, json, &bad);
        }
        if (run_group(x, err))
            return -1;
    }
    return 0;
}

static int run_file(struct execute_job *x, const char *input, struct error *err)
{
    const struct execute_request *q = x->q;
    struct exec_limits limits = exec_limits_default;

    limits.steps = q->steps;
    limits.seconds = q->seconds;
    limits.python_text = q->python_text;
    x->batch = batch_open(&limits);
    if (db_path_check(q->db, err) || !(x->in = record_reader_open_range(input, q->format_in, &q->shard.range, err)) ||
        journal_open(&x->journal, q->out, q->resume, err))
        return -1;
    progress_start(&x->progress, "executing", "records", record_file_total(input, x->q->format_in, &x->q->shard.range));
    if (run_records(x, err))
        return -1;
    progress_end(&x->progress);
    if (stop_requested())
        return error_set(err, stop_exit_code(), "interrupted");
    return journal_commit(&x->journal, q->out, err);
}

int execute(const struct execute_request *q, const char *input, int64_t *failed, struct error *err)
{
    struct execute_job x = { .q = q };
    int rc = run_file(&x, input, err);

    journal_close(&x.journal, rc != 0, err);
    record_reader_close(x.in);
    if (rc == 0)
        log_info("%lld records, %lld failed, %lld of an earlier run; %lld queries run", (long long)x.records,
                 (long long)x.failed, (long long)x.resumed, (long long)batch_runs(x.batch));
    batch_close(x.batch);
    release_group(&x);
    free(x.queries);
    free(x.owners);
    *failed = x.failed;
    return rc;
}
