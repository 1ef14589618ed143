#include "data/eval/dfpl.h"

#include "data/base/whole_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DFPL_SKIPPED = 2 }; /* records of stage 0 that the published training program skips */

/* Reads an interpretation; one without SQL is valid. */
static int read_interpretation(struct dfpl_example *e, struct dfpl_interpretation *r, const json_t *o,
                               const char *where, struct error *err)
{
    const char *field = e->dump ? "sql_queries" : "sql";
    const json_t *sql = json_object_get(o, field);

    if (!(r->text = json_get_string(o, e->dump ? "interpretation" : "text", where, err)))
        return -1;
    r->stored = json_object_get(o, "metrics");
    r->first = e->sql.n;
    if (sql && !json_is_null(sql) && trial_texts_add(&e->sql, sql, field, where, err))
        return -1;
    r->n = e->sql.n - r->first;
    return 0;
}

static int read_interpretations(struct dfpl_example *e, const json_t *list, const char *where, struct error *err)
{
    char inner[640];

    e->interpretations = xcalloc(json_array_size(list) + 1, sizeof *e->interpretations);
    while (e->n_interpretations < (int)json_array_size(list)) {
        int i = e->n_interpretations++;
        snprintf(inner, sizeof inner, "%s, %s %d", where, e->dump ? "interpretation" : "reading", i + 1);
        if (read_interpretation(e, &e->interpretations[i], json_array_get(list, (size_t)i), inner, err))
            return -1;
    }
    return 0;
}

static int64_t read_count(const json_t *o, const char *field)
{
    const json_t *v = json_object_get(o, field);
    return json_is_integer(v) ? json_integer_value(v) : -1;
}

static int read_example(struct dfpl_example *e, const json_t *o, const char *where, struct error *err)
{
    json_t *golds, *interpretations = NULL;

    if (!(e->db_file = json_get_string(o, "db_file", where, err)) ||
        !(e->dump = json_get_string(o, "db_dump", where, err)) ||
        !(e->question = json_get_string(o, "question", where, err)) ||
        json_get_bool(o, "is_ambiguous", &e->ambiguous, where, err) ||
        !(golds = json_get_array(o, "gold_queries", where, err)) ||
        trial_texts_add(&e->golds, golds, "gold_queries", where, err) ||
        !(interpretations = json_get_array(o, "interpretations", where, err)))
        return -1;
    e->source = e->db_file;
    e->type = json_string_value(json_object_get(o, "ambig_type"));
    e->stored = json_object_get(o, "interpretation_level_metrics");
    e->stored_groups = read_count(o, "num_unique_execution_results");
    e->stored_matched = read_count(o, "matched_gold_sql");
    return read_interpretations(e, interpretations, where, err);
}

/* Reads a record of ambit-infer infill.  A failed one has only its error, unless a model did not answer. */
static int read_record(struct dfpl_example *e, const json_t *o, const char *where, struct error *err)
{
    char inner[640];
    json_t *golds, *interpretations = NULL, *gold;
    size_t i;

    *e = (struct dfpl_example){ .stored_groups = -1, .stored_matched = -1 };
    if (!(e->db_file = json_get_string(o, "db_id", where, err)) ||
        (json_object_get(o, "error") && !(e->error = json_get_string(o, "error", where, err))))
        return -1;
    e->source = json_object_get(o, "source_db") ? json_get_string(o, "source_db", where, err) : e->db_file;
    if (!e->source)
        return -1;
    if (e->error && !(json_object_get(o, "golds") && json_object_get(o, "readings")))
        return 0;
    e->error = NULL;
    if (!(e->question = json_get_string(o, "question", where, err)) ||
        !(golds = json_get_array(o, "golds", where, err)) ||
        !(interpretations = json_get_array(o, "readings", where, err)))
        return -1;
    json_array_foreach(golds, i, gold)
    {
        snprintf(inner, sizeof inner, "%s, gold %zu", where, i + 1);
        if (trial_texts_add(&e->golds, json_object_get(gold, "sql"), "sql", inner, err))
            return -1;
    }
    e->ambiguous = e->golds.n > 1;
    return read_interpretations(e, interpretations, where, err);
}

static int read_records(struct dfpl_file *f, const char *path, struct error *err)
{
    struct json_reader *in = json_reader_open(path, err);
    json_t *record;
    int rc = -1, cap = 0;

    f->root = json_array();
    while (in && (rc = json_reader_next(in, &record, err)) > 0) {
        json_array_append_new(f->root, record);
        GROW(f->items, f->n, cap);
        if ((rc = read_record(&f->items[f->n++], record, json_reader_where(in), err)))
            break;
    }
    json_reader_close(in);
    return rc;
}

static int read_published(struct dfpl_file *f, const char *path, struct error *err)
{
    char where[512];

    f->root = json_read_file(path, err);
    const json_t *results = f->root ? json_get_array(f->root, "results", path, err) : NULL;
    if (!results)
        return -1;
    f->items = xcalloc(json_array_size(results) + 1, sizeof *f->items);
    while (f->n < (int)json_array_size(results)) {
        int i = f->n++;
        snprintf(where, sizeof where, "%.400s: example %d", path, i + 1);
        if (read_example(&f->items[i], json_array_get(results, (size_t)i), where, err))
            return -1;
    }
    return f->n ? 0 : error_set(err, EXIT_CODE_DATA, "%s: field \"results\" is empty", path);
}

bool dfpl_is_published(const char *path)
{
    static const char blanks[] = " \t\r\n";
    char head[64] = "";
    FILE *f = whole_file_open(path, INT64_MAX, NULL); /* a pipe is not consumed */
    if (f) {
        head[fread(head, 1, sizeof head - 1, f)] = '\0';
        fclose(f);
    }
    const char *s = head + strspn(head, blanks);
    if (*s++ != '{')
        return false;
    return strncmp(s + strspn(s, blanks), "\"results\"", 9) == 0;
}

bool dfpl_is_records(const char *path)
{
    struct json_reader *in = json_reader_open(path, NULL);
    json_t *record = NULL;
    bool yes = in && json_reader_next(in, &record, NULL) > 0 && json_object_get(record, "db_id");

    json_decref(record);
    json_reader_close(in);
    return yes;
}

int dfpl_read(struct dfpl_file *f, const char *path, struct error *err)
{
    *f = (struct dfpl_file){ 0 };
    return dfpl_is_records(path) ? read_records(f, path, err) : read_published(f, path, err);
}

void dfpl_release(struct dfpl_file *f)
{
    for (int i = 0; i < f->n; i++) {
        free(f->items[i].golds.sql);
        free(f->items[i].sql.sql);
        free(f->items[i].interpretations);
    }
    free(f->items);
    json_decref(f->root);
    *f = (struct dfpl_file){ 0 };
}

bool dfpl_is_rewritten(const json_t *record)
{
    return json_object_get(record, "db_file") && json_object_get(record, "gold_queries") &&
           json_object_get(record, "interpretations");
}

/* A text with blanks for underscores; a new reference. */
static json_t *words_json(const char *text)
{
    char *copy = xstrdup(text);

    for (char *p = copy; *p; p++)
        *p = (char)(*p == '_' ? ' ' : *p);
    json_t *words = json_string(copy);
    free(copy);
    return words;
}

/* Adds the gold of an interpretation [text, accepted]. */
static int add_rewritten(json_t *golds, const json_t *sql, const json_t *pair, const char *where, struct error *err)
{
    int gold = (int)json_array_size(golds) + 1;
    const json_t *text = json_array_get(pair, 0), *accepted = json_array_get(pair, 1);

    if (!json_is_string(sql))
        return error_set(err, EXIT_CODE_DATA, "%s: field \"gold_queries\": entry %d is no string", where, gold);
    if (json_array_size(pair) != 2 || !json_is_string(text) || !json_is_boolean(accepted))
        return error_set(err, EXIT_CODE_DATA, "%s: field \"interpretations\": entry %d: expected [text, true or false]",
                         where, gold);
    if (!json_is_true(accepted))
        return error_set(err, EXIT_CODE_DATA, "%s: gold %d: its SQL rejects the text \"%.200s\"", where, gold,
                         json_string_value(text));
    return json_array_append_new(golds,
                                 json_pack("{s:O, s:o}", "sql", sql, "text", words_json(json_string_value(text))));
}

/* The golds of a row; NULL with err. */
static json_t *rewritten_golds(const json_t *row, const char *where, struct error *err)
{
    const json_t *sql = json_get_array(row, "gold_queries", where, err);
    const json_t *pairs = sql ? json_get_array(row, "interpretations", where, err) : NULL;
    size_t n = json_array_size(sql);
    json_t *golds = json_array();
    int rc = pairs ? 0 : -1;

    if (rc == 0 && (n == 0 || json_array_size(pairs) != n))
        rc = error_set(err, EXIT_CODE_DATA, "%s: expected an interpretation for each of %zu gold queries, got %zu",
                       where, n, json_array_size(pairs));
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = add_rewritten(golds, json_array_get(sql, i), json_array_get(pairs, i), where, err);
    if (rc == 0)
        return golds;
    json_decref(golds);
    return NULL;
}

/* The end of a database's name that names the changed column or table; "" if the name has none. */
static const char *change_of(const char *name)
{
    static const char *const marks[] = { "_column_", "_table_" };

    for (int i = 0; i < ARRAY_LEN(marks); i++)
        if (strstr(name, marks[i]))
            return strstr(name, marks[i]);
    return name + strlen(name);
}

json_t *dfpl_rewritten_record(const json_t *row, int64_t number, bool published, const char *where, struct error *err)
{
    const char *file = json_get_string(row, "db_file", where, err);
    const char *question = file ? json_get_string(row, "question", where, err) : NULL;
    json_t *golds = question ? rewritten_golds(row, where, err) : NULL;

    if (golds && published && number <= DFPL_SKIPPED) {
        error_set(err, EXIT_CODE_DATA, "%s: the published training program skips the first %d records", where,
                  DFPL_SKIPPED);
        json_decref(golds);
        golds = NULL;
    }
    if (!golds)
        return NULL;
    const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file, *dot = strrchr(name, '.');
    char *db_id = strndup(name, dot ? (size_t)(dot - name) : strlen(name));
    CHECK(db_id, "out of memory");
    json_t *record =
        json_pack("{s:I, s:s, s:o, s:s, s:o}", "id", (json_int_t)number, "db_id", db_id, "source_db",
                  json_stringn(db_id, (size_t)(change_of(db_id) - db_id)), "question", question, "golds", golds);
    free(db_id);
    return record;
}

/* Whether a query equals an earlier one that began a group. */
static bool joins_group(const struct trial *t, const int *first, int n, int q)
{
    for (int i = 0; i < n; i++)
        if (trial_alike(t, &t->queries[first[i]], &t->queries[q]))
            return true;
    return false;
}

int dfpl_groups(const struct trial *t)
{
    int *first = xmalloc(((size_t)t->n_queries + 1) * sizeof *first), n = 0;
    bool failed = false, empty = false;

    for (int q = 0; q < t->n_queries; q++) {
        const struct exec_result *r = &t->queries[q].result;
        if (r->status != EXEC_OK)
            failed = true;
        else if (r->n == 0)
            empty = true;
        else if (!joins_group(t, first, n, q))
            first[n++] = q;
    }
    free(first);
    return n + failed + empty;
}

static bool number_is(const json_t *o, const char *field, double value)
{
    const json_t *v = json_object_get(o, field);
    if (!v)
        return true; /* not stored */
    double stored = json_is_boolean(v) ? json_is_true(v) : json_number_value(v);
    return (json_is_boolean(v) || json_is_number(v)) && fabs(stored - value) <= 1e-12;
}

/* Compares the failed queries in any order. */
static bool errors_are(const json_t *o, const struct trial *t, int failed)
{
    const json_t *list = json_object_get(o, "execution_errors"), *item;
    size_t i;

    if (!list)
        return true;
    json_array_foreach(list, i, item)
    {
        const char *sql = json_string_value(json_object_get(item, "query"));
        int q = sql ? trial_find(t, sql) : -1;
        if (q < 0 || t->queries[q].result.status == EXEC_OK)
            return false;
    }
    return (int)json_array_size(list) == failed;
}

/* An example that could not be scored is stored without metrics. */
static bool same_metrics(const json_t *o, const struct trial *t, const struct trial_score *s)
{
    if (json_object_size(o) == 0)
        return t->why != NULL;
    return !t->why && number_is(o, "recall", s->recall) && number_is(o, "precision", s->precision) &&
           number_is(o, "f1_score", s->f1) && number_is(o, "one_found", s->one_found) &&
           number_is(o, "all_found", s->all_found) && number_is(o, "num_queries", s->queries) &&
           number_is(o, "num_unique_queries", s->unique) && errors_are(o, t, s->failed);
}

static struct trial_score compare_one(struct dfpl_stored *s, const json_t *o, const struct trial *t,
                                      struct trial_text sql)
{
    struct trial_score score = trial_score_covered(t, sql);
    if (json_is_object(o)) {
        s->metrics++;
        s->differ += !same_metrics(o, t, &score);
    }
    return score;
}

void dfpl_stored_compare(struct dfpl_stored *s, const struct dfpl_example *e, const struct trial *t)
{
    int matched = 0;

    compare_one(s, e->stored, t, trial_texts_part(&e->sql, 0, e->sql.n));
    for (int i = 0; i < e->n_interpretations; i++) {
        const struct dfpl_interpretation *r = &e->interpretations[i];
        matched += compare_one(s, r->stored, t, trial_texts_part(&e->sql, r->first, r->n)).one_found;
    }
    if (e->stored_groups >= 0) {
        s->groups++;
        s->groups_differ += e->stored_groups != (t->why ? 0 : dfpl_groups(t));
    }
    if (e->stored_matched >= 0) {
        s->matched++;
        s->matched_differ += e->stored_matched != matched;
    }
}
