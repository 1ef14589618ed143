#include "data/schema/schema.h"

#include "data/base/json.h"
#include "data/base/record_reader.h"
#include "data/base/text_stream.h"
#include "data/schema/schema_build.h"
#include "data/schema/schema_create.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *const type_names[] = { "text", "number", "time", "boolean", "others" };

const char *column_type_name(enum column_type type)
{
    return type_names[type];
}

static uint32_t hash_of(const char *s)
{
    uint32_t h = 2166136261u; /* FNV-1a */
    for (; *s; s++)
        h = (h ^ (unsigned char)*s) * 16777619u;
    return h;
}

/* The slot of db_id, or the free slot for it. */
static int *find_slot(const struct schema_set *s, const char *db_id)
{
    uint32_t mask = (uint32_t)s->n_slots - 1;
    uint32_t at = hash_of(db_id) & mask;
    while (s->by_id[at] >= 0 && strcmp(s->schemas[s->by_id[at]].db_id, db_id) != 0)
        at = (at + 1) & mask;
    return &s->by_id[at];
}

static void grow_slots(struct schema_set *s)
{
    s->n_slots = s->n_slots ? 2 * s->n_slots : 64;
    free(s->by_id);
    s->by_id = xmalloc((size_t)s->n_slots * sizeof *s->by_id);
    memset(s->by_id, 0xff, (size_t)s->n_slots * sizeof *s->by_id);
    for (int i = 0; i < s->n; i++)
        *find_slot(s, s->schemas[i].db_id) = i;
}

int schema_set_add(struct schema_set *set, struct schema *s, struct error *err)
{
    if (schema_find(set, s->db_id)) {
        error_set(err, EXIT_CODE_DATA, "db_id %s appears twice", s->db_id);
        schema_release(s);
        return -1;
    }
    GROW(set->schemas, set->n, set->cap);
    set->schemas[set->n++] = *s;
    if (2 * set->n > set->n_slots)
        grow_slots(set);
    else
        *find_slot(set, s->db_id) = set->n - 1;
    return 0;
}

const struct schema *schema_find(const struct schema_set *s, const char *db_id)
{
    int i = s->n_slots ? *find_slot(s, db_id) : -1;
    return i < 0 ? NULL : &s->schemas[i];
}

void schema_set_close(struct schema_set *s)
{
    for (int i = 0; i < s->n; i++)
        schema_release(&s->schemas[i]);
    free(s->schemas);
    free(s->by_id);
    *s = (struct schema_set){ 0 };
}

static bool same_table(const struct schema_table *a, const struct schema_table *b)
{
    return strcmp(a->name, b->name) == 0 && strcmp(a->text, b->text) == 0 && a->first_column == b->first_column &&
           a->n_columns == b->n_columns && a->form == b->form;
}

static bool same_column(const struct schema_column *a, const struct schema_column *b)
{
    return strcmp(a->name, b->name) == 0 && strcmp(a->text, b->text) == 0 && a->table == b->table &&
           a->type == b->type && a->primary == b->primary;
}

bool schema_equal(const struct schema *a, const struct schema *b)
{
    bool same = strcmp(a->db_id, b->db_id) == 0 && a->n_tables == b->n_tables && a->n_columns == b->n_columns &&
                a->n_foreign_keys == b->n_foreign_keys;

    for (int t = 0; same && t < a->n_tables; t++)
        same = same_table(&a->tables[t], &b->tables[t]);
    for (int c = 0; same && c < a->n_columns; c++)
        same = same_column(&a->columns[c], &b->columns[c]);
    for (int k = 0; same && k < a->n_foreign_keys; k++)
        same = a->foreign_keys[k].from == b->foreign_keys[k].from && a->foreign_keys[k].to == b->foreign_keys[k].to;
    return same;
}

int schema_table_find(const struct schema *s, const char *name)
{
    for (int t = 0; t < s->n_tables; t++)
        if (strcasecmp(s->tables[t].name, name) == 0)
            return t;
    return -1;
}

int schema_column_find(const struct schema *s, int table, const char *name)
{
    const struct schema_table *t = &s->tables[table];
    for (int c = t->first_column; c < t->first_column + t->n_columns; c++)
        if (strcasecmp(s->columns[c].name, name) == 0)
            return c;
    return -1;
}

bool schema_table_is_stored(const struct schema *s, int table)
{
    return s->tables[table].form < TABLE_VIEW;
}

const char *schema_hidden_column(const struct schema *s, int table, const char *name)
{
    const struct schema_table *t = &s->tables[table];
    const char *const names[2][3] = { { t->name, "docid", "__langid" }, { t->name, "rank", NULL } };

    for (int i = 0; t->form >= TABLE_FTS4 && i < 3 && names[t->form - TABLE_FTS4][i]; i++)
        if (strcasecmp(names[t->form - TABLE_FTS4][i], name) == 0)
            return names[t->form - TABLE_FTS4][i];
    return NULL;
}

int schema_table_of(const struct schema *s, int element)
{
    return element < s->n_tables ? element : s->columns[element - s->n_tables].table;
}

bool schema_column_is_key(const struct schema *s, int column)
{
    bool key = s->columns[column].primary;

    for (int k = 0; k < s->n_foreign_keys && !key; k++)
        key = s->foreign_keys[k].from == column || s->foreign_keys[k].to == column;
    return key;
}

/* An entry of a tables.json while it is read; `where` opens its messages. */
struct tables_entry {
    struct schema_build build;
    const json_t *json;
    char where[512];
    int *columns; /* position in column_names_original -> number of the built column, -1 for "*" */
    int n_columns;
    bool texts_agree; /* the natural names have the order of the original names */
};

/* The table number of a [table, name] pair; -2 if it is not such a pair. */
static json_int_t pair_table(const json_t *pairs, size_t i)
{
    const json_t *pair = json_array_get(pairs, i), *table = json_array_get(pair, 0);
    bool good = json_array_size(pair) == 2 && json_is_integer(table) && json_is_string(json_array_get(pair, 1));
    return good ? json_integer_value(table) : -2;
}

static const char *pair_name(const json_t *pairs, size_t i)
{
    return json_string_value(json_array_get(json_array_get(pairs, i), 1));
}

/* Spider's formula_1 lists its natural names in another order than the original names.  Such lists are not used. */
static bool texts_agree(const json_t *names, const json_t *texts)
{
    for (size_t i = 0; i < json_array_size(names); i++)
        if (pair_table(names, i) != pair_table(texts, i))
            return false;
    return true;
}

/* Reads two lists of the same length: the original names and the natural names.  -1 with an error. */
static int get_lists(const struct tables_entry *e, const char *sort, json_t **names, json_t **texts, struct error *err)
{
    char field[64];

    snprintf(field, sizeof field, "%s_names_original", sort);
    *names = json_get_array(e->json, field, e->where, err);
    snprintf(field, sizeof field, "%s_names", sort);
    *texts = *names ? json_get_array(e->json, field, e->where, err) : NULL;
    if (!*texts)
        return -1;
    if (json_array_size(*names) != json_array_size(*texts))
        return error_set(err, EXIT_CODE_DATA, "%s: %s_names has %zu entries, %s_names_original has %zu", e->where, sort,
                         json_array_size(*texts), sort, json_array_size(*names));
    return 0;
}

static int read_tables(struct tables_entry *e, struct error *err)
{
    json_t *names, *texts;

    if (get_lists(e, "table", &names, &texts, err))
        return -1;
    for (size_t i = 0; i < json_array_size(names); i++) {
        const char *name = json_string_value(json_array_get(names, i));
        const char *text = json_string_value(json_array_get(texts, i));
        if (!name || !text)
            return error_set(err, EXIT_CODE_DATA, "%s: table %zu: expected names that are strings", e->where, i);
        schema_build_table(&e->build, name, e->texts_agree ? text : NULL);
    }
    return 0;
}

static int read_column(struct tables_entry *e, size_t i, const json_t *names, const json_t *texts, const json_t *types,
                       struct error *err)
{
    json_int_t table = pair_table(names, i);
    const char *type = json_string_value(json_array_get(types, i));

    if (table == -2 || pair_table(texts, i) == -2)
        return error_set(err, EXIT_CODE_DATA,
                         "%s: column %zu: expected [table, name] in column_names_original and column_names", e->where,
                         i);
    if (!type)
        return error_set(err, EXIT_CODE_DATA, "%s: column_types: entry %zu: expected a string", e->where, i);
    e->columns[i] = -1;
    if (table == -1 && i == 0)
        return 0; /* "*" */
    const char *name = pair_name(names, i), *text = e->texts_agree ? pair_name(texts, i) : NULL;
    if (table < 0 || table >= e->build.n_tables)
        return error_set(err, EXIT_CODE_DATA, "%s: column %zu (%s): expected a table number below %d, got %lld",
                         e->where, i, name, e->build.n_tables, (long long)table);
    e->columns[i] = schema_build_column(&e->build, (int)table, name, text, column_type_of(type));
    return 0;
}

static int read_elements(struct tables_entry *e, struct error *err)
{
    json_t *names, *texts, *types;

    if (get_lists(e, "column", &names, &texts, err))
        return -1;
    e->texts_agree = texts_agree(names, texts);
    types = json_get_array(e->json, "column_types", e->where, err);
    if (!types || read_tables(e, err))
        return -1;
    size_t n = json_array_size(names);
    if (json_array_size(types) != n)
        return error_set(err, EXIT_CODE_DATA, "%s: column_types has %zu entries, column_names_original has %zu",
                         e->where, json_array_size(types), n);
    e->columns = xcalloc(n + 1, sizeof *e->columns);
    e->n_columns = (int)n;
    for (size_t i = 0; i < n; i++)
        if (read_column(e, i, names, texts, types, err))
            return -1;
    return 0;
}

/* The built number of the column that an id of the file names; -1 with an error. */
static int read_column_id(const struct tables_entry *e, const json_t *id, const char *field, size_t i,
                          struct error *err)
{
    json_int_t n = json_is_integer(id) ? json_integer_value(id) : -1;
    if (n >= 0 && n < e->n_columns && e->columns[n] >= 0)
        return e->columns[n];
    return error_set(err, EXIT_CODE_DATA, "%s: %s: entry %zu: expected a column number from 0 to %d that is not \"*\"",
                     e->where, field, i, e->n_columns - 1);
}

static int read_primary_keys(struct tables_entry *e, struct error *err)
{
    json_t *keys = json_get_array(e->json, "primary_keys", e->where, err);
    if (!keys)
        return -1;
    for (size_t i = 0; i < json_array_size(keys); i++) {
        const json_t *key = json_array_get(keys, i);
        size_t n = json_is_array(key) ? json_array_size(key) : 1;
        for (size_t j = 0; j < n; j++) {
            int c = read_column_id(e, json_is_array(key) ? json_array_get(key, j) : key, "primary_keys", i, err);
            if (c < 0)
                return -1;
            schema_build_primary(&e->build, c);
        }
    }
    return 0;
}

static int read_foreign_keys(struct tables_entry *e, struct error *err)
{
    json_t *keys = json_get_array(e->json, "foreign_keys", e->where, err);
    if (!keys)
        return -1;
    for (size_t i = 0; i < json_array_size(keys); i++) {
        const json_t *key = json_array_get(keys, i);
        if (json_array_size(key) != 2)
            return error_set(err, EXIT_CODE_DATA, "%s: foreign_keys: entry %zu: expected [column, column]", e->where,
                             i);
        int from = read_column_id(e, json_array_get(key, 0), "foreign_keys", i, err);
        int to = from < 0 ? -1 : read_column_id(e, json_array_get(key, 1), "foreign_keys", i, err);
        if (to < 0)
            return -1;
        schema_build_foreign_key(&e->build, from, to);
    }
    return 0;
}

static int read_entry(struct schema_set *s, const json_t *json, size_t i, const char *path, struct error *err)
{
    struct tables_entry e = { .json = json };
    struct schema built;
    int rc = -1;

    snprintf(e.where, sizeof e.where, "%.300s: schema %zu", path, i);
    const char *db_id = json_get_string(json, "db_id", e.where, err);
    if (!db_id)
        return -1;
    snprintf(e.where, sizeof e.where, "%.300s: %.200s", path, db_id);
    schema_build_init(&e.build, db_id);
    if (read_elements(&e, err) == 0 && read_primary_keys(&e, err) == 0 && read_foreign_keys(&e, err) == 0) {
        schema_build_finish(&e.build, &built);
        rc = schema_set_add(s, &built, err);
        if (rc)
            error_prefix(err, "%s", path);
    }
    schema_build_release(&e.build);
    free(e.columns);
    return rc;
}

int schema_set_from_json(struct schema_set *s, const json_t *tables, const char *path, struct error *err)
{
    *s = (struct schema_set){ 0 };
    if (!json_is_array(tables))
        return error_set(err, EXIT_CODE_DATA, "%s: expected an array of schemas", path);
    for (size_t i = 0; i < json_array_size(tables); i++)
        if (read_entry(s, json_array_get(tables, i), i, path, err)) {
            schema_set_close(s);
            return -1;
        }
    return 0;
}

static int read_tables_json(struct schema_set *s, struct text_stream *in, const char *path, struct error *err)
{
    json_t *tables = json_read_stream(in, err);
    int rc = tables ? schema_set_from_json(s, tables, path, err) : -1;

    json_decref(tables);
    return rc;
}

static int read_create(struct schema_set *s, struct text_stream *in, const char *path, struct error *err)
{
    char *db_id = schema_create_db_id(path);
    int rc = schema_create_read_stream(s, in, db_id, err);

    free(db_id);
    return rc;
}

int schema_set_open(struct schema_set *s, const char *path, struct error *err)
{
    struct text_stream *in = text_stream_open(path, err);
    *s = (struct schema_set){ 0 };
    if (!in)
        return -1;
    int first = text_stream_first(in, err);
    bool sql = first > 0 && (record_file_ends(path, ".sql") || !strchr("[{", first));
    int rc = first == -2 ? -1 : sql ? read_create(s, in, path, err) : read_tables_json(s, in, path, err);
    text_stream_close(in);
    return rc;
}

/* Writing a schema as an entry of a tables.json. */

static json_t *table_and_name(int table, const char *name)
{
    json_t *a = json_array();
    json_array_append_new(a, json_integer(table));
    json_array_append_new(a, json_string(name));
    return a;
}

/* Column numbers of the file count "*" as 0. */
static json_t *primary_key(const struct schema *s, int table)
{
    const struct schema_table *t = &s->tables[table];
    json_t *key = json_array();

    for (int c = t->first_column; c < t->first_column + t->n_columns; c++)
        if (s->columns[c].primary)
            json_array_append_new(key, json_integer(c + 1));
    if (json_array_size(key) != 1)
        return key;
    json_t *only = json_incref(json_array_get(key, 0));
    json_decref(key);
    return only;
}

static void set_columns(json_t *o, const struct schema *s)
{
    json_t *names = json_array(), *originals = json_array(), *types = json_array();

    json_array_append_new(names, table_and_name(-1, "*"));
    json_array_append_new(originals, table_and_name(-1, "*"));
    json_array_append_new(types, json_string(column_type_name(COLUMN_TEXT)));
    for (int c = 0; c < s->n_columns; c++) {
        json_array_append_new(names, table_and_name(s->columns[c].table, s->columns[c].text));
        json_array_append_new(originals, table_and_name(s->columns[c].table, s->columns[c].name));
        json_array_append_new(types, json_string(column_type_name(s->columns[c].type)));
    }
    json_object_set_new(o, "column_names", names);
    json_object_set_new(o, "column_names_original", originals);
    json_object_set_new(o, "column_types", types);
}

static void set_tables(json_t *o, const struct schema *s)
{
    json_t *names = json_array(), *originals = json_array();

    for (int t = 0; t < s->n_tables; t++) {
        json_array_append_new(names, json_string(s->tables[t].text));
        json_array_append_new(originals, json_string(s->tables[t].name));
    }
    json_object_set_new(o, "table_names", names);
    json_object_set_new(o, "table_names_original", originals);
}

static void set_keys(json_t *o, const struct schema *s)
{
    json_t *primary = json_array(), *foreign = json_array();

    for (int t = 0; t < s->n_tables; t++) {
        json_t *key = primary_key(s, t);
        if (json_is_integer(key) || json_array_size(key))
            json_array_append_new(primary, key);
        else
            json_decref(key);
    }
    for (int k = 0; k < s->n_foreign_keys; k++) {
        json_t *key = json_array();
        json_array_append_new(key, json_integer(s->foreign_keys[k].from + 1));
        json_array_append_new(key, json_integer(s->foreign_keys[k].to + 1));
        json_array_append_new(foreign, key);
    }
    json_object_set_new(o, "foreign_keys", foreign);
    json_object_set_new(o, "primary_keys", primary);
}

json_t *schema_to_json(const struct schema *s)
{
    json_t *o = json_object();

    set_columns(o, s);
    json_object_set_new(o, "db_id", json_string(s->db_id));
    set_tables(o, s);
    set_keys(o, s);
    return o;
}

/* Groups of tables. */

static int find_group(int *group, int table)
{
    while (group[table] != table)
        table = group[table] = group[group[table]];
    return table;
}

static int table_at(const struct schema *s, int column)
{
    return s->columns[column].table;
}

/* Puts all tables without a key to or from another table into one group. */
static void join_keyless(const struct schema *s, int *group)
{
    bool *keyed = xcalloc((size_t)s->n_tables, sizeof *keyed);
    int first = -1;

    for (int i = 0; i < s->n_foreign_keys; i++) {
        int from = table_at(s, s->foreign_keys[i].from), to = table_at(s, s->foreign_keys[i].to);
        keyed[from] |= from != to;
        keyed[to] |= from != to;
    }
    for (int t = 0; t < s->n_tables; t++)
        if (!keyed[t])
            group[t] = first = first < 0 ? t : first;
    free(keyed);
}

/* Groups are found by disjoint sets. */
int *schema_groups(const struct schema *s)
{
    int *group = xmalloc((size_t)(s->n_tables + 1) * sizeof *group);

    for (int t = 0; t < s->n_tables; t++)
        group[t] = t;
    for (int i = 0; i < s->n_foreign_keys; i++)
        group[find_group(group, table_at(s, s->foreign_keys[i].from))] =
            find_group(group, table_at(s, s->foreign_keys[i].to));
    for (int t = 0; t < s->n_tables; t++)
        group[t] = find_group(group, t);
    join_keyless(s, group);
    return group;
}
