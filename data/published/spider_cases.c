#include "data/published/spider_cases.h"

#include "data/base/records.h"
#include "data/eval/candidate_list.h"
#include "data/eval/trial.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The records of one of the two files. */
struct spider_rows {
    struct strings *where, ids;
    json_t **items; /* [ids.n] */
    int *where_of;
    int cap, where_cap;
    bool lines; /* the file has lines instead of records */
};

static void rows_release(struct spider_rows *rows)
{
    for (int i = 0; i < rows->ids.n; i++)
        json_decref(rows->items[i]);
    free(rows->items);
    free(rows->where_of);
    strings_release(&rows->ids);
}

static const char *where_of(const struct spider_rows *rows, int i)
{
    return rows->where->items[rows->where_of[i]];
}

/* Takes the record. Its id is its own or its position. */
static int rows_add(struct spider_rows *rows, json_t *record, const char *where, struct error *err)
{
    char text[RECORD_ID_TEXT];
    const json_t *own = json_object_get(record, "id");

    if (own && !json_is_string(own) && !json_is_integer(own)) {
        error_set(err, EXIT_CODE_DATA, "%s: field \"id\": expected a string or an integer, got %s", where,
                  json_type_name(own));
        json_decref(record);
        return -1;
    }
    if (!own)
        json_object_set_new(record, "id", json_integer(rows->ids.n + 1));
    const char *id = record_id_text(record, text);
    if (strings_find(&rows->ids, id) >= 0) {
        error_set(err, EXIT_CODE_DATA, "%s: field \"id\": %s came before", where, id);
        json_decref(record);
        return -1;
    }
    GROW(rows->items, rows->ids.n, rows->cap);
    GROW(rows->where_of, rows->ids.n, rows->where_cap);
    rows->where_of[rows->ids.n] = strings_add(rows->where, where);
    rows->items[rows->ids.n] = record;
    strings_add(&rows->ids, id);
    return 0;
}

/* Makes a record of a line without the white space at its ends. NULL with err. */
typedef json_t *line_fn(const char *text, size_t n, const char *where, struct error *err);

/* A JSON string of a field. NULL with err if it is not UTF-8 text. */
static json_t *line_field(const char *text, size_t n, const char *field, const char *where, struct error *err)
{
    json_t *value = memchr(text, 0, n) ? NULL : json_stringn(text, n);

    if (!value)
        error_set(err, EXIT_CODE_DATA, "%s: %s: expected text in UTF-8", where, field);
    return value;
}

static json_t *gold_line(const char *text, size_t n, const char *where, struct error *err)
{
    const char *tab = memchr(text, '\t', n), *end = text + n;

    if (!tab || memchr(tab + 1, '\t', (size_t)(end - tab - 1))) {
        error_set(err, EXIT_CODE_DATA, "%s: expected a statement, a tab and a db_id, got %s", where,
                  tab ? "more than one tab" : "no tab");
        return NULL;
    }
    json_t *sql = line_field(text, (size_t)(tab - text), "statement", where, err);
    json_t *db_id = sql ? line_field(tab + 1, (size_t)(end - tab - 1), "db_id", where, err) : NULL;
    json_t *record = db_id ? json_pack("{s:O, s:O}", "query", sql, "db_id", db_id) : NULL;
    json_decref(sql);
    json_decref(db_id);
    return record;
}

static json_t *prediction_line(const char *text, size_t n, const char *where, struct error *err)
{
    const char *tab = memchr(text, '\t', n);
    json_t *sql = line_field(text, tab ? (size_t)(tab - text) : n, "statement", where, err);

    return sql ? json_pack("{s:o}", "sql", sql) : NULL;
}

/* Removes the white space at both ends, which leaves *n bytes. */
static const char *strip(const struct text_unit *unit, size_t *n)
{
    const char *from = unit->text, *to = from + unit->length;

    while (from < to && text_is_blank(from, 1))
        from++;
    while (to > from && text_is_blank(to - 1, 1))
        to--;
    *n = (size_t)(to - from);
    return from;
}

/* Reads lines. A blank line before the last statement is an error: Spider's evaluator leaves it out, and the following
 * predictions then belong to other records. */
static int rows_of_lines(struct spider_rows *rows, struct text_stream *in, line_fn *parse, struct error *err)
{
    struct text_unit unit;
    int64_t blank = 0;
    int rc;

    rows->lines = true;
    while ((rc = text_stream_next(in, &scan_line, TEXT_MAX_UNIT, &unit, err)) > 0) {
        char where[900];
        size_t n;
        const char *text = strip(&unit, &n);
        if (n == 0) {
            blank = blank ? blank : unit.line;
            continue;
        }
        if (blank)
            return error_set(err, EXIT_CODE_DATA, "%.800s: line %lld: expected a statement, got a blank line",
                             text_stream_name(in), (long long)blank);
        snprintf(where, sizeof where, "%.800s: line %lld", text_stream_name(in), (long long)unit.line);
        json_t *record = parse(text, n, where, err);
        if (!record || rows_add(rows, record, where, err))
            return -1;
    }
    return rc;
}

/* Reads JSONL or an array; takes the stream. */
static int rows_of_records(struct spider_rows *rows, struct text_stream *in, bool array, struct error *err)
{
    struct json_reader *r = json_reader_of(in, array, JSONL_MAX_LINE);
    json_t *record;
    int rc;

    while ((rc = json_reader_next(r, &record, err)) > 0)
        if (rows_add(rows, record, json_reader_where(r), err)) {
            rc = -1;
            break;
        }
    json_reader_close(r);
    return rc;
}

static const char bird_mark[] = "\t----- bird -----\t";

/* The record of an entry of BIRD's object. A number stands for a missing prediction. NULL with err. */
static json_t *bird_record(const json_t *value, const char *where, struct error *err)
{
    const char *text = json_string_value(value), *mark = text ? strstr(text, bird_mark) : NULL;

    if (json_is_number(value))
        return json_pack("{s:[]}", "sql");
    if (mark)
        return json_pack("{s:s#, s:s}", "sql", text, (int)(mark - text), "db_id", mark + strlen(bird_mark));
    error_set(err, EXIT_CODE_DATA,
              "%s: expected a text with a statement, a tab, \"----- bird -----\", a tab and a db_id", where);
    return NULL;
}

/* Adds the entries of BIRD's object in their order, which is that of the gold records. */
static int rows_of_object(struct spider_rows *rows, const char *path, struct error *err)
{
    json_t *object = json_read_file(path, err), *value;
    const char *key;
    int rc = object ? 0 : -1;

    json_object_foreach(object, key, value)
    {
        char where[900];
        snprintf(where, sizeof where, "%.800s: field \"%.60s\"", path, key);
        json_t *record = bird_record(value, where, err);
        if (!record || rows_add(rows, record, where, err)) {
            rc = -1;
            break;
        }
    }
    json_decref(object);
    return rc;
}

/* Whether a first line opens BIRD's object: a brace alone, or one with a number as its key. */
static bool opens_object(const struct text_unit *unit)
{
    size_t n;
    const char *text = strip(unit, &n), *key = text + 1;

    while (n > 1 && key < text + n && text_is_blank(key, 1))
        key++;
    return n == 1 || (key + 1 < text + n && key[0] == '"' && key[1] >= '0' && key[1] <= '9');
}

/* Reads a file of any form. */
static int rows_fill(struct spider_rows *rows, const char *path, line_fn *parse, struct error *err)
{
    struct text_stream *in = text_stream_open(path, err);
    int first = in ? text_stream_first(in, err) : -2, rc = first == -2 ? -1 : 0;
    struct text_unit unit;

    if (first == '{' && parse == prediction_line) {
        rc = text_stream_peek(in, &scan_line, TEXT_MAX_UNIT, &unit, err) < 0 ? -1 : 0;
        if (rc == 0 && opens_object(&unit)) {
            text_stream_close(in);
            return rows_of_object(rows, path, err);
        }
    }
    if (rc == 0 && (first == '{' || first == '['))
        return rows_of_records(rows, in, first == '[', err);
    if (rc == 0)
        rc = rows_of_lines(rows, in, parse, err);
    text_stream_close(in);
    return rc;
}

static int rows_read(struct spider_rows *rows, const char *path, line_fn *parse, struct error *err)
{
    if (rows_fill(rows, path, parse, err))
        return -1;
    return rows->ids.n ? 0 : error_set(err, EXIT_CODE_DATA, "%s: expected statements, got none", path);
}

/* The gold statement, from the first of its fields that is a string; Spider keeps a parse tree in "sql". NULL with err.
 */
static const char *gold_of(const json_t *record, const char *where, struct error *err)
{
    static const char *const fields[] = { "query", "SQL", "sql" };
    const json_t *list = json_object_get(record, "sql");
    const char *sql = NULL;

    for (int i = 0; i < ARRAY_LEN(fields) && !sql; i++)
        sql = json_string_value(json_object_get(record, fields[i]));
    if (!sql && json_array_size(list) == 1)
        sql = json_string_value(json_array_get(list, 0));
    if (!sql)
        error_set(err, EXIT_CODE_DATA,
                  "%s: expected one gold statement, a string in field \"query\", \"SQL\" or \"sql\"", where);
    return sql;
}

/* Sorts candidates by falling probability; equal ones keep their order. */
struct spider_candidate {
    const char *sql;
    double p;
    int place;
};

static int by_probability(const void *a, const void *b)
{
    const struct spider_candidate *x = a, *y = b;
    return x->p < y->p ? 1 : x->p > y->p ? -1 : x->place - y->place;
}

static int read_candidates(struct spider_case *c, const char *where, struct error *err)
{
    struct candidate_list list;

    int rc = candidate_list_read(&list, c->prediction, where, err);
    if (rc == 0) {
        struct spider_candidate *ranked = xcalloc((size_t)list.n, sizeof *ranked);
        for (int i = 0; i < list.n; i++)
            ranked[i] = (struct spider_candidate){ list.sql[i], list.p[i], i };
        qsort(ranked, (size_t)list.n, sizeof *ranked, by_probability);
        c->best = list.weights == WEIGHTS_EQUAL ? NAN : ranked[0].p;
        c->sql = xcalloc((size_t)list.n, sizeof *c->sql);
        for (c->n = 0; c->n < list.n; c->n++)
            c->sql[c->n] = ranked[c->n].sql;
        free(ranked);
    }
    candidate_list_release(&list);
    return rc;
}

static int read_statements(struct spider_case *c, const char *where, struct error *err)
{
    const char *field = json_object_get(c->prediction, "sql") ? "sql" : "t2s_outs";
    const json_t *value = json_object_get(c->prediction, field);
    struct trial_texts texts = { 0 };

    if (!value && json_object_get(c->prediction, "error"))
        return 0;
    if (!value)
        return error_set(err, EXIT_CODE_DATA,
                         "%s: holds no predictions: expected field \"sql\", \"candidates\" or \"t2s_outs\"", where);
    int rc = trial_texts_add(&texts, value, field, where, err);
    c->sql = texts.sql;
    c->n = texts.n;
    return rc;
}

static int read_predictions(struct spider_case *c, const char *where, struct error *err)
{
    const char *db_id = json_string_value(json_object_get(c->prediction, "db_id"));

    if (db_id && strcmp(db_id, c->db_id) != 0)
        return error_set(err, EXIT_CODE_DATA, "%s: field \"db_id\": expected \"%s\", as in %s, got \"%s\"", where,
                         c->db_id, c->where, db_id);
    return json_object_get(c->prediction, "candidates") ? read_candidates(c, where, err)
                                                        : read_statements(c, where, err);
}

static void skip(struct spider_cases *c, const char *record, const char *reason)
{
    json_array_append_new(c->skipped, json_pack("{s:o, s:s}", "record", json_message(record), "reason", reason));
}

/* Adds a case; one without predictions of --below is released again. */
static int add_case(struct spider_cases *c, struct spider_case one, double below, const char *where, struct error *err)
{
    int rc = 0;

    if (!(one.db_id = json_get_string(one.record, "db_id", one.where, err)) ||
        !(one.gold = gold_of(one.record, one.where, err)))
        rc = -1;
    if (rc == 0 && one.prediction)
        rc = read_predictions(&one, where, err);
    if (rc == 0 && below > 0 && one.n && isnan(one.best))
        rc = error_set(err, EXIT_CODE_DATA,
                       "%s: expected field \"candidates\" with \"p\" or \"logprob\", which --below compares", where);
    if (rc == 0 && (below <= 0 || one.best < below)) {
        GROW(c->items, c->n, c->cap);
        json_incref(one.id);
        json_incref(one.record);
        json_incref(one.prediction);
        c->items[c->n++] = one;
        return 0;
    }
    free(one.sql);
    return rc;
}

static int join(struct spider_cases *c, const struct spider_rows *gold, const struct spider_rows *pred, double below,
                struct error *err)
{
    if (gold->lines && pred->lines && gold->ids.n != pred->ids.n)
        return error_set(err, EXIT_CODE_DATA, "%s: expected %d statements, as many as gold statements, got %d",
                         where_of(pred, pred->ids.n - 1), gold->ids.n, pred->ids.n);
    for (int i = 0; i < gold->ids.n; i++) {
        int p = strings_find(&pred->ids, gold->ids.items[i]);
        struct spider_case one = { .record = gold->items[i],
                                   .prediction = p < 0 ? NULL : pred->items[p],
                                   .id = json_object_get(gold->items[i], "id"),
                                   .where = where_of(gold, i),
                                   .best = NAN };
        if (p < 0 && below <= 0)
            skip(c, one.where, "no predictions, which count as wrong");
        if (add_case(c, one, below, p < 0 ? one.where : where_of(pred, p), err))
            return -1;
    }
    for (int i = 0; i < pred->ids.n; i++)
        if (strings_find(&gold->ids, pred->ids.items[i]) < 0)
            skip(c, where_of(pred, i), "a prediction without a gold record");
    return 0;
}

int spider_cases_read(struct spider_cases *c, const char *gold, const char *pred, int64_t k, double below,
                      struct error *err)
{
    struct spider_rows g = { .where = &c->where }, p = { .where = &c->where };

    *c = (struct spider_cases){ .skipped = json_array() };
    int rc = rows_read(&g, gold, gold_line, err);
    if (rc == 0)
        rc = rows_read(&p, pred, prediction_line, err);
    if (rc == 0)
        rc = join(c, &g, &p, below, err);
    for (int i = 0; i < c->n; i++)
        c->items[i].n = (int)(c->items[i].n < k ? c->items[i].n : k);
    rows_release(&g);
    rows_release(&p);
    return rc;
}

void spider_cases_release(struct spider_cases *c)
{
    for (int i = 0; i < c->n; i++) {
        json_decref(c->items[i].id);
        json_decref(c->items[i].record);
        json_decref(c->items[i].prediction);
        free(c->items[i].sql);
    }
    free(c->items);
    strings_release(&c->where);
    json_decref(c->skipped);
    *c = (struct spider_cases){ 0 };
}
