#include "data/exec/execute.h"

#include "data/exec/db_path.h"
#include "data/exec/exec_batch.h"
#include "data/exec/exec_json.h"
#include "data/util/log.h"
#include "data/util/part_file.h"
#include "data/util/stop.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { GROUP = 256 }; /* records at a time */

static const char line_form[] = "shortest"; /* another word where what a line holds changes */
static const char failed_note[] = "failed"; /* the note of such a line */

/* One record of the input, on its way. */
struct execute_record {
    int64_t number;  /* of the line, say */
    json_t *json;    /* NULL: could not be read */
    json_t *results; /* one for each query */
    char *error, *path;
    bool failed;
    uint64_t key;
    int n; /* queries */
};

struct execute_job {
    const struct execute_request *q;
    struct record_reader *in;
    struct exec_batch *batch;
    struct part_file part;
    struct progress progress;
    struct execute_record group[GROUP];
    int n_group, n_written;
    struct exec_query *queries;
    int *owners; /* record of each query */
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

/* Everything that the record's line is made from. */
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
    uint64_t file = r->path ? exec_batch_hash(x->batch, r->path) : 0;
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

/* Takes json, and bad when it is NULL. */
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
    const char *note = part_next(&x->part, r->key);
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
    int rc = part_write(&x->part, r->key, r->failed ? failed_note : "ok", o, err);
    json_decref(o);
    record_release(r);
    x->n_written++;
    return rc;
}

/* Writes the records that wait for no more queries. */
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
    int64_t told = exec_batch_run(x->batch, x->queries, x->n_queries, take_result, x, err);
    int rc = told < 0 || write_ready(x, err) ? -1 : 0;

    if (rc == 0)
        rc = part_flush(&x->part, err);
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
    x->batch = exec_batch_open(&limits);
    if (db_path_check(q->db, err) || !(x->in = record_reader_open_range(input, q->form, &q->shard.range, err)) ||
        part_open(&x->part, q->out, q->resume, err))
        return -1;
    progress_start(&x->progress, "executing", "records", 0);
    if (run_records(x, err))
        return -1;
    progress_end(&x->progress);
    if (stop_requested())
        return error_set(err, stop_exit_code(), "interrupted");
    return part_commit(&x->part, q->out, err);
}

int execute(const struct execute_request *q, const char *input, int64_t *failed, struct error *err)
{
    struct execute_job x = { .q = q };
    int rc = run_file(&x, input, err);

    part_close(&x.part, rc != 0, err);
    record_reader_close(x.in);
    if (rc == 0)
        log_info("%lld records, %lld failed, %lld of an earlier run; %lld queries run", (long long)x.records,
                 (long long)x.failed, (long long)x.resumed, (long long)exec_batch_runs(x.batch));
    exec_batch_close(x.batch);
    release_group(&x);
    free(x.queries);
    free(x.owners);
    *failed = x.failed;
    return rc;
}
