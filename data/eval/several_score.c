#include "data/eval/several_score.h"

#include "data/base/json.h"
#include "data/base/records.h"
#include "data/base/strings.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEVERAL_MOST = 64 }; /* maximum number of ambiguities of a record */

/* The alternatives of an ambiguity, in lower case with blanks for underscores, and its words; end 0: unknown. */
struct stated {
    struct strings names;
    int64_t start, end;
};

struct stated_list {
    struct stated items[SEVERAL_MOST];
    int n;
};

static void list_release(struct stated_list *l)
{
    for (int i = 0; i < l->n; i++)
        strings_release(&l->items[i].names);
    l->n = 0;
}

static void add_name(struct stated *s, const char *name)
{
    char *text = xstrdup(name);

    for (char *p = text; *p; p++)
        *p = *p == '_' ? ' ' : (char)tolower((unsigned char)*p);
    strings_add(&s->names, text);
    free(text);
}

/* Reads names, each a string or {"concept"}. */
static int read_names(struct stated *s, const json_t *o, const char *where, struct error *err)
{
    const json_t *list = json_get_array(o, "alternatives", where, err);

    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        const char *name =
            json_is_string(item) ? json_string_value(item) : json_get_string(item, "concept", where, err);
        if (!name)
            return -1;
        add_name(s, name);
    }
    return list ? 0 : -1;
}

static int read_words(struct stated *s, const json_t *o, const char *where, struct error *err)
{
    if (!json_object_get(o, "start"))
        return 0;
    return json_get_int(o, "start", 0, INT32_MAX, &s->start, where, err) ||
           json_get_int(o, "end", s->start + 1, INT32_MAX, &s->end, where, err);
}

/* Whether the entry is a span with another label than AMB. */
static bool is_other_span(const json_t *o)
{
    const char *label = json_string_value(json_object_get(o, "label"));
    return label && strcmp(label, "AMB") != 0;
}

static int read_list(struct stated_list *l, const json_t *line, const char *field, const char *where, struct error *err)
{
    const json_t *list = json_get_array(line, field, where, err);
    char place[400];

    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *o = json_array_get(list, i);
        if (is_other_span(o))
            continue;
        snprintf(place, sizeof place, "%.300s: %s[%zu]", where, field, i);
        if (l->n == SEVERAL_MOST)
            return error_set(err, EXIT_CODE_DATA, "%s: expected at most %d ambiguities", place, SEVERAL_MOST);
        struct stated *s = &l->items[l->n++];
        *s = (struct stated){ 0 };
        if (read_names(s, o, place, err) || read_words(s, o, place, err))
            return -1;
    }
    return list ? 0 : -1;
}

/* A record with gold and prediction, and its measures. */
struct several_record {
    struct stated_list gold;
    int database, predicted, found, extra, right_words;
    bool there;
};

enum measure { ALL_FOUND, ONE_FOUND, RIGHT_WORDS, WITH_EXTRA, QUESTIONS, MEASURES };
static const char *const measures[] = { "all_found", "one_found", "right_words", "extra", "questions" };

struct several_scores {
    struct several_record **records;
    int n, cap;
    struct strings ids, databases; /* ids[i] is record i's */
    json_t *skipped;
    struct out_file evidence;
};

static void skip(struct several_scores *r, const char *record, const char *why)
{
    json_array_append_new(r->skipped,
                          json_pack("{s:o, s:o}", "record", json_message(record), "reason", json_message(why)));
}

/* A record_fn. */
static int read_gold(void *user, json_t *line, const char *where, struct error *err)
{
    struct several_scores *r = user;
    const char *db_id = json_get_string(line, "db_id", where, err);
    const char *source = json_string_value(json_object_get(line, "source_db"));
    char buffer[RECORD_ID_TEXT];
    const char *id = record_id_text(line, buffer);

    if (!db_id)
        return -1;
    if (strings_find(&r->ids, id) >= 0)
        return error_set(err, EXIT_CODE_DATA, "%s: field \"id\": expected each id once, got \"%s\" again", where, id);
    GROW(r->records, r->n, r->cap);
    struct several_record *x = r->records[r->n++] = xcalloc(1, sizeof *x);
    strings_add(&r->ids, id);
    x->database = strings_add(&r->databases, source ? source : db_id);
    return read_list(&x->gold, line, "ambiguities", where, err);
}

static bool names_all(const struct stated *prediction, const struct stated *gold)
{
    for (int i = 0; i < gold->names.n; i++)
        if (strings_find(&prediction->names, gold->names.items[i]) < 0)
            return false;
    return gold->names.n > 0;
}

/* Matches each prediction with the first gold ambiguity that it names and none before it has found. */
static void compare(struct several_record *x, const struct stated_list *predicted)
{
    bool found[SEVERAL_MOST] = { false };

    x->there = true;
    x->predicted = predicted->n;
    for (int i = 0; i < predicted->n; i++) {
        const struct stated *p = &predicted->items[i];
        int k = 0;
        while (k < x->gold.n && (found[k] || !names_all(p, &x->gold.items[k])))
            k++;
        if (k == x->gold.n) {
            x->extra++;
            continue;
        }
        found[k] = true;
        x->found++;
        x->right_words += p->end && p->start == x->gold.items[k].start && p->end == x->gold.items[k].end;
    }
}

/* A record_fn: bad lines are skipped. */
static int read_prediction(void *user, json_t *line, const char *where, struct error *err)
{
    struct several_scores *r = user;
    char buffer[RECORD_ID_TEXT];
    int i = strings_find(&r->ids, record_id_text(line, buffer));
    struct stated_list *predicted = xcalloc(1, sizeof *predicted);
    struct error bad = { 0 };

    (void)err;
    if (i < 0 || r->records[i]->there)
        skip(r, where, i < 0 ? "its id is none of the gold records'" : "its id came before");
    else if (json_object_get(line, "error"))
        skip(r, where, "it is an error");
    else if (read_list(predicted, line, json_object_get(line, "ambiguities") ? "ambiguities" : "spans", where, &bad))
        skip(r, where, bad.text);
    else
        compare(r->records[i], predicted);
    list_release(predicted);
    free(predicted);
    return 0;
}

static int write_evidence(struct several_scores *r, int i, struct error *err)
{
    const struct several_record *x = r->records[i];
    json_t *o = json_pack("{s:s, s:s, s:i, s:i, s:i, s:i, s:i}", "id", r->ids.items[i], "db_id",
                          r->databases.items[x->database], "gold", x->gold.n, "predicted", x->predicted, "found",
                          x->found, "right_words", x->right_words, "extra", x->extra);
    int rc = json_write_line(&r->evidence, o, err);

    json_decref(o);
    return rc;
}

static int score_all(struct several_scores *r, const struct score_request *q, struct error *err)
{
    int n = 0;

    if ((q->per_example && out_file_open(&r->evidence, q->per_example, err)) ||
        records_each(q->gold, RECORDS_AUTO, read_gold, r, err) ||
        records_each_as_is(q->pred, RECORDS_AUTO, read_prediction, r, err))
        return -1;
    for (int i = 0; i < r->n; i++) {
        n += r->records[i]->there;
        if (!r->records[i]->there)
            skip(r, r->ids.items[i], "it has no prediction");
        else if (r->evidence.f && write_evidence(r, i, err))
            return -1;
    }
    if (!n)
        return error_set(err, EXIT_CODE_DATA, "%s: expected an id of a record in %s, got none", q->pred, q->gold);
    return r->evidence.f ? out_file_commit(&r->evidence, err) : 0;
}

/* The measure of a record, NAN where it has none. */
static double value_of(const struct several_record *x, enum measure m)
{
    const double values[MEASURES] = { [ALL_FOUND] = x->gold.n ? x->found == x->gold.n : (double)NAN,
                                      [ONE_FOUND] = x->gold.n ? x->found > 0 : (double)NAN,
                                      [RIGHT_WORDS] = x->found ? x->right_words / (double)x->found : (double)NAN,
                                      [WITH_EXTRA] = x->extra > 0,
                                      [QUESTIONS] = x->predicted };
    return values[m];
}

/* The mean over the records with this many ambiguities, and their number. */
static struct score_mean mean_of(const struct several_scores *r, int ambiguities, enum measure m, int *n)
{
    double *values = xcalloc((size_t)r->n + 1, sizeof *values);
    int *group = xcalloc((size_t)r->n + 1, sizeof *group);

    *n = 0;
    for (int i = 0; i < r->n; i++) {
        const struct several_record *x = r->records[i];
        double value = value_of(x, m);
        if (!x->there || x->gold.n != ambiguities || isnan(value))
            continue;
        values[*n] = value;
        group[(*n)++] = x->database;
    }
    struct score_mean mean = *n ? score_mean(values, *n, group, r->databases.n) : (struct score_mean){ .mean = NAN };
    free(values);
    free(group);
    return mean;
}

static json_t *row_json(const struct several_scores *r, int ambiguities)
{
    json_t *row = json_pack("{s:i}", "ambiguities", ambiguities);
    int n;

    mean_of(r, ambiguities, QUESTIONS, &n);
    json_object_set_new(row, "records", json_integer(n));
    for (int m = 0; m < MEASURES; m++) {
        struct score_mean mean = mean_of(r, ambiguities, (enum measure)m, &n);
        json_object_set_new(
            row, measures[m],
            n ? json_pack("{s:f, s:o}", "value", mean.mean, "interval", score_interval_json(mean.interval))
              : json_null());
    }
    return row;
}

static void print_row(const struct several_scores *r, int ambiguities)
{
    int n;

    mean_of(r, ambiguities, QUESTIONS, &n);
    printf("%d ambiguities, %d records\n", ambiguities, n);
    for (int m = 0; m < MEASURES; m++) {
        static const char *const names[] = { "all found, %", "one found at least, %", "right words, % of the found",
                                             "a false one, %", "questions" };
        struct score_mean mean = mean_of(r, ambiguities, (enum measure)m, &n);
        double scale = m == QUESTIONS ? 1 : 100;
        if (!n)
            continue;
        printf("  %-30s %6.*f  ", names[m], m == QUESTIONS ? 2 : 1, scale * mean.mean);
        score_print_interval(mean.interval, scale, 6, m == QUESTIONS ? 2 : 1);
        putchar('\n');
    }
}

/* Whether a scored record has this many ambiguities. */
static bool has_records(const struct several_scores *r, int ambiguities)
{
    for (int i = 0; i < r->n; i++)
        if (r->records[i]->there && r->records[i]->gold.n == ambiguities)
            return true;
    return false;
}

static int print(const struct several_scores *r, const struct score_request *q, struct error *err)
{
    json_t *rows = json_array();

    for (int n = 0; n <= SEVERAL_MOST; n++) {
        if (!has_records(r, n))
            continue;
        if (q->json)
            json_array_append_new(rows, row_json(r, n));
        else
            print_row(r, n);
    }
    if (q->json)
        return score_print_json(json_pack("{s:s, s:i, s:i, s:o, s:O}", "rule", "several", "records", r->n, "databases",
                                          r->databases.n, "by_ambiguities", rows, "skipped", r->skipped),
                                err);
    json_decref(rows);
    if (r->databases.n < 2)
        score_print_one_database();
    score_print_skipped(r->skipped);
    return 0;
}

static void release(struct several_scores *r)
{
    out_file_abort(&r->evidence);
    for (int i = 0; i < r->n; i++) {
        list_release(&r->records[i]->gold);
        free(r->records[i]);
    }
    free(r->records);
    strings_release(&r->ids);
    strings_release(&r->databases);
    json_decref(r->skipped);
}

enum exit_code score_several(const struct score_request *q, struct error *err)
{
    struct several_scores r = { .skipped = json_array() };
    enum exit_code code = EXIT_CODE_OK;

    if (!q->gold)
        code = (error_set(err, EXIT_CODE_USAGE, "--rule several requires --gold"), EXIT_CODE_USAGE);
    else if (score_all(&r, q, err) || print(&r, q, err))
        code = err->code;
    else if (json_array_size(r.skipped))
        code = EXIT_CODE_RECORDS;
    release(&r);
    return code;
}
