/* Part of schema.h: a schema as an entry of a tables.json. */
#include "data/schema/schema.h"

static json_t *pair(int table, const char *name)
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

    json_array_append_new(names, pair(-1, "*"));
    json_array_append_new(originals, pair(-1, "*"));
    json_array_append_new(types, json_string(column_type_name(COLUMN_TEXT)));
    for (int c = 0; c < s->n_columns; c++) {
        json_array_append_new(names, pair(s->columns[c].table, s->columns[c].text));
        json_array_append_new(originals, pair(s->columns[c].table, s->columns[c].name));
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
