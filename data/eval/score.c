#include "data/eval/score.h"

#include "data/base/log.h"
#include "data/base/records.h"
#include "data/base/strings.h"
#include "data/base/visible.h"
#include "data/db/db_cache.h"
#include "data/db/db_path.h"
#include "data/eval/annotate.h"
#include "data/eval/dfpl.h"
#include "data/eval/trial.h"

#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TALLY_RECALL, TALLY_PRECISION, TALLY_F1, TALLY_ONE_FOUND, TALLY_ALL_FOUND, TALLY_MEASURES };

struct score_class {
    double *values[TALLY_MEASURES];
    int *database; /* index of the database of each example */
    int n, cap;
};

struct score_tally {
    struct score_class classes[2]; /* unambiguous, ambiguous */
    struct strings databases;
    json_t *skipped; /* {"record", "reason"} */
    json_t *failed;  /* the same, of examples that count as zeros */
    int empty_golds; /* scored examples with an empty gold result */
    struct out_file evidence;
};

static double mean_of(struct scored s, const void *arg)
{
    double sum = 0;

    (void)arg;
    for (int i = 0; i < s.n; i++)
        sum += s.score[i];
    return s.n ? sum / s.n : NAN;
}

struct score_mean score_mean(const double *value, int n, const int *group, int n_groups)
{
    uint8_t *label = xcalloc((size_t)n + 1, 1);
    struct scored s = { value, label, n };
    struct bootstrap how = { .group = group, .n_groups = n_groups, .rounds = 1000, .level = 0.95, .seed = 1 };
    struct score_mean m = { mean_of(s, NULL), stats_bootstrap(s, mean_of, NULL, &how) };

    free(label);
    return m;
}

json_t *score_interval_json(struct interval i)
{
    return isnan(i.low) ? json_null() : json_pack("[f, f]", i.low, i.high);
}

void score_print_interval(struct interval i, double scale, int width, int digits)
{
    if (isnan(i.low))
        printf("%*s[-]", 2 * width + 1, "");
    else
        printf("[%*.*f, %*.*f]", width, digits, scale * i.low, width, digits, scale * i.high);
}

void score_print_one_database(void)
{
    puts("[-]: no interval can be had of records that are all of one database");
}

void score_print_skipped(const json_t *skipped)
{
    if (json_array_size(skipped))
        printf("skipped %zu:\n", json_array_size(skipped));
    for (size_t i = 0; i < json_array_size(skipped); i++) {
        const json_t *item = json_array_get(skipped, i);
        visible_printf(stdout, "  %s: %s\n", json_string_value(json_object_get(item, "record")),
                       json_string_value(json_object_get(item, "reason")));
    }
}

int score_print_json(json_t *o, struct error *err)
{
    struct out_file out = { 0 };
    int rc = out_file_open(&out, "-", err) || json_write_line(&out, o, err) || out_file_commit(&out, err) ? -1 : 0;

    out_file_abort(&out);
    json_decref(o);
    return rc;
}

static const char *const class_names[] = { "unambiguous", "ambiguous" };
static const char *const measure_names[] = { "recall", "precision", "f1", "one_found", "all_found" };

/* Opens per_example unless it is NULL. */
static int score_tally_init(struct score_tally *t, const char *per_example, struct error *err)
{
    *t = (struct score_tally){ .skipped = json_array(), .failed = json_array() };
    return per_example ? out_file_open(&t->evidence, per_example, err) : 0;
}

static void make_room(struct score_class *c)
{
    if (c->n < c->cap)
        return;
    c->cap = c->cap ? 2 * c->cap : 256;
    for (int m = 0; m < TALLY_MEASURES; m++)
        c->values[m] = xrealloc(c->values[m], (size_t)c->cap * sizeof **c->values);
    c->database = xrealloc(c->database, (size_t)c->cap * sizeof *c->database);
}

static void score_tally_add(struct score_tally *t, bool ambiguous, const char *database, const struct trial_score *s)
{
    const double values[TALLY_MEASURES] = { s->recall, s->precision, s->f1, s->one_found, s->all_found };
    struct score_class *c = &t->classes[ambiguous];

    make_room(c);
    for (int m = 0; m < TALLY_MEASURES; m++)
        c->values[m][c->n] = values[m];
    c->database[c->n++] = strings_add(&t->databases, database);
}

static void tell(json_t *list, const char *record, const char *why)
{
    json_array_append_new(list, json_pack("{s:o, s:o}", "record", json_message(record), "reason", json_message(why)));
}

/* Counts as zeros and appends to `failed`. */
static void score_tally_fail(struct score_tally *t, bool ambiguous, const char *database, const char *record,
                             const char *why)
{
    score_tally_add(t, ambiguous, database, &(struct trial_score){ 0 });
    tell(t->failed, record, why);
}

static void score_tally_skip(struct score_tally *t, const char *record, const char *why)
{
    tell(t->skipped, record, why);
}

/* For each gold, the indices of the queries with its result. */
static json_t *covered_by(const struct trial *trial)
{
    json_t *golds = json_array();
    for (int g = 0; g < trial->n_golds; g++) {
        json_t *queries = json_array();
        for (int q = 0; q < trial->n_queries; q++)
            if (trial->hits[q * trial->n_golds + g])
                json_array_append_new(queries, json_integer(q));
        json_array_append_new(golds, queries);
    }
    return golds;
}

/* The distinct queries with their outcomes. */
static json_t *outcomes(const struct trial *trial)
{
    json_t *list = json_array();
    for (int q = 0; q < trial->n_queries; q++) {
        const struct exec_result *r = &trial->queries[q].result;
        json_t *o = json_pack("{s:o, s:I}", "sql", json_message(trial->queries[q].sql), "rows", (json_int_t)r->n);
        if (r->status != EXEC_OK)
            json_object_set_new(o, "error", json_message(r->message));
        json_array_append_new(list, o);
    }
    return list;
}

static void add_measures(json_t *o, const struct trial *trial, const struct trial_score *s)
{
    json_t *found =
        json_pack("{s:f, s:f, s:f, s:b, s:b, s:o}", "recall", s->recall, "precision", s->precision, "f1", s->f1,
                  "one_found", s->one_found, "all_found", s->all_found, "covered_by", covered_by(trial));
    json_object_update(o, found);
    json_decref(found);
}

/* Writes a line of per_example: takes o, adds the outcomes, and the measures if the trial was scored. */
static int score_tally_write(struct score_tally *t, json_t *o, const struct trial *trial, const struct trial_score *s,
                             struct error *err)
{
    int rc = 0;
    if (t->evidence.f) {
        if (!trial->why)
            add_measures(o, trial, s);
        json_object_set_new(o, "queries", outcomes(trial));
        rc = json_write_line(&t->evidence, o, err);
    }
    json_decref(o);
    return rc;
}

static struct score_mean class_mean(const struct score_tally *t, const struct score_class *c, int measure)
{
    return score_mean(c->values[measure], c->n, c->database, t->databases.n);
}

static json_t *class_json(const struct score_tally *t, const struct score_class *c)
{
    json_t *o = json_pack("{s:i}", "n", c->n), *intervals = json_object();
    for (int m = 0; m < TALLY_MEASURES; m++) {
        struct score_mean mean = c->n ? class_mean(t, c, m) : (struct score_mean){ 0 };
        json_object_set_new(o, measure_names[m], c->n ? json_real(mean.mean) : json_null());
        if (c->n)
            json_object_set_new(intervals, measure_names[m], score_interval_json(mean.interval));
    }
    json_object_set_new(o, "interval", intervals);
    return o;
}

static int print_json(const struct score_tally *t, json_t *more, struct error *err)
{
    json_t *o = json_object();
    for (int k = 1; k >= 0; k--)
        json_object_set_new(o, class_names[k], class_json(t, &t->classes[k]));
    json_object_set_new(o, "empty_golds", json_integer(t->empty_golds));
    json_object_set(o, "skipped", t->skipped);
    json_object_set(o, "failed", t->failed);
    json_object_set_new(o, "sqlite", json_string(sqlite3_libversion()));
    json_object_update(o, more);
    return score_print_json(o, err);
}

/* Prints a class; returns whether all its means have intervals. */
static bool print_class(const struct score_tally *t, int k)
{
    const struct score_class *c = &t->classes[k];
    bool complete = true;

    printf("%-12s%6d", class_names[k], c->n);
    for (int m = 0; m < TALLY_MEASURES && c->n; m++) {
        struct score_mean mean = class_mean(t, c, m);
        printf("  %.4f ", mean.mean);
        score_print_interval(mean.interval, 1, 6, 4);
        complete = complete && !isnan(mean.interval.low);
    }
    putchar('\n');
    return complete;
}

static int print_table(const struct score_tally *t, const json_t *more, struct error *err)
{
    const char *key;
    json_t *value;

    printf("%-12s%6s", "", "n");
    for (int m = 0; m < TALLY_MEASURES; m++)
        printf("  %-23s", measure_names[m]);
    putchar('\n');
    bool complete = print_class(t, 1);
    if (!print_class(t, 0) || !complete)
        score_print_one_database();
    printf("%d with a gold that has no rows; SQLite %s\n", t->empty_golds, sqlite3_libversion());
    json_object_foreach((json_t *)more, key, value)
    {
        char *text = json_dumps(value, JSON_ENCODE_ANY);
        visible_printf(stdout, "%s: %s\n", key, text);
        free(text);
    }
    if (json_array_size(t->failed))
        printf("counted as zeros, %zu:\n", json_array_size(t->failed));
    score_print_skipped(t->failed);
    score_print_skipped(t->skipped);
    return fflush(stdout) || ferror(stdout) ? error_set(err, EXIT_CODE_FAILURE, "standard output: cannot write") : 0;
}

/* Prints all results, takes `more` (fields of the object, or lines of the table, or NULL) and commits the evidence.
 * EXIT_CODE_RECORDS if examples were skipped. */
static enum exit_code score_tally_finish(struct score_tally *t, const struct score_request *q, json_t *more,
                                         struct error *err)
{
    const char *why = json_string_value(json_object_get(json_array_get(t->skipped, 0), "reason"));
    int rc = 0;

    if (t->classes[0].n + t->classes[1].n == 0)
        rc = error_set(err, EXIT_CODE_DATA, "%s: no record could be scored: %s", q->pred, why ? why : "no records");
    if (rc == 0)
        rc = q->json ? print_json(t, more, err) : print_table(t, more, err);
    if (rc == 0 && t->evidence.f)
        rc = out_file_commit(&t->evidence, err);
    json_decref(more);
    if (rc)
        return err->code;
    return json_array_size(t->skipped) ? EXIT_CODE_RECORDS : EXIT_CODE_OK;
}

static void score_tally_release(struct score_tally *t)
{
    for (int k = 0; k < 2; k++) {
        for (int m = 0; m < TALLY_MEASURES; m++)
            free(t->classes[k].values[m]);
        free(t->classes[k].database);
    }
    strings_release(&t->databases);
    json_decref(t->skipped);
    json_decref(t->failed);
    out_file_abort(&t->evidence);
    *t = (struct score_tally){ 0 };
}

/*
 * The strict rule, the default.
 *
 * A prediction matches a gold interpretation if both return the same rows on the record's database (match_rows).
 * Columns are compared in order, rows as a multiset. Rows are compared in order only if the gold orders them at its
 * top level; ties must come in the gold's order. A number never equals a text; reals may differ by 1e-9 of their size.
 * Predictions and golds are matched one to one.
 *
 * A record is skipped if a gold fails or golds return the same rows, because it could not distinguish interpretations.
 * A record without predictions counts as zeros.
 */

struct strict_run {
    const struct score_request *q;
    struct strings ids; /* of predictions */
    json_t **records;   /* by id */
    int records_cap;
    struct db_cache databases;
    struct score_tally tally;
    struct progress progress;
    int unanswered;
    struct strings golds; /* ids of gold records */
};

static int keep_prediction(struct strict_run *run, json_t *record, const char *where, struct error *err)
{
    char text[RECORD_ID_TEXT];
    struct trial_texts sql = { 0 };
    const char *id = record_id_text(record, text); /* 7 and "7" are one record */
    int rc = trial_texts_add(&sql, json_object_get(record, "sql"), "sql", where, err);

    if (rc == 0 && strings_find(&run->ids, id) >= 0)
        rc = error_set(err, EXIT_CODE_DATA, "%s: field \"id\": %s came before", where, id);
    if (rc == 0) {
        int i = strings_add(&run->ids, id);
        GROW(run->records, i, run->records_cap);
        run->records[i] = json_incref(record);
    }
    free(sql.sql);
    return rc;
}

/* Calls `use` for each record of a file; unusable records are skipped and listed. -1 on I/O errors only. */
static int each_record(struct strict_run *run, const char *path,
                       int (*use)(struct strict_run *run, json_t *record, const char *where, struct error *bad),
                       struct error *err)
{
    struct record_reader *r = record_reader_open(path, RECORDS_AUTO, err);
    json_t *record;
    int rc;

    if (!r)
        return -1;
    record_reader_by_place(r); /* records without ids are matched by position, in any file form */
    do {
        struct error bad = { 0 };
        rc = record_reader_next(r, &record, &bad);
        const char *where = record_reader_where(r);
        if (rc < 0 && record_reader_failed(r)) {
            *err = bad;
            break;
        }
        if (rc && (rc < 0 || use(run, record, where, &bad)))
            score_tally_skip(&run->tally, where, bad.text);
        json_decref(record);
    } while (rc);
    rc = rc < 0 ? -1 : 0;
    record_reader_close(r);
    return rc;
}

struct strict_record {
    const char *id, *db_id;
    json_t *own_id; /* as in the gold record */
    struct trial_texts golds, sql;
};

static struct exec_db *open_database(struct strict_run *run, const char *db_id, struct error *bad)
{
    char *path = db_path(run->q->db, db_id, bad);
    struct exec_db *db = path ? db_cache_file(&run->databases, path, bad) : NULL;
    free(path);
    return db;
}

static int score_record(struct strict_run *run, const struct strict_record *r, struct exec_db *db, struct error *bad)
{
    struct trial t;

    int k = (int)(r->sql.n < run->q->k ? r->sql.n : run->q->k);
    struct trial_text sql = trial_texts_part(&r->sql, 0, k);
    trial_run(&t, TRIAL_STRICT, db, trial_texts_part(&r->golds, 0, r->golds.n), sql);
    bool ambiguous = t.n_golds > 1;
    struct trial_score s = trial_score_paired(&t, sql);
    json_t *o = json_pack("{s:O, s:s, s:b}", "id", r->own_id, "db_id", r->db_id, "ambiguous", ambiguous);
    int rc = 0;
    if (t.why) {
        rc = error_set(bad, EXIT_CODE_DATA, "%s", t.why);
        json_object_set_new(o, "error", json_message(t.why));
    } else {
        score_tally_add(&run->tally, ambiguous, r->db_id, &s);
        for (int g = 0, empty = 0; g < t.n_golds && !empty; g++)
            run->tally.empty_golds += empty = t.golds[g].result.n == 0;
    }
    if (score_tally_write(&run->tally, o, &t, &s, bad))
        rc = -1;
    trial_release(&t);
    return rc;
}

static int read_gold(struct strict_run *run, struct strict_record *r, const json_t *record, const char *where,
                     struct error *bad)
{
    int before = run->golds.n;
    char text[RECORD_ID_TEXT];

    r->own_id = json_object_get(record, "id");
    r->id = strings_keep(&run->golds, record_id_text(record, text));
    if (run->golds.n == before)
        return error_set(bad, EXIT_CODE_DATA, "%s: field \"id\": %s came before", where, r->id);
    if (!(r->db_id = json_get_string(record, "db_id", where, bad)) ||
        trial_texts_add(&r->golds, json_object_get(record, "sql"), "sql", where, bad))
        return -1;
    int i = strings_find(&run->ids, r->id);
    run->unanswered += i < 0;
    return i < 0 ? 0 : trial_texts_add(&r->sql, json_object_get(run->records[i], "sql"), "sql", where, bad);
}

static int use_gold(struct strict_run *run, json_t *record, const char *where, struct error *bad)
{
    struct strict_record r = { 0 };

    db_path_name(run->q->db, record);
    int rc = read_gold(run, &r, record, where, bad);
    struct exec_db *db = rc ? NULL : open_database(run, r.db_id, bad);

    progress_update(&run->progress, run->golds.n, run->golds.n, NULL);
    rc = db ? score_record(run, &r, db, bad) : -1;
    free(r.golds.sql);
    free(r.sql.sql);
    return rc;
}

/* Lists predictions without a gold record. */
static void list_unknown_predictions(struct strict_run *run)
{
    for (int i = 0; i < run->ids.n; i++)
        if (strings_find(&run->golds, run->ids.items[i]) < 0)
            score_tally_skip(&run->tally, run->ids.items[i], "a prediction without a gold");
}

static int score_files(struct strict_run *run, struct error *err)
{
    const struct score_request *q = run->q;

    if (!q->gold || !q->db)
        return error_set(err, EXIT_CODE_USAGE, "--rule strict requires %s", q->gold ? "--db" : "--gold");
    if (q->published)
        return error_set(err, EXIT_CODE_USAGE, "--published and --rule strict cannot be used together");
    if (db_path_check(q->db, err) || score_tally_init(&run->tally, q->per_example, err) ||
        each_record(run, q->pred, keep_prediction, err))
        return -1;
    progress_start(&run->progress, "scoring", "records", record_file_total(q->gold, RECORDS_AUTO, NULL));
    if (each_record(run, q->gold, use_gold, err))
        return -1;
    progress_end(&run->progress);
    list_unknown_predictions(run);
    return 0;
}

enum exit_code score_strict(const struct score_request *q, struct error *err)
{
    struct strict_run run = { .q = q };
    enum exit_code code;

    db_cache_init(&run.databases);
    if (score_files(&run, err))
        code = err->code;
    else
        code = score_tally_finish(&run.tally, q, json_pack("{s:i}", "without_predictions", run.unanswered), err);
    for (int i = 0; i < run.ids.n; i++)
        json_decref(run.records[i]);
    free(run.records);
    strings_release(&run.ids);
    strings_release(&run.golds);
    score_tally_release(&run.tally);
    db_cache_release(&run.databases);
    return code;
}

/*
 * The rule of "Disambiguate First, Parse Later" on its prediction files.
 *
 * published reproduces the authors' program. An example whose golds fail or coincide counts as zeros. An empty
 * prediction matches nothing. The order counts if "order by" occurs anywhere in the gold's text.
 *
 * Otherwise such an example is skipped, empty results match each other, and golds of one text are one gold. The order
 * counts if the gold orders at its top level. SQL runs read-only and within limits either way.
 */

struct dfpl_run {
    const struct score_request *q;
    struct dfpl_file file;
    struct db_cache databases;
    struct score_tally tally;
    struct dfpl_stored stored;
    struct python_random random;
    bool held; /* a published file, with databases and the authors' metrics */
};

static bool has_empty_gold(const struct trial *t)
{
    for (int g = 0; g < t->n_golds; g++)
        if (t->golds[g].result.n == 0)
            return true;
    return false;
}

/* Handles an example that cannot be scored: zeros if published, else skipped. */
static void count_unscored(struct dfpl_run *run, const struct dfpl_example *e, const char *record, const char *why)
{
    if (run->q->published)
        score_tally_fail(&run->tally, e->ambiguous, e->source, record, why);
    else
        score_tally_skip(&run->tally, record, why);
}

/* The SQL of the interpretations that the filter keeps; the caller frees. */
static struct trial_texts filtered(struct dfpl_run *run, const struct dfpl_example *e, const struct trial *t)
{
    struct trial_texts kept = { 0 };
    struct annotation a = { .question = e->question, .n_interpretations = e->n_interpretations, .sql = e->sql };

    a.interpretations = xcalloc((size_t)e->n_interpretations + 1, sizeof *a.interpretations);
    for (int i = 0; i < e->n_interpretations; i++)
        a.interpretations[i] =
            (struct annotate_interpretation){ e->interpretations[i].text, e->interpretations[i].first,
                                              e->interpretations[i].n, NULL, -1 };
    annotate_filter(&a, t, &run->random);
    for (int i = 0; i < a.n_existing; i++)
        for (int k = 0; k < a.interpretations[a.existing[i]].n; k++) {
            GROW(kept.sql, kept.n, kept.cap);
            kept.sql[kept.n++] = e->sql.sql[a.interpretations[a.existing[i]].first + k];
        }
    free(a.interpretations);
    free(a.existing);
    return kept;
}

/* The indices of texts among the trial's queries. */
static json_t *numbers_of(const struct trial *t, struct trial_text sql)
{
    json_t *list = json_array();
    for (int i = 0; i < sql.n; i++)
        json_array_append_new(list, json_integer(trial_find(t, sql.sql[i])));
    return list;
}

static int score_trial(struct dfpl_run *run, const struct dfpl_example *e, const struct trial *t, const char *record,
                       struct error *err)
{
    struct trial_texts kept = run->q->filter ? filtered(run, e, t) : (struct trial_texts){ 0 };
    struct trial_text sql =
        run->q->filter ? trial_texts_part(&kept, 0, kept.n) : trial_texts_part(&e->sql, 0, e->sql.n);
    struct trial_score s = trial_score_covered(t, sql);
    json_t *o = json_pack("{s:s, s:s, s:s, s:b}", "record", record, "db_file", e->db_file, "source_db", e->source,
                          "ambiguous", e->ambiguous);

    if (run->q->published && !run->q->filter)
        dfpl_stored_compare(&run->stored, e, t);
    if (t->why) {
        count_unscored(run, e, record, t->why);
        json_object_set_new(o, "error", json_message(t->why));
    } else {
        score_tally_add(&run->tally, e->ambiguous, e->source, &s);
        run->tally.empty_golds += has_empty_gold(t);
    }
    if (run->q->filter)
        json_object_set_new(o, "kept", numbers_of(t, sql));
    free(kept.sql);
    return score_tally_write(&run->tally, o, t, &s, err);
}

static struct exec_db *open_example(struct dfpl_run *run, const struct dfpl_example *e, struct error *err)
{
    if (e->dump)
        return db_cache_dump(&run->databases, e->dump, err);
    char *path = db_path(run->q->db, e->db_file, err);
    struct exec_db *db = path ? db_cache_file(&run->databases, path, err) : NULL;
    free(path);
    return db;
}

static int score_example(struct dfpl_run *run, int i, struct error *err)
{
    const struct dfpl_example *e = &run->file.items[i];
    struct error bad = { 0 };
    struct trial t;
    char record[32];

    snprintf(record, sizeof record, "example %d", i + 1);
    struct exec_db *db = e->error ? NULL : open_example(run, e, &bad);
    if (!db) {
        count_unscored(run, e, record, e->error ? e->error : bad.text);
        return 0;
    }
    trial_run(&t, run->q->published ? TRIAL_PUBLISHED : TRIAL_CELLS, db, trial_texts_part(&e->golds, 0, e->golds.n),
              trial_texts_part(&e->sql, 0, e->sql.n));
    int rc = score_trial(run, e, &t, record, err);
    trial_release(&t);
    return rc;
}

static json_t *stored_json(const struct dfpl_stored *s)
{
    return json_pack("{s:{s:i, s:i, s:i, s:i, s:i, s:i}}", "stored", "metrics", s->metrics, "metrics_differ", s->differ,
                     "distinct_results", s->groups, "distinct_results_differ", s->groups_differ, "matched", s->matched,
                     "matched_differ", s->matched_differ);
}

static int score_file(struct dfpl_run *run, struct error *err)
{
    struct progress p;

    run->held = !dfpl_is_records(run->q->pred);
    if (run->q->gold || (run->held && run->q->db))
        return error_set(err, EXIT_CODE_USAGE, "--rule dfpl: --%s is not read, the predictions hold their %s",
                         run->q->gold ? "gold" : "db", run->q->gold ? "golds" : "databases");
    if (!run->held && !run->q->db)
        return error_set(err, EXIT_CODE_USAGE, "--rule dfpl requires --db: %s contains no databases", run->q->pred);
    if (db_path_check(run->q->db, err) || dfpl_read(&run->file, run->q->pred, err) ||
        score_tally_init(&run->tally, run->q->per_example, err))
        return -1;
    run->databases.limits.python_text = run->q->published;
    progress_start(&p, "scoring", "examples", run->file.n);
    for (int i = 0; i < run->file.n; i++) {
        if (score_example(run, i, err))
            return -1;
        progress_update(&p, i + 1, i + 1, NULL);
    }
    progress_end(&p);
    return 0;
}

enum exit_code score_dfpl(const struct score_request *q, struct error *err)
{
    struct dfpl_run run = { .q = q };
    enum exit_code code = EXIT_CODE_OK;

    db_cache_init(&run.databases);
    python_random_seed(&run.random, ANNOTATE_SEED);
    if (score_file(&run, err))
        code = err->code;
    else
        code = score_tally_finish(&run.tally, q,
                                  q->published && !q->filter && run.held ? stored_json(&run.stored) : NULL, err);
    score_tally_release(&run.tally);
    db_cache_release(&run.databases);
    dfpl_release(&run.file);
    return code;
}
