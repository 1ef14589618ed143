#include "data/cli/option_rows.h"
#include "data/cmd/commands.h"
#include "data/util/json.h"
#include "data/util/log.h"
#include "data/util/strings.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct split_arguments {
    const char *out;
    double valid, test;
    int64_t seed;
};

static const struct split_arguments defaults = { .valid = .1, .test = .1 };

#define AT(field) offsetof(struct split_arguments, field)

static const struct option options[] = {
    REAL_OPTION("valid", AT(valid), "SHARE", 0, 1, "of the databases that go to valid.jsonl"),
    REAL_OPTION("test", AT(test), "SHARE", 0, 1, "of the databases that go to test.jsonl"),
    SEED_OPTION(AT(seed), "same seed, same databases"),
    OUT_DIR_OPTION(AT(out)),
    { 0 },
};

static const char *const folds[] = { "train", "valid", "test" };

struct record {
    json_t *json;
    int database;
};

/* A database, its place in a random order that its name and the seed make, and then its fold. */
struct database {
    uint64_t order;
    int number, fold;
};

struct splitting {
    const struct split_arguments *a;
    struct record *records;
    int n, cap;
    struct strings names;
    struct database *databases; /* [names.n] */
};

/* What a record's database was made from counts, so that copies of one database stay together. */
static int add_record(struct splitting *s, json_t *json, const char *where, struct error *err)
{
    const char *field = json_object_get(json, "source_db") ? "source_db" : "db_id";
    const char *name = json_get_string(json, field, where, err);

    GROW(s->records, s->n, s->cap);
    s->records[s->n++] = (struct record){ json, name ? strings_add(&s->names, name) : -1 };
    return name ? 0 : -1;
}

static int read_records(struct splitting *s, const char *path, struct error *err)
{
    struct json_reader *in = json_reader_open(path, err);
    json_t *json;
    int rc = -1;

    while (in && (rc = json_reader_next(in, &json, err)) > 0)
        if ((rc = add_record(s, json, json_reader_where(in), err)))
            break;
    json_reader_close(in);
    return rc;
}

static int by_order(const void *a, const void *b)
{
    const struct database *x = a, *y = b;
    return x->order < y->order ? -1 : x->order > y->order;
}

static int by_number(const void *a, const void *b)
{
    const struct database *x = a, *y = b;
    return x->number - y->number;
}

static void choose_folds(struct splitting *s)
{
    int n = s->names.n, test = (int)ceil(n * s->a->test), valid = (int)ceil(n * s->a->valid);

    s->databases = xcalloc((size_t)n + 1, sizeof *s->databases);
    for (int i = 0; i < n; i++) {
        uint64_t h = hash_bytes(HASH_START, &s->a->seed, sizeof s->a->seed);
        h = hash_bytes(h, s->names.items[i], strlen(s->names.items[i]));
        s->databases[i] = (struct database){ (h ^ h >> 32) * 0x9E3779B97F4A7C15u, i, 0 };
    }
    qsort(s->databases, (size_t)n, sizeof *s->databases, by_order);
    for (int i = 0; i < n; i++)
        s->databases[i].fold = i < test ? 2 : i < test + valid ? 1 : 0;
    qsort(s->databases, (size_t)n, sizeof *s->databases, by_number);
}

/* Records that failed are left out. */
static int write_fold(const struct splitting *s, int fold, struct error *err)
{
    char path[PATH_MAX];
    struct out_file o;
    int n = 0, lost = 0, databases = 0;

    if (snprintf(path, sizeof path, "%s/%s.jsonl", s->a->out, folds[fold]) >= (int)sizeof path)
        return error_set(err, EXIT_CODE_USAGE, "%.80s...: path too long", s->a->out);
    if (out_file_open(&o, path, err))
        return -1;
    for (int i = 0; i < s->n; i++) {
        if (s->databases[s->records[i].database].fold != fold)
            continue;
        bool failed = json_object_get(s->records[i].json, "error");
        if (!failed && json_write_line(&o, s->records[i].json, err)) {
            out_file_abort(&o);
            return -1;
        }
        n += !failed;
        lost += failed;
    }
    for (int i = 0; i < s->names.n; i++)
        databases += s->databases[i].fold == fold;
    log_info("%s: %d records of %d databases, %d that had failed left out", folds[fold], n, databases, lost);
    return out_file_commit(&o, err);
}

static int split(struct splitting *s, const char *path, struct error *err)
{
    if (s->a->valid + s->a->test > 1)
        return error_set(err, EXIT_CODE_USAGE, "--valid and --test: expected at most 1 together, got %g and %g",
                         s->a->valid, s->a->test);
    if (read_records(s, path, err))
        return -1;
    choose_folds(s);
    if (make_dirs(s->a->out, err))
        return -1;
    for (int fold = 0; fold < ARRAY_LEN(folds); fold++)
        if (write_fold(s, fold, err))
            return -1;
    return 0;
}

static enum exit_code run(const struct call *call, struct error *err)
{
    struct splitting s = { .a = call->options };

    int rc = split(&s, call->operands[0], err);
    for (int i = 0; i < s.n; i++)
        json_decref(s.records[i].json);
    free(s.records);
    free(s.databases);
    strings_release(&s.names);
    return rc ? err->code : EXIT_CODE_OK;
}

const struct command command_split = {
    .name = "split",
    .summary = "splits records into train.jsonl, valid.jsonl and test.jsonl by database",
    ONE_OPERAND("IN.jsonl"),
    OPTIONS(options, defaults),
    .details =
        "All records of one database go to one file: of one source_db, where records have that field, which says what "
        "altered copies were made from, else of one db_id. Shares are shares of the databases, rounded up. Records "
        "keep their order; those with an error are left out.",
    .run = run,
};
