#include "data/corpora/ambiqt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Returns the key of an object that must have exactly one, and its value in *value. */
static const char *only_key(const json_t *o, const char *field, json_t **value, const char *where, struct error *err)
{
    const char *key;
    json_t *v;

    if (json_object_size(o) != 1) {
        error_set(err, EXIT_CODE_DATA, "%s: field \"%s\": expected an object with one key, got %zu", where, field,
                  json_object_size(o));
        return NULL;
    }
    json_object_foreach((json_t *)(uintptr_t)o, key, v)
    {
        *value = v;
        return key;
    }
    return NULL;
}

static int set_names(struct ambiqt_record *r, const json_t *pair, const char *field, const char *where,
                     struct error *err)
{
    for (size_t i = 0; i < 2; i++)
        r->names[i] = json_string_value(json_array_get(pair, i));
    if (json_array_size(pair) != 2 || !r->names[0] || !r->names[1])
        return error_set(err, EXIT_CODE_DATA, "%s: field \"%s\": expected two names for %s", where, field, r->table);
    return 0;
}

static int read_column(struct ambiqt_record *r, const json_t *o, const char *where, struct error *err)
{
    json_t *columns, *pair, *map = json_get_object(o, "extra_map", where, err);

    if (!map || !(r->table = only_key(map, "extra_map", &columns, where, err)) ||
        !(r->column = only_key(columns, "extra_map", &pair, where, err)))
        return -1;
    return set_names(r, pair, "extra_map", where, err);
}

static int read_table(struct ambiqt_record *r, const json_t *o, const char *where, struct error *err)
{
    json_t *pair, *map = json_get_object(o, "extra_table_map", where, err);

    if (!map || !(r->table = only_key(map, "extra_table_map", &pair, where, err)))
        return -1;
    return set_names(r, pair, "extra_table_map", where, err);
}

/* Reads the key of r->table from {"primary_key": {table: column}}, and the value of split_map for that table. */
static int read_split_map(struct ambiqt_record *r, const json_t *o, json_t **value, const char *where,
                          struct error *err)
{
    json_t *map = json_get_object(o, "split_map", where, err);
    json_t *keys = map ? json_get_object(o, "primary_key", where, err) : NULL;

    if (!keys || !(r->table = only_key(map, "split_map", value, where, err)))
        return -1;
    r->key = json_string_value(json_object_get(keys, r->table));
    return 0;
}

static int read_join(struct ambiqt_record *r, const json_t *o, struct strings *text, const char *where,
                     struct error *err)
{
    json_t *column;

    if (read_split_map(r, o, &column, where, err))
        return -1;
    if (!r->key || !json_is_string(column))
        return error_set(err, EXIT_CODE_DATA, "%s: expected a column in \"split_map\" and \"primary_key\" of %s", where,
                         r->table);
    r->column = json_string_value(column);
    r->new_table = strings_printf(text, "%s_%s", r->table, r->column);
    return 0;
}

/* Stores names in new_columns. */
static int set_columns(struct ambiqt_record *r, const json_t *names, const char *field, const char *where,
                       struct error *err)
{
    size_t n = json_array_size(names);
    if (n < 1 || n > AMBIQT_MAX_COLUMNS)
        return error_set(err, EXIT_CODE_DATA, "%s: field \"%s\": expected 1 to %d columns, got %zu", where, field,
                         AMBIQT_MAX_COLUMNS, n);
    for (size_t i = 0; i < n; i++)
        if (!(r->new_columns[i] = json_string_value(json_array_get(names, i))))
            return error_set(err, EXIT_CODE_DATA, "%s: field \"%s\": element %zu is not a string", where, field, i);
    r->n_new_columns = (int)n;
    return 0;
}

/* Reads the format of the training file: {"split_map": {table: ["max_c", "min_c", "avg_c", "total_c"]}}. */
static int read_aggregate_train(struct ambiqt_record *r, const json_t *o, struct strings *text, const char *where,
                                struct error *err)
{
    json_t *names;

    if (read_split_map(r, o, &names, where, err) || set_columns(r, names, "split_map", where, err))
        return -1;
    for (int i = 0; i < r->n_new_columns; i++) {
        const char *rest = strchr(r->new_columns[i], '_');
        if (!rest || !rest[1] || (r->column && strcmp(r->column, rest + 1) != 0))
            return error_set(err, EXIT_CODE_DATA,
                             "%s: field \"split_map\": expected max_, min_, avg_ or total_ "
                             "before one column's name, got \"%s\"",
                             where, r->new_columns[i]);
        r->column = rest + 1;
    }
    r->new_table = strings_printf(text, "%s_%s", r->table, r->column);
    return 0;
}

/* Reads the format of the validation file, which names the new table and its columns. */
static int read_aggregate_validation(struct ambiqt_record *r, const json_t *o, const char *where, struct error *err)
{
    json_t *raw = json_get_array(o, "all_raw_cols", where, err);
    json_t *keys = raw ? json_get_array(o, "tables_with_pkeys", where, err) : NULL;
    json_t *all = keys ? json_get_array(o, "all_cols", where, err) : NULL;

    if (!all || !(r->new_table = json_get_string(o, "new_table_name", where, err)))
        return -1;
    json_t *first = json_array_get(keys, 0);
    r->table = json_string_value(json_array_get(first, 0));
    r->key = json_string_value(json_array_get(first, 1)); /* null if the table has no key */
    r->column = json_string_value(json_array_get(raw, 0));
    if (!r->table || !r->column)
        return error_set(err, EXIT_CODE_DATA,
                         "%s: expected a table in \"tables_with_pkeys\" and a column in "
                         "\"all_raw_cols\"",
                         where);
    return set_columns(r, all, "all_cols", where, err);
}

static int read_alteration(struct ambiqt_record *r, const json_t *o, struct strings *text, const char *where,
                           struct error *err)
{
    switch (r->type) {
    case SIA_COLUMN:
        return read_column(r, o, where, err);
    case SIA_TABLE:
        return read_table(r, o, where, err);
    case SIA_JOIN:
        return read_join(r, o, text, where, err);
    default:
        return json_object_get(o, "new_table_name") ? read_aggregate_validation(r, o, where, err)
                                                    : read_aggregate_train(r, o, text, where, err);
    }
}

static void own(struct strings *text, const char **s)
{
    if (*s)
        *s = strings_keep(text, *s);
}

/* Copies the strings that r borrows from JSON. */
static void add_record(struct ambiqt_corpus *c, const struct ambiqt_record *r)
{
    GROW(c->items, c->n, c->cap);
    struct ambiqt_record *copy = &c->items[c->n++];
    *copy = *r;
    const char **fields[] = {
        &copy->db_id,     &copy->question,   &copy->original, &copy->interpretations[0], &copy->interpretations[1],
        &copy->table,     &copy->column,     &copy->names[0], &copy->names[1],           &copy->key,
        &copy->new_table, &copy->schema_text
    };
    for (int i = 0; i < ARRAY_LEN(fields); i++)
        own(&c->text, fields[i]);
    for (int i = 0; i < copy->n_new_columns; i++)
        own(&c->text, &copy->new_columns[i]);
}

int ambiqt_kind(const json_t *record)
{
    json_t *tables = json_object_get(record, "split_map");

    if (json_object_get(record, "extra_map"))
        return SIA_COLUMN;
    if (json_object_get(record, "extra_table_map"))
        return SIA_TABLE;
    if (json_object_get(record, "new_table_name"))
        return SIA_AGGREGATE;
    if (!tables)
        return -1;
    void *first = json_object_iter(tables);
    return first && json_is_array(json_object_iter_value(first)) ? SIA_AGGREGATE : SIA_JOIN;
}

int ambiqt_add(struct ambiqt_corpus *c, enum sia_type type, const json_t *o, const char *where, struct error *err)
{
    struct ambiqt_record r = { .type = type };

    if (!(r.db_id = json_get_string(o, "db_id", where, err)) ||
        !(r.question = json_get_string(o, "question", where, err)) ||
        !(r.original = json_get_string(o, "orig_query", where, err)) ||
        !(r.interpretations[0] = json_get_string(o, "query1", where, err)) ||
        !(r.interpretations[1] = json_get_string(o, "query2", where, err)) ||
        read_alteration(&r, o, &c->text, where, err))
        return -1;
    r.schema_text = json_string_value(json_object_get(o, "schema_without_content"));
    add_record(c, &r);
    return 0;
}

int ambiqt_read(struct ambiqt_corpus *c, enum sia_type type, const char *path, struct error *err)
{
    json_t *record;
    int rc;

    struct json_reader *r = json_reader_open(path, err);
    if (!r)
        return -1;
    while ((rc = json_reader_next(r, &record, err)) > 0) {
        rc = ambiqt_add(c, type, record, json_reader_where(r), err);
        json_decref(record);
        if (rc)
            break;
    }
    json_reader_close(r);
    return rc;
}

int ambiqt_read_train(struct ambiqt_corpus *c, enum sia_type type, const char *dir, struct error *err)
{
    static const char *const stems[AMBIQT_TYPES] = { "col-synonyms", "tbl-synonyms", "tbl-split", "tbl-agg" };
    static const char *const endings[] = { ".train.jsonl", ".train.jsonl.xz" };
    int rc = 1;

    for (int i = 0; i < ARRAY_LEN(endings) && rc > 0; i++) {
        char *path = NULL;
        CHECK(asprintf(&path, "%s/%s%s", dir, stems[type], endings[i]) >= 0, "cannot format a path in %s", dir);
        if (access(path, F_OK) == 0)
            rc = ambiqt_read(c, type, path, err);
        free(path);
    }
    if (rc > 0)
        return error_set(err, EXIT_CODE_DATA, "%s: expected %s.train.jsonl or %s.train.jsonl.xz", dir, stems[type],
                         stems[type]);
    return rc;
}

void ambiqt_release(struct ambiqt_corpus *c)
{
    free(c->items);
    strings_release(&c->text);
    *c = (struct ambiqt_corpus){ 0 };
}
