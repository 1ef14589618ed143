#include "data/score/score_tally.h"

#include "data/console/visible.h"

#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>

static const char *const class_names[] = { "unambiguous", "ambiguous" };
static const char *const measure_names[] = { "recall", "precision", "f1", "one_found", "all_found" };

int score_tally_init(struct score_tally *t, const char *per_example, struct error *err)
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

void score_tally_add(struct score_tally *t, bool ambiguous, const char *database, const struct trial_score *s)
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
    json_array_append_new(list, json_pack("{s:o, s:o}", "record", json_message(record), "why", json_message(why)));
}

void score_tally_fail(struct score_tally *t, bool ambiguous, const char *database, const char *record, const char *why)
{
    score_tally_add(t, ambiguous, database, &(struct trial_score){ 0 });
    tell(t->failed, record, why);
}

void score_tally_skip(struct score_tally *t, const char *record, const char *why)
{
    tell(t->skipped, record, why);
}

/* For each gold the numbers of the queries that have its result. */
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

/* The distinct queries with what came of them. */
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

int score_tally_write(struct score_tally *t, json_t *o, const struct trial *trial, const struct trial_score *s,
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

static struct score_mean mean_of(const struct score_tally *t, const struct score_class *c, int measure)
{
    return score_mean(c->values[measure], c->n, c->database, t->databases.n);
}

static json_t *class_json(const struct score_tally *t, const struct score_class *c)
{
    json_t *o = json_pack("{s:i}", "n", c->n), *intervals = json_object();
    for (int m = 0; m < TALLY_MEASURES; m++) {
        struct score_mean mean = c->n ? mean_of(t, c, m) : (struct score_mean){ 0 };
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
    int rc = score_print_json(o, err);
    json_decref(o);
    return rc;
}

/* Whether all its means have intervals. */
static bool print_class(const struct score_tally *t, int k)
{
    const struct score_class *c = &t->classes[k];
    bool complete = true;

    printf("%-12s%6d", class_names[k], c->n);
    for (int m = 0; m < TALLY_MEASURES && c->n; m++) {
        struct score_mean mean = mean_of(t, c, m);
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

enum exit_code score_tally_finish(struct score_tally *t, const struct score_request *q, json_t *more, struct error *err)
{
    const char *why = json_string_value(json_object_get(json_array_get(t->skipped, 0), "why"));
    int rc = 0;

    if (t->classes[0].n + t->classes[1].n == 0)
        rc = error_set(err, EXIT_CODE_DATA, "%s: nothing could be scored: %s", q->pred, why ? why : "no records");
    if (rc == 0)
        rc = q->json ? print_json(t, more, err) : print_table(t, more, err);
    if (rc == 0 && t->evidence.f)
        rc = out_file_commit(&t->evidence, err);
    json_decref(more);
    if (rc)
        return err->code;
    return json_array_size(t->skipped) ? EXIT_CODE_RECORDS : EXIT_CODE_OK;
}

void score_tally_release(struct score_tally *t)
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
