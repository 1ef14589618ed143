#include "data/ambiguate/ambiguate_record.h"

#include "data/ambiguate/ambiguate_impl.h"
#include "data/util/records.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void copy_fields(json_t *o, const json_t *question, const char *const *fields, int n)
{
    for (int i = 0; i < n; i++) {
        json_t *value = json_object_get(question, fields[i]);
        if (value)
            json_object_set(o, fields[i], value);
    }
}

static json_t *strings_array(const char *const *items, int n)
{
    json_t *array = json_array();
    for (int i = 0; i < n; i++)
        json_array_append_new(array, json_string(items[i]));
    return array;
}

/* {key: value}; takes value. */
static json_t *map(const char *key, json_t *value)
{
    json_t *o = json_object();
    json_object_set_new(o, key, value);
    return o;
}

static void set_split(json_t *o, const struct ambiqt_record *r, json_t *value)
{
    json_object_set_new(o, "split_map", map(r->table, value));
    json_object_set_new(o, "primary_key", map(r->table, json_string(r->key)));
}

static void set_aggregates(json_t *o, const struct ambiguity *a, const struct schema *s)
{
    json_t *tables = json_array();

    for (int i = 0; i < a->n_tables; i++) {
        const char *key = ambiguity_key(s, ambiguity_table(s, a->tables[i]));
        json_array_append_new(tables, json_pack("[s,s?]", a->tables[i], key));
    }
    json_object_set_new(o, "all_cols", strings_array(a->record.new_columns, a->record.n_new_columns));
    json_object_set_new(o, "all_raw_cols", strings_array(a->stored, a->n_stored));
    json_object_set_new(o, "new_table_name", json_string(a->record.new_table));
    json_object_set_new(o, "tables_with_pkeys", tables);
}

static void set_alteration(json_t *o, const struct ambiguity *a, const struct schema *s)
{
    const struct ambiqt_record *r = &a->record;

    if (a->kind == AMBIGUITY_DELETED)
        json_object_set_new(o, "deleted_map", map(r->table, json_string(r->column)));
    else if (r->kind == SIA_COLUMN)
        json_object_set_new(o, "extra_map", map(r->table, map(r->column, strings_array(r->names, 2))));
    else if (r->kind == SIA_TABLE)
        json_object_set_new(o, "extra_table_map", map(r->table, strings_array(r->names, 2)));
    else if (r->kind == SIA_JOIN)
        set_split(o, r, json_string(r->column));
    else if (a->one_table)
        set_split(o, r, strings_array(r->new_columns, r->n_new_columns));
    else
        set_aggregates(o, a, s);
}

/* A question's own readings: query1, query2 and so on, and what each of them means in words. */
static void set_given(json_t *o, const json_t *question)
{
    const json_t *golds = json_object_get(question, "golds");
    json_t *texts = json_array();

    for (size_t i = 0; i < json_array_size(golds); i++) {
        const json_t *gold = json_array_get(golds, i);
        json_t *text = json_object_get(gold, "text");
        char name[32];
        snprintf(name, sizeof name, "query%zu", i + 1);
        json_object_set(o, name, json_object_get(gold, "sql"));
        json_array_append(texts, text ? text : json_null());
    }
    json_object_set_new(o, "interpretations", texts);
}

static void set_readings(json_t *o, const struct ambiguity *a, const json_t *question, const struct schema *s)
{
    if (a->kind == AMBIGUITY_GIVEN) {
        set_given(o, question);
        return;
    }
    json_object_set_new(o, "orig_query", json_string(a->record.original));
    if (a->kind != AMBIGUITY_DELETED) {
        json_object_set_new(o, "query1", json_string(a->record.readings[0]));
        json_object_set_new(o, "query2", json_string(a->record.readings[1]));
    }
    set_alteration(o, a, s);
}

json_t *ambiguate_record(const struct ambiguity *a, int number, const json_t *question, const struct schema *s,
                         const struct schema_texts *texts)
{
    static const char *const taken[] = { "question_toks", "query_toks", "query_toks_no_value", "sql", "corpus",
                                         "question_id",   "evidence",   "ambig_type" };
    const struct ambiqt_record *r = &a->record;
    const char *letter = ambiguity_letter(a->kind);
    char id[32];

    snprintf(id, sizeof id, "%s%d", letter, number);
    json_t *o = json_pack("{ssssssss}", "id", id, "kind", letter, "db_id", r->db_id, "question", r->question);
    copy_fields(o, question, taken, ARRAY_LEN(taken));
    set_readings(o, a, question, s);
    json_object_set_new(o, "schema_with_content", json_string(texts->with_content));
    json_object_set_new(o, "schema_without_content", json_string(texts->without_content));
    if (a->kind != SIA_JOIN && a->kind != SIA_AGGREGATE)
        json_object_set_new(o, "orig_example_idx", json_integer(a->question));
    if (a->synonyms.source)
        json_object_set_new(o, "synonym_source", json_string(synonym_source_name(a->synonyms.source)));
    return o;
}

/* What tells a record apart from those of other questions; the caller frees it.  NULL when a field is missing. */
static char *key_of(const json_t *record)
{
    static const char *const fields[] = { "db_id", "question", "query1", "query2" };
    const char *f[ARRAY_LEN(fields)];
    char *key = NULL;

    for (int i = 0; i < ARRAY_LEN(fields); i++)
        if (!(f[i] = json_string_value(json_object_get(record, fields[i]))))
            return NULL;
    CHECK(asprintf(&key, "%s\n%s\n%s\n%s", f[0], f[1], f[2], f[3]) >= 0, "cannot format the key of %s", f[1]);
    return key;
}

/* A record_fn. */
static int add_published(void *texts, json_t *record, const char *where, struct error *err)
{
    struct published_texts *p = texts;
    char *key = key_of(record);

    if (!key || !json_get_string(record, "schema_without_content", where, err)) {
        free(key);
        return error_set(err, EXIT_CODE_DATA,
                         "%s: expected strings \"db_id\", \"question\", \"query1\", \"query2\" and "
                         "\"schema_without_content\"",
                         where);
    }
    json_t *list = json_object_get(p->by_key, key);
    if (!list) {
        list = json_array();
        json_object_set_new(p->by_key, key, list);
    }
    json_array_append(list, record);
    free(key);
    return 0;
}

int published_texts_read(struct published_texts *p, const char *path, struct error *err)
{
    *p = (struct published_texts){ .by_key = json_object() };
    return records_each_as_is(path, RECORDS_AUTO, add_published, p, err);
}

void published_texts_apply(struct published_texts *p, json_t *record)
{
    static const char *const texts[] = { "schema_with_content", "schema_without_content" };
    char *key = key_of(record);
    json_t *list = key ? json_object_get(p->by_key, key) : NULL;

    if (json_array_size(list) > 0) {
        copy_fields(record, json_array_get(list, 0), texts, ARRAY_LEN(texts));
        json_array_remove(list, 0);
        p->used++;
    }
    free(key);
}

void published_texts_release(struct published_texts *p)
{
    json_decref(p->by_key);
    *p = (struct published_texts){ 0 };
}
