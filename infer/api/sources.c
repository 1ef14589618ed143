#include "infer/api/sources.h"

#include "data/base/json.h"
#include "data/db/db_path.h"

#include <stdlib.h>
#include <string.h>

static void close_source(struct api_source *o)
{
    tag_databases_close(&o->tag.databases);
    schema_set_close(&o->given);
    free(o->key);
    free(o->path);
    free(o);
}

static int read_given(struct api_source *o, const json_t *schema, struct error *err)
{
    json_t *list = json_pack("[O]", schema);
    int rc = schema_set_from_json(&o->given, list, "schema", err);

    json_decref(list);
    return rc;
}

static int open_source(struct api_source *o, const struct api_sources *s, const json_t *request, struct error *err)
{
    const json_t *db = json_object_get(request, "db"), *schema = json_object_get(request, "schema");
    const char *path = json_string_value(db ? db : schema);

    o->tag.tagger = s->tagger;
    o->path = path ? xstrdup(path) : NULL;
    if (tag_databases_open(&o->tag.databases, db ? NULL : o->path, db ? o->path : NULL, s->index_bytes, err))
        return -1;
    return path ? 0 : read_given(o, schema, err);
}

int source_check(const json_t *request, struct error *err)
{
    const json_t *db = json_object_get(request, "db"), *schema = json_object_get(request, "schema");

    if (!db == !schema)
        return error_set(err, EXIT_CODE_USAGE, "request: expected either field \"db\" or field \"schema\"");
    if (db && !json_is_string(db))
        return error_set(err, EXIT_CODE_USAGE, "field \"db\" is %s, expected the path of a SQLite file or a folder",
                         json_type_name(db));
    if (schema && !json_is_string(schema) && !json_is_object(schema))
        return error_set(err, EXIT_CODE_USAGE,
                         "field \"schema\" is %s, expected the path of a tables.json, or an object that is an entry of "
                         "one",
                         json_type_name(schema));
    return 0;
}

/* Makes space for one more source. */
static bool make_space(struct api_sources *s)
{
    int oldest = 0;

    if (s->n < SOURCES_MAX)
        return false;
    for (int i = 1; i < s->n; i++)
        if (s->items[i]->used < s->items[oldest]->used)
            oldest = i;
    close_source(s->items[oldest]);
    s->items[oldest] = s->items[--s->n];
    return true;
}

/* Takes the key. */
static struct api_source *add_source(struct api_sources *s, char *key, const json_t *request, bool *closed,
                                     struct error *err)
{
    struct api_source *o = xcalloc(1, sizeof *o);

    o->key = key;
    if (open_source(o, s, request, err)) {
        close_source(o);
        return NULL;
    }
    *closed = make_space(s);
    return s->items[s->n++] = o;
}

struct api_source *sources_find(struct api_sources *s, const json_t *request, bool *closed, struct error *err)
{
    *closed = false;
    if (source_check(request, err))
        return NULL;
    json_t *place =
        json_pack("{s:O*, s:O*}", "db", json_object_get(request, "db"), "schema", json_object_get(request, "schema"));
    char *key = json_dumps(place, JSON_COMPACT);
    struct api_source *found = NULL;
    json_decref(place);
    for (int i = 0; i < s->n && !found; i++)
        if (strcmp(s->items[i]->key, key) == 0)
            found = s->items[i];
    if (found)
        free(key);
    else
        found = add_source(s, key, request, closed, err);
    if (!found)
        return NULL;
    found->used = ++s->clock;
    schema_catalog_turn(&found->tag.databases.schemas);
    return found;
}

/* Adds the db_id of the only schema. */
static void name_schema(const struct api_source *o, json_t *record)
{
    const struct schema_set *tables = &o->tag.databases.schemas.tables;
    const struct schema_set *all = o->given.n ? &o->given : tables;

    db_path_name(o->tag.databases.schemas.db, record);
    if (all->n == 1 && !json_object_get(record, "db_id"))
        json_object_set_new(record, "db_id", json_string(all->schemas[0].db_id));
}

const struct schema *source_schema(struct api_source *o, json_t *record, const char *where, struct error *err)
{
    name_schema(o, record);
    const char *db_id = json_get_string(record, "db_id", where, err);
    if (!db_id)
        return NULL;
    if (!o->given.n)
        return schema_catalog_find(&o->tag.databases.schemas, db_id, where, err);
    if (strcmp(o->given.schemas[0].db_id, db_id) == 0)
        return o->given.schemas;
    error_set(err, EXIT_CODE_DATA, "%s: field \"db_id\" is \"%s\", expected \"%s\", the db_id of the schema", where,
              db_id, o->given.schemas[0].db_id);
    return NULL;
}

void sources_close(struct api_sources *s)
{
    for (int i = 0; i < s->n; i++)
        close_source(s->items[i]);
    s->n = 0;
}
