#include "train/gate_data.h"

#include "data/json.h"
#include "data/log.h"
#include "data/sql.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SQL_ARENA = 4 << 20, MAX_QUESTION_BYTES = 1 << 16 };

const char *gate_kind_name(enum gate_kind k)
{
    static const char *const names[] = { "C", "T", "J", "P", "-" };
    return names[k];
}

static enum gate_kind kind_from(const char *name)
{
    for (int k = 0; k < KINDS; k++)
        if (!strcmp(name, gate_kind_name((enum gate_kind)k)))
            return (enum gate_kind)k;
    return KIND_NONE;
}

/* What reading one file needs at hand. */
struct reader {
    struct gate_data *data;
    const struct gate_data_settings *settings;
    struct gate_split *split;
    struct arena sql;
    struct id_list ids;
};

static int schema_number(const struct gate_data *d, const char *db_id)
{
    const struct schema *s = schema_find(&d->schemas, db_id);
    return s ? (int)(s - d->schemas.schemas) : -1;
}

static const struct schema_input *prepare(struct reader *r, int number, struct error *err)
{
    struct gate_data *d = r->data;

    if (!d->prepared[number]) {
        if (schema_input_init(&d->inputs[number], &d->schemas.schemas[number], r->settings->tokenizer,
                              &r->settings->input, err))
            return NULL;
        d->prepared[number] = true;
    }
    return &d->inputs[number];
}

static int mark_sql(struct reader *r, const char *text, const struct schema *s, uint8_t *relevant, struct error *err)
{
    struct sql_uses uses;

    arena_reset(&r->sql, 0);
    struct sql_query *q = sql_parse(&r->sql, text, err);
    if (!q || sql_resolve(&r->sql, q, s, &uses, err))
        return -1;
    for (int i = 0; i < uses.n; i++) {
        const struct sql_use *u = &uses.list[i];
        relevant[u->table] = 1;
        if (u->column >= 0)
            relevant[s->n_tables + u->column] = 1;
    }
    return 0;
}

static int read_relevance(struct reader *r, const json_t *record, struct gate_example *e, const char *where,
                          struct error *err)
{
    json_t *list = json_get_array(record, "sql", where, err), *item;
    size_t i;

    if (!list)
        return -1;
    e->relevant = xcalloc((size_t)e->item.schema->n_nodes, 1);
    json_array_foreach(list, i, item) {
        if (!json_is_string(item))
            return error_set(err, EXIT_CODE_DATA, "%s: sql[%zu]: a string wanted", where, i);
        if (mark_sql(r, json_string_value(item), e->item.schema->schema, e->relevant, err))
            return error_prefix(err, "%s: sql[%zu]", where, i);
    }
    return 0;
}

/* "table" or "table.column" as a node; names may hold dots themselves, so every dot is tried. */
static int node_of(const struct schema *s, const char *name)
{
    int table = schema_table_find(s, name);
    char head[512];

    if (table >= 0)
        return table;
    for (const char *dot = strchr(name, '.'); dot; dot = strchr(dot + 1, '.')) {
        snprintf(head, sizeof head, "%.*s", (int)(dot - name), name);
        table = schema_table_find(s, head);
        int column = table < 0 ? -1 : schema_column_find(s, table, dot + 1);
        if (column >= 0)
            return s->n_tables + column;
    }
    return -1;
}

static int find_pair(const struct schema_input *in, int a, int b)
{
    for (int i = 0; i < in->n_pairs; i++)
        if ((in->pairs[i].u == a && in->pairs[i].v == b) || (in->pairs[i].u == b && in->pairs[i].v == a))
            return i;
    return -1;
}

static int read_alternatives(struct reader *r, const json_t *record, struct gate_example *e, const char *where,
                             struct error *err)
{
    json_t *list = json_get_array(record, "alternatives", where, err);
    int nodes[2];

    e->pair = -1;
    if (!list)
        return -1;
    if (!e->ambiguous)
        return 0;
    if (json_array_size(list) != 2)
        return error_set(err, EXIT_CODE_DATA, "%s: alternatives: two names wanted, %zu found", where,
                         json_array_size(list));
    for (size_t i = 0; i < 2; i++) {
        const char *name = json_string_value(json_array_get(list, i));
        nodes[i] = name ? node_of(e->item.schema->schema, name) : -1;
        if (nodes[i] < 0)
            return error_set(err, EXIT_CODE_DATA, "%s: alternatives[%zu]: \"%s\" is not a table or column of %s", where, i,
                             name ? name : "", e->item.schema->schema->db_id);
    }
    e->pair = find_pair(e->item.schema, nodes[0], nodes[1]);
    if (e->pair < 0)
        r->split->lost_pairs++;
    return 0;
}

static int read_question(struct reader *r, const json_t *record, struct gate_example *e, const char *where,
                         struct error *err)
{
    const char *text = json_get_string(record, "question", where, err);

    if (!text)
        return -1;
    size_t length = strlen(text);
    if (length > MAX_QUESTION_BYTES)
        return error_set(err, EXIT_CODE_DATA, "%s: question: %zu bytes, at most %d wanted", where, length,
                         MAX_QUESTION_BYTES);
    e->question_text = xstrdup(text);
    r->ids.n = 0;
    if (tokenizer_encode(r->settings->tokenizer, text, length, &r->ids, NULL))
        return error_set(err, EXIT_CODE_DATA, "%s: question: cannot be tokenised", where);
    int n = r->ids.n < r->settings->glue->max_question ? r->ids.n : r->settings->glue->max_question;
    int32_t *ids = xmalloc((size_t)n * sizeof *ids);
    memcpy(ids, r->ids.v, (size_t)n * sizeof *ids);
    e->item.question = ids;
    e->item.n_question = n;
    return 0;
}

static int read_fields(struct reader *r, const json_t *record, struct gate_example *e, const char *where,
                       struct error *err)
{
    const char *id = json_get_string(record, "id", where, err);
    const char *db = id ? json_get_string(record, "db_id", where, err) : NULL;
    const char *kind = db ? json_get_string(record, "kind", where, err) : NULL;
    const char *slice = kind ? json_get_string(record, "slice", where, err) : NULL;

    if (!slice || json_get_bool(record, "ambiguous", &e->ambiguous, where, err))
        return -1;
    int number = schema_number(r->data, db);
    if (number < 0)
        return error_set(err, EXIT_CODE_DATA, "%s: db_id: \"%s\" is not in tables.json", where, db);
    e->item.schema = prepare(r, number, err);
    if (!e->item.schema)
        return error_prefix(err, "%s", where);
    e->id = xstrdup(id);
    e->kind = kind_from(kind);
    e->slice = strcmp(slice, "presence") ? SLICE_CROSSED : SLICE_PRESENCE;
    return read_question(r, record, e, where, err) || read_alternatives(r, record, e, where, err) ? -1 : 0;
}

static void example_release(struct gate_example *e)
{
    free(e->id);
    free(e->question_text);
    free((void *)(uintptr_t)e->item.question);
    free(e->relevant);
}

/* A record whose gold SQL does not resolve teaches nothing: it is counted and left out.  Other faults are errors. */
static int read_record(struct reader *r, const json_t *record, const char *where, struct error *err)
{
    struct gate_split *split = r->split;
    struct gate_example e = { 0 };
    struct error sql = { 0 };

    if (read_fields(r, record, &e, where, err)) {
        example_release(&e);
        return -1;
    }
    if (read_relevance(r, record, &e, where, &sql)) {
        log_debug("left out: %s", sql.text);
        split->skipped++;
        example_release(&e);
        return 0;
    }
    r->data->hash = hash_bytes(r->data->hash, e.id, strlen(e.id));
    GROW(split->list, split->n, split->cap);
    split->list[split->n++] = e;
    return 0;
}

static int read_split(struct reader *r, const char *dir, const char *name, struct gate_split *split,
                      struct error *err)
{
    char path[4096];
    json_t *record = NULL;
    int rc;

    snprintf(path, sizeof path, "%s/%s.jsonl", dir, name);
    struct json_reader *in = json_reader_open(path, err);
    if (!in)
        return -1;
    r->split = split;
    while ((rc = json_reader_next(in, &record, err)) == 1) {
        rc = read_record(r, record, json_reader_where(in), err);
        json_decref(record);
        if (rc)
            break;
    }
    json_reader_close(in);
    if (rc == 0 && split->skipped)
        log_warn("%s: %d records left out, their SQL does not resolve (AMBIT_LOG=debug names them)", path,
                 split->skipped);
    return rc < 0 ? -1 : 0;
}

int gate_data_open(struct gate_data *d, const char *dir, const struct gate_data_settings *s, struct error *err)
{
    struct reader r = { .data = d, .settings = s };
    char tables[4096];
    int rc = -1;

    *d = (struct gate_data){ .hash = HASH_START };
    snprintf(tables, sizeof tables, "%s/tables.json", dir);
    if (schema_set_open(&d->schemas, tables, err))
        return -1;
    d->inputs = xcalloc((size_t)d->schemas.n, sizeof *d->inputs);
    d->prepared = xcalloc((size_t)d->schemas.n, sizeof *d->prepared);
    if (arena_init(&r.sql, SQL_ARENA, err) == 0 && read_split(&r, dir, "train", &d->train, err) == 0 &&
        read_split(&r, dir, "valid", &d->valid, err) == 0 && read_split(&r, dir, "test", &d->test, err) == 0)
        rc = 0;
    if (rc == 0 && (!d->train.n || !d->valid.n))
        rc = error_set(err, EXIT_CODE_DATA, "%s: %d training and %d validation records, at least one of each wanted", dir,
                       d->train.n, d->valid.n);
    arena_release(&r.sql);
    id_list_release(&r.ids);
    if (rc)
        gate_data_close(d);
    return rc;
}

static void split_release(struct gate_split *s)
{
    for (int i = 0; i < s->n; i++)
        example_release(&s->list[i]);
    free(s->list);
}

void gate_data_close(struct gate_data *d)
{
    for (int i = 0; i < d->schemas.n; i++)
        if (d->prepared && d->prepared[i])
            schema_input_release(&d->inputs[i]);
    free(d->inputs);
    free(d->prepared);
    split_release(&d->train);
    split_release(&d->valid);
    split_release(&d->test);
    schema_set_close(&d->schemas);
    *d = (struct gate_data){ 0 };
}
