#include "data/counterfactual/counterfactual_edit.h"

#include <stdlib.h>
#include <string.h>

enum { SHOWN_VALUES = 3 };

static const char *const kinds[EDIT_KINDS] = { "plain",   "doubled",      "doubled-and-replaced",
                                               "deleted", "value-copied", "value-deleted" };

const char *counterfactual_kind(enum edit_kind kind)
{
    return kinds[kind];
}

static bool column_has(const struct edited_column *column, const char *value)
{
    for (int i = 0; i < column->n_values; i++)
        if (strcasecmp(column->values[i], value) == 0)
            return true;
    return false;
}

static void show_value(struct edited_column *column, const char *value)
{
    if (column->n_values < EDITED_VALUES && !column_has(column, value))
        column->values[column->n_values++] = value;
}

/* A few values, drawn anew for each column that stands for another. */
static void show_values(struct edited_column *to, struct counterfactual *c, const struct asked_column *from)
{
    for (int i = 0; i < SHOWN_VALUES && from->n_values; i++)
        show_value(to, from->values[rng_below(&c->rng, (uint32_t)from->n_values)]);
}

void edited_table_init(struct edited_table *e, struct counterfactual *c, const struct asked_question *const q[2])
{
    const struct asked_table *t = &c->tables[q[0]->table];

    *e = (struct edited_table){ .n = t->n_columns };
    for (int i = 0; i < t->n_columns; i++) {
        e->columns[i] = (struct edited_column){
            .name = t->columns[i].name, .table = t->columns[i].table, .origin = i, .type = t->columns[i].type
        };
        for (int k = 0; k < 2; k++)
            for (int v = 0; v < q[k]->n_values; v++)
                if (q[k]->values[v].column == i)
                    show_value(&e->columns[i], q[k]->values[v].text);
        show_values(&e->columns[i], c, &t->columns[i]);
    }
    e->deleted = json_array();
    e->added = json_array();
}

void edited_table_copy(struct edited_table *e, const struct edited_table *from)
{
    *e = *from;
    e->deleted = json_copy(from->deleted);
    e->added = json_copy(from->added);
}

void edited_table_release(struct edited_table *e)
{
    json_decref(e->deleted);
    json_decref(e->added);
}

static int place_of(const struct edited_table *e, int column)
{
    int i = 0;
    while (e->columns[i].origin != column)
        i++;
    return i;
}

static void insert_column(struct edited_table *e, int at, struct edited_column column)
{
    memmove(&e->columns[at + 1], &e->columns[at], (size_t)(e->n++ - at) * sizeof *e->columns);
    e->columns[at] = column;
}

void edited_table_replace(struct edited_table *e, struct counterfactual *c, const struct asked_table *t, int column,
                          const char *const *names, int n)
{
    int at = place_of(e, column);

    json_array_append_new(e->deleted, json_string(t->columns[column].name));
    memmove(&e->columns[at], &e->columns[at + 1], (size_t)(--e->n - at) * sizeof *e->columns);
    for (int k = 0; k < n; k++) {
        struct edited_column new_column = {
            .name = names[k], .table = t->columns[column].table, .origin = column, .type = t->columns[column].type
        };
        show_values(&new_column, c, &t->columns[column]);
        insert_column(e, at + k, new_column);
        json_array_append_new(e->added, json_string(names[k]));
    }
}

static json_t *cell(const char *column, const char *value)
{
    return json_pack("{s:s, s:s}", "column", column, "value", value);
}

void edited_table_add_value(struct edited_table *e, int column, const char *value)
{
    struct edited_column *to = &e->columns[place_of(e, column)];

    to->n_values -= to->n_values == EDITED_VALUES;
    show_value(to, value);
    json_array_append_new(e->added, cell(to->name, value));
}

void edited_table_remove_value(struct edited_table *e, int column, const char *value)
{
    struct edited_column *from = &e->columns[place_of(e, column)];
    int left = 0;

    for (int i = 0; i < from->n_values; i++)
        if (strcasecmp(from->values[i], value) != 0)
            from->values[left++] = from->values[i];
    from->n_values = left;
    json_array_append_new(e->deleted, cell(from->name, value));
}

bool counterfactual_is_apart(struct counterfactual *c, const struct edited_table *e, int fold)
{
    const char *key = "";

    for (int i = 0; i < e->n; i++)
        key = strings_printf(&c->text, "%s\x1f%s", key, counterfactual_plain(c, e->columns[i].name));
    int before = c->edited.n, at = strings_add(&c->edited, key);
    if (at == before) {
        GROW(c->edited_fold, before, c->edited_cap);
        c->edited_fold[at] = fold;
    }
    return c->edited_fold[at] == fold;
}

static json_t *columns_json(const struct edited_table *e)
{
    json_t *list = json_array();

    for (int i = 0; i < e->n; i++) {
        const struct edited_column *column = &e->columns[i];
        json_t *values = json_array();
        for (int v = 0; v < column->n_values; v++)
            json_array_append_new(values, json_string(column->values[v]));
        json_array_append_new(list,
                              json_pack("{s:s, s:s, s:s*, s:o}", "name", column->name, "type",
                                        column_type_name(column->type), "table", column->table, "values", values));
    }
    return list;
}

static json_t *span_json(int start, int end, enum span_label one, json_t *alternatives)
{
    size_t n = json_array_size(alternatives);
    enum span_label label = n == 0 ? SPAN_UNK : n == 1 ? one : SPAN_AMB;

    return json_pack("{s:i, s:i, s:s, s:o}", "start", start, "end", end, "label", span_label_name(label),
                     "alternatives", alternatives);
}

static json_t *column_span(const struct edited_table *e, int column, int start, int end)
{
    json_t *alternatives = json_array();

    for (int i = 0; i < e->n; i++)
        if (e->columns[i].origin == column)
            json_array_append_new(alternatives, json_pack("{s:i}", "column", i));
    return span_json(start, end, SPAN_COL, alternatives);
}

static json_t *value_span(const struct edited_table *e, const struct asked_value *v)
{
    json_t *alternatives = json_array();

    for (int i = 0; i < e->n; i++)
        if (column_has(&e->columns[i], v->text))
            json_array_append_new(alternatives, json_pack("{s:i, s:s}", "column", i, "value", v->text));
    return span_json(v->start, v->end, SPAN_VAL, alternatives);
}

static int64_t start_of(const json_t *span)
{
    return json_integer_value(json_object_get(span, "start"));
}

/* In order of the question; what overlaps one that is there is left out. */
static void add_span(json_t *spans, json_t *span)
{
    size_t at = 0, n = json_array_size(spans);
    int64_t start = start_of(span), end = json_integer_value(json_object_get(span, "end"));

    while (at < n && start_of(json_array_get(spans, at)) < start)
        at++;
    json_t *before = at ? json_array_get(spans, at - 1) : NULL;
    if ((before && json_integer_value(json_object_get(before, "end")) > start) ||
        (at < n && start_of(json_array_get(spans, at)) < end))
        json_decref(span);
    else
        json_array_insert_new(spans, at, span);
}

static json_t *spans_json(const struct counterfactual *c, const struct edited_table *e, const struct asked_question *q)
{
    const struct asked_table *t = &c->tables[q->table];
    json_t *spans = json_array();
    int start, end;

    for (int i = 0; i < q->n_values; i++)
        add_span(spans, value_span(e, &q->values[i]));
    for (int i = 0; i < t->n_columns; i++)
        if (q->used[i] && asked_mention(t, q, i, &start, &end))
            add_span(spans, column_span(e, i, start, end));
    return spans;
}

static void count(struct counterfactual *c, enum edit_kind kind, const struct span_record *r)
{
    int source = strcmp(r->source, "wikisql") == 0 ? 0 : r->columns[0].table ? 2 : 1;
    struct counterfactual_counts *to = &c->counts[source][kind];
    enum span_label label = SPAN_COL;

    for (int i = 0; i < r->n_spans; i++)
        if (r->spans[i].label == SPAN_AMB || r->spans[i].label == SPAN_UNK)
            label = r->spans[i].label;
    if (label == SPAN_COL)
        to->control++;
    else
        to->problem[label]++;
}

void counterfactual_emit(struct counterfactual *c, const struct edited_table *e, const struct asked_question *q)
{
    struct span_record r;
    struct error err;
    const char *id = strings_printf(&c->text, "%s-%d", q->source, ++c->number);
    json_t *json = json_pack("{s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:{s:O, s:O}}", "id", id, "source", q->source,
                             "db_id", q->db_id, "question", q->text, "kind", kinds[e->kind], "columns", columns_json(e),
                             "spans", spans_json(c, e, q), "edit", "deleted", e->deleted, "added", e->added);

    CHECK(json && span_record_init(&r, json_incref(json), id, &err) == 0, "%s is no record: %s", id, err.text);
    count(c, e->kind, &r);
    span_record_release(&r);
    json_array_append_new(c->records[c->fold[c->tables[q->table].group]], json);
}
