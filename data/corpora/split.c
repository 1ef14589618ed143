#include "data/corpora/split.h"

#include "data/base/log.h"
#include "data/base/python_random.h"
#include "data/base/records.h"
#include "data/base/strings.h"
#include "data/corpora/ambrosia.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const split_file_names[] = { "train", "valid", "test" };

struct split_record {
    json_t *json;
    int database;
};

/* A name with its sort key. */
struct placed_name {
    uint64_t order;
    int number;
};

/* The whole input and its outputs. */
struct split_job {
    const struct split_request *q;
    struct split_record *records;
    int n, cap;
    struct strings names;
    int *split;   /* [names.n]: split of each database */
    int csv_rows; /* records that are rows of ambrosia.csv */
};

/* The source database decides if a record has one, so that altered copies of a database stay together. AMBROSIA uses
 * another field name. */
static const char *field_of(const json_t *record)
{
    static const char *const fields[] = { "source_db", "db_id", "db_file", "db" };

    for (int i = 0; i < ARRAY_LEN(fields); i++)
        if (json_object_get(record, fields[i]))
            return fields[i];
    return "db_id";
}

/* Takes a reference of the record. */
static int add_own_record(struct split_job *s, json_t *json, const char *where, struct error *err)
{
    const char *field = field_of(json);
    bool failed = json_object_get(json, "error");

    if (failed && !json_is_string(json_object_get(json, field))) /* it could not be read, and is omitted */
        return 0;
    const char *name = json_get_string(json, field, where, err);

    GROW(s->records, s->n, s->cap);
    s->records[s->n++] = (struct split_record){ json_incref(json), name ? strings_add(&s->names, name) : -1 };
    return name ? 0 : -1;
}

static int add_record(void *job, json_t *record, const char *where, struct error *err)
{
    struct split_job *s = job;
    bool csv = ambrosia_is_csv_row(record);
    json_t *json = csv ? ambrosia_csv_row(record, where, err) : json_incref(record);

    if (!json)
        return -1;
    int rc = add_own_record(s, json, where, err);
    s->csv_rows += csv;
    json_decref(json);
    return rc;
}

static int by_order(const void *a, const void *b)
{
    const struct placed_name *x = a, *y = b;
    return x->order < y->order ? -1 : x->order > y->order;
}

static int share_of(int n, double share)
{
    return (int)ceil(n * share);
}

/* Returns whether n databases are enough for each split with a share. */
static bool fills_splits(int n, double valid_share, double test_share)
{
    int test = share_of(n, test_share), valid = share_of(n, valid_share);

    return (valid == 0 || test < n) && (valid_share + test_share >= 1 || test + valid < n);
}

uint64_t split_order(const char *name, int64_t seed)
{
    uint64_t h = hash_bytes(HASH_START, &seed, sizeof seed);

    h = hash_bytes(h, name, strlen(name));
    return (h ^ h >> 32) * 0x9E3779B97F4A7C15u;
}

bool split_names(const char *const *names, int n, double valid, double test, int64_t seed, int *split)
{
    int n_test = share_of(n, test), n_valid = share_of(n, valid);

    if (!fills_splits(n, valid, test))
        return false;
    struct placed_name *list = xcalloc((size_t)n + 1, sizeof *list);
    for (int i = 0; i < n; i++)
        list[i] = (struct placed_name){ split_order(names[i], seed), i };
    qsort(list, (size_t)n, sizeof *list, by_order);
    for (int i = 0; i < n; i++)
        split[list[i].number] = i < n_test ? 2 : i < n_test + n_valid ? 1 : 0;
    free(list);
    return true;
}

void split_names_published(int n, int *split)
{
    enum { SEED = 42 };
    int train = (int)(.8 * n), test = (int)(.9 * n), *order = xmalloc(((size_t)n + 1) * sizeof *order);
    struct python_random random;

    for (int i = 0; i < n; i++)
        order[i] = i;
    numpy_random_seed(&random, SEED);
    numpy_random_shuffle(&random, order, n);
    for (int i = 0; i < n; i++)
        split[order[i]] = i < train ? 0 : i < test ? 2 : 1;
    free(order);
}

static int choose_published_splits(const struct split_job *s, const char *path, struct error *err)
{
    enum { LEAST = 10 };

    if (s->names.n < LEAST)
        return error_set(err, EXIT_CODE_DATA,
                         "%s: --published: expected records of at least %d databases, one for each tenth, got %d", path,
                         LEAST, s->names.n);
    split_names_published(s->names.n, s->split);
    return 0;
}

static int choose_splits(const struct split_job *s, const char *path, struct error *err)
{
    int minimum = 1;

    if (s->q->published)
        return choose_published_splits(s, path, err);
    if (split_names((const char *const *)s->names.items, s->names.n, s->q->valid, s->q->test, s->q->seed, s->split))
        return 0;
    while (!fills_splits(minimum, s->q->valid, s->q->test))
        minimum++;
    return error_set(err, EXIT_CODE_DATA,
                     "%s: expected records of at least %d databases, one for each split, got %d; "
                     "use --valid-share 0 or --test-share 0 to drop a split",
                     path, minimum, s->names.n);
}

/* Failed records are skipped. */
static int write_split(const struct split_job *s, int split, struct out_file *o, struct error *err)
{
    char path[PATH_MAX];
    int n = 0, lost = 0, databases = 0;

    if (snprintf(path, sizeof path, "%s/%s.jsonl", s->q->out, split_file_names[split]) >= (int)sizeof path)
        return error_set(err, EXIT_CODE_USAGE, "%.80s...: path too long", s->q->out);
    if (out_file_open(o, path, err))
        return -1;
    for (int i = 0; i < s->n; i++) {
        if (s->split[s->records[i].database] != split)
            continue;
        bool failed = json_object_get(s->records[i].json, "error");
        if (!failed && json_write_line(o, s->records[i].json, err))
            return -1;
        n += !failed;
        lost += failed;
    }
    for (int i = 0; i < s->names.n; i++)
        databases += s->split[i] == split;
    log_info("%s: %d records of %d databases; %d failed records skipped", split_file_names[split], n, databases, lost);
    return 0;
}

static int write_splits(const struct split_job *s, struct error *err)
{
    struct out_file files[ARRAY_LEN(split_file_names)] = { 0 };
    int rc = make_dirs(s->q->out, err);

    for (int split = 0; split < ARRAY_LEN(split_file_names) && rc == 0; split++)
        rc = write_split(s, split, &files[split], err);
    if (rc == 0)
        rc = out_files_commit(files, ARRAY_LEN(split_file_names), s->q->force, err);
    for (int split = 0; split < ARRAY_LEN(split_file_names); split++)
        out_file_abort(&files[split]);
    return rc;
}

/* Gives the rows of ambrosia.csv their interpretations, which are other rows. */
static int link_rows(struct split_job *s, const char *path, struct error *err)
{
    json_t **rows = xmalloc(((size_t)s->n + 1) * sizeof *rows);

    if (s->csv_rows && s->csv_rows != s->n) {
        free(rows);
        return error_set(err, EXIT_CODE_DATA, "%s: expected rows of ambrosia.csv alone, got %d of %d records", path,
                         s->csv_rows, s->n);
    }
    for (int i = 0; i < s->n; i++)
        rows[i] = s->records[i].json;
    if (s->csv_rows)
        ambrosia_link(rows, s->n);
    free(rows);
    return 0;
}

static int split(struct split_job *s, const char *path, struct error *err)
{
    if (records_each_as_is(path, s->q->format_in, add_record, s, err) || link_rows(s, path, err))
        return -1;
    s->split = xcalloc((size_t)s->names.n + 1, sizeof *s->split);
    return choose_splits(s, path, err) || write_splits(s, err) ? -1 : 0;
}

int split_records(const struct split_request *q, const char *path, struct error *err)
{
    struct split_job s = { .q = q };
    int rc = split(&s, path, err);

    for (int i = 0; i < s.n; i++)
        json_decref(s.records[i].json);
    free(s.records);
    free(s.split);
    strings_release(&s.names);
    return rc;
}
