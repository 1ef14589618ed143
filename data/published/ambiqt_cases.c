#include "data/published/ambiqt_cases.h"

#include "data/corpora/ambiqt_text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void ambiqt_list_release(struct ambiqt_list *l)
{
    for (int i = 0; i < l->n; i++)
        free(l->items[i]);
    free(l->items);
    *l = (struct ambiqt_list){ 0 };
}

/* Takes s. */
static void add_once(struct ambiqt_list *l, char *s, int64_t limit)
{
    bool known = l->n >= limit;

    for (int i = 0; i < l->n && !known; i++)
        known = strcmp(l->items[i], s) == 0;
    if (known) {
        free(s);
        return;
    }
    GROW(l->items, l->n, l->cap);
    l->items[l->n++] = s;
}

void ambiqt_merge(struct ambiqt_list *out, const struct ambiqt_list *lists, int n_lists, int64_t limit)
{
    int last = 0;

    *out = (struct ambiqt_list){ 0 };
    for (int i = 0; i < n_lists; i++)
        last = 3 * i + 2 * lists[i].n > last ? 3 * i + 2 * lists[i].n : last;
    for (int rank = 0; rank < last && out->n < limit; rank++)
        for (int i = 0; i < n_lists && 3 * i <= rank; i++)
            if ((rank - 3 * i) % 2 == 0 && (rank - 3 * i) / 2 < lists[i].n)
                add_once(out, xstrdup(lists[i].items[(rank - 3 * i) / 2]), limit);
}

void ambiqt_collate(struct ambiqt_list *out, const struct ambiqt_list *first, int n_first,
                    const struct ambiqt_list *rest, int64_t k)
{
    *out = (struct ambiqt_list){ 0 };
    for (int i = 0; i < first->n && i < n_first; i++)
        add_once(out, ambiqt_normalize(first->items[i]), k);
    for (int i = 0; i < rest->n; i++)
        add_once(out, ambiqt_normalize(rest->items[i]), k);
}

static const char *const prediction_fields[] = { "t2s_outs", "template_filled", "chatgpt_out", "flan_direct_outs" };

/* The records of a file, with the words that name each. */
struct file_rows {
    json_t **items;
    struct strings where;
    int *where_of;
    bool *used;
    int n, cap;
};

static void rows_release(struct file_rows *rows)
{
    for (int i = 0; i < rows->n; i++)
        json_decref(rows->items[i]);
    free(rows->items);
    free(rows->where_of);
    free(rows->used);
    strings_release(&rows->where);
}

static int rows_read(struct file_rows *rows, const char *path, struct error *err)
{
    json_t *record;
    int rc, cap = 0;

    struct json_reader *r = json_reader_open(path, err);
    if (!r)
        return -1;
    while ((rc = json_reader_next(r, &record, err)) > 0) {
        GROW(rows->where_of, rows->n, cap);
        rows->where_of[rows->n] = strings_add(&rows->where, json_reader_where(r));
        GROW(rows->items, rows->n, rows->cap);
        rows->items[rows->n++] = record;
    }
    json_reader_close(r);
    rows->used = xcalloc((size_t)rows->n + 1, sizeof *rows->used);
    if (rc == 0 && rows->n == 0)
        rc = error_set(err, EXIT_CODE_DATA, "%s: expected records, got none", path);
    return rc;
}

static const char *where(const struct file_rows *rows, int i)
{
    return rows->where.items[rows->where_of[i]];
}

static int add_list(struct ambiqt_list *l, const json_t *strings, const char *field, const char *at, struct error *err)
{
    size_t i;
    json_t *item;

    json_array_foreach(strings, i, item)
    {
        if (!json_is_string(item))
            return error_set(err, EXIT_CODE_DATA, "%s: field \"%s\": element %zu is not a string", at, field, i);
        GROW(l->items, l->n, l->cap);
        l->items[l->n++] = xstrdup(json_string_value(item));
    }
    return 0;
}

static int merge_lists(struct ambiqt_list *out, const json_t *value, int64_t k, const char *field, const char *at,
                       struct error *err)
{
    size_t n = json_array_size(value);
    struct ambiqt_list *lists = xcalloc(n + 1, sizeof *lists);
    int rc = 0;

    for (size_t i = 0; i < n && rc == 0; i++) {
        const json_t *list = json_array_get(value, i);
        rc = json_is_array(list)
                 ? add_list(&lists[i], list, field, at, err)
                 : error_set(err, EXIT_CODE_DATA, "%s: field \"%s\": element %zu is not a list", at, field, i);
    }
    if (rc == 0)
        ambiqt_merge(out, lists, (int)n, k);
    for (size_t i = 0; i < n; i++)
        ambiqt_list_release(&lists[i]);
    free(lists);
    return rc;
}

static int read_predictions(struct ambiqt_list *out, const json_t *o, int64_t k, const char *at, struct error *err)
{
    const char *field = NULL;

    for (int i = 0; i < ARRAY_LEN(prediction_fields) && !field; i++)
        if (json_object_get(o, prediction_fields[i]))
            field = prediction_fields[i];
    if (!field && json_object_get(o, "error"))
        return 0; /* a record that the parser could not use */
    if (!field)
        return error_set(err, EXIT_CODE_DATA,
                         "%s: holds no predictions: expected field \"%s\", \"%s\", \"%s\" or \"%s\"", at,
                         prediction_fields[0], prediction_fields[1], prediction_fields[2], prediction_fields[3]);
    const json_t *list = json_get_array(o, field, at, err);
    if (!list)
        return -1;
    if (json_is_array(json_array_get(list, 0)))
        return merge_lists(out, list, k, field, at, err);
    int rc = add_list(out, list, field, at, err);
    while (out->n > k)
        free(out->items[--out->n]);
    return rc;
}

/* Whether two records have the same question: all these fields that both have are equal. */
static bool agree(const json_t *a, const json_t *b)
{
    static const char *const fields[] = { "db_id", "question", "orig_query" };
    bool same = true;

    for (int i = 0; i < ARRAY_LEN(fields); i++) {
        const char *x = json_string_value(json_object_get(a, fields[i]));
        const char *y = json_string_value(json_object_get(b, fields[i]));
        same = same && (!x || !y || strcmp(x, y) == 0);
    }
    return same;
}

/* The gold record of prediction i, or -1. */
static int find_gold(const struct file_rows *gold, const json_t *prediction, int i)
{
    if (i < gold->n && !gold->used[i] && agree(gold->items[i], prediction))
        return i;
    for (int g = 0; g < gold->n; g++)
        if (!gold->used[g] && agree(gold->items[g], prediction))
            return g;
    return -1;
}

static int add_case(struct ambiqt_cases *c, const json_t *record, int row, const char *at, struct error *err)
{
    int kind = ambiqt_kind(record);

    if (kind < 0)
        return error_set(err, EXIT_CODE_DATA,
                         "%s: unknown type: expected field \"extra_map\", \"extra_table_map\", \"split_map\" or "
                         "\"new_table_name\"",
                         at);
    if (ambiqt_add(&c->corpus, (enum sia_type)kind, record, at, err))
        return -1;
    GROW(c->items, c->n, c->cap);
    c->items[c->n++] = (struct ambiqt_case){ .record = c->corpus.n - 1, .row = row };
    return 0;
}

/* gold may be NULL. */
static int add_prediction(struct ambiqt_cases *c, struct file_rows *gold, const struct file_rows *pred, int i,
                          int64_t k, struct error *err)
{
    const char *at = where(pred, i);
    int g = gold ? find_gold(gold, pred->items[i], i) : i;

    if (g < 0) {
        ambiqt_cases_skip(c, i, "%s: no gold record has its db_id, question and orig_query", at);
        return 0;
    }
    json_t *record = json_copy(gold ? gold->items[g] : pred->items[i]);
    json_object_update(record, pred->items[i]);
    int rc = add_case(c, record, g, at, err);
    if (rc == 0)
        rc = read_predictions(&c->items[c->n - 1].predictions, record, k, at, err);
    if (rc == 0 && c->items[c->n - 1].predictions.n == 0)
        ambiqt_cases_skip(c, g, "%s: no predictions, which counts as wrong ones", at);
    if (gold)
        gold->used[g] = true;
    json_decref(record);
    return rc;
}

static int add_missing(struct ambiqt_cases *c, const struct file_rows *gold, struct error *err)
{
    for (int g = 0; g < gold->n; g++) {
        if (gold->used[g])
            continue;
        if (add_case(c, gold->items[g], g, where(gold, g), err))
            return -1;
        ambiqt_cases_skip(c, g, "%s: no predictions, which counts as wrong ones", where(gold, g));
    }
    return 0;
}

static int by_row(const void *a, const void *b)
{
    const struct ambiqt_case *x = a, *y = b;
    return (x->row > y->row) - (x->row < y->row);
}

int ambiqt_cases_read(struct ambiqt_cases *c, const char *gold, const char *pred, int64_t k, struct error *err)
{
    struct file_rows g = { 0 }, p = { 0 };

    *c = (struct ambiqt_cases){ .skipped = json_array() };
    int rc = rows_read(&p, pred, err);
    if (rc == 0 && gold)
        rc = rows_read(&g, gold, err);
    for (int i = 0; i < p.n && rc == 0; i++)
        rc = add_prediction(c, gold ? &g : NULL, &p, i, k, err);
    if (rc == 0)
        rc = add_missing(c, &g, err);
    if (c->n)
        qsort(c->items, (size_t)c->n, sizeof *c->items, by_row);
    rows_release(&g);
    rows_release(&p);
    return rc;
}

void ambiqt_cases_release(struct ambiqt_cases *c)
{
    for (int i = 0; i < c->n; i++)
        ambiqt_list_release(&c->items[i].predictions);
    free(c->items);
    json_decref(c->skipped);
    ambiqt_release(&c->corpus);
    *c = (struct ambiqt_cases){ 0 };
}

void ambiqt_cases_skip(struct ambiqt_cases *c, int row, const char *why, ...)
{
    char text[1024];
    va_list ap;

    va_start(ap, why);
    vsnprintf(text, sizeof text, why, ap);
    va_end(ap);
    json_t *o = json_object();
    json_object_set_new(o, "record", json_sprintf("row %d", row));
    json_object_set_new(o, "reason", json_message(text));
    json_array_append_new(c->skipped, o);
}
