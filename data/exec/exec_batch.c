#include "data/exec/exec_batch.h"

#include "data/exec/exec_key.h"
#include "data/util/stop.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_KEPT = 64 << 20, /* bytes of results kept for queries to come */
    MAX_HELD = 512 << 20 /* bytes of results that are not told yet, from which on no query is begun */
};

/* A distinct query; its number is that of its key. */
struct batch_query {
    struct exec_result result;
    int64_t first, last; /* queries of this run that ask for it */
    bool done, kept;
};

struct batch_thread {
    struct exec_db *db;
    char *path; /* of db */
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

struct exec_batch *exec_batch_open(const struct exec_limits *limits)
{
    struct exec_batch *b = xcalloc(1, sizeof *b);

    b->limits = *limits;
    b->n_threads = omp_get_max_threads();
    b->threads = xcalloc((size_t)b->n_threads, sizeof *b->threads);
    return b;
}

void exec_batch_close(struct exec_batch *b)
{
    if (!b)
        return;
    for (int i = 0; i < b->n_threads; i++) {
        exec_close(b->threads[i].db);
        free(b->threads[i].path);
    }
    for (int i = 0; i < b->n; i++)
        exec_result_release(&b->entries[i].result);
    exec_keys_release(&b->keys);
    free(b->threads);
    free(b->entries);
    free(b);
}

uint64_t exec_batch_hash(struct exec_batch *b, const char *path)
{
    return exec_keys_hash(&b->keys, path);
}

int64_t exec_batch_runs(const struct exec_batch *b)
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

/* Runs the queries from `next` on that nobody has run, as many as memory lasts for and at least one. */
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

/* Nobody in this run asks for it any more: it is kept for the next one, or forgotten. */
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
        keys[i] = exec_keys_find(&b->keys, queries[i].path, queries[i].sql, err);
        if (keys[i] < 0)
            return -1;
        entry_of(b, keys[i])->last = i;
    }
    for (int64_t i = n; i-- > 0;)
        b->entries[keys[i]].first = i;
    return 0;
}

int64_t exec_batch_run(struct exec_batch *b, const struct exec_query *queries, int64_t n, exec_batch_fn *fn, void *user,
                       struct error *err)
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
