#include "data/span/tag_databases.h"

#include "data/base/log.h"
#include "data/base/whole_file.h"
#include "data/db/db_path.h"

#include <malloc.h>
#include <stdlib.h>

enum { KEPT_TIMES = 10 };

static const double MAY_WAIT = 0.5; /* seconds */

int tag_databases_open(struct tag_databases *d, const char *schema, const char *db, int64_t max_bytes,
                       struct error *err)
{
    *d = (struct tag_databases){ .max_bytes = max_bytes };
    return schema_catalog_open(&d->schemas, schema, db, err);
}

static void let_go(struct tag_database *b)
{
    if (b->open)
        tag_source_close(&b->source);
    b->open = false;
}

void tag_databases_close(struct tag_databases *d)
{
    for (int i = 0; i < d->db_ids.n; i++) {
        let_go(d->items[i]);
        free(d->items[i]->path);
        free(d->items[i]);
    }
    free(d->items);
    strings_release(&d->db_ids);
    schema_catalog_close(&d->schemas);
}

/* A missing file and an empty one beside the database count the same. */
static uint64_t add_file(uint64_t hash, const struct file_state *f)
{
    const int64_t numbers[] = { f->size, f->written[0], f->written[1] };
    return f->size ? hash_bytes(hash, numbers, sizeof numbers) : hash;
}

static uint64_t hash_of(const struct tag_database *b)
{
    json_t *whole = schema_to_json(b->schema);
    char *text = json_dumps(whole, JSON_COMPACT);
    uint64_t hash = hash_text(HASH_START, text);
    struct database_state now;

    if (b->path) {
        database_state_look(&now, b->path);
        hash = add_file(add_file(add_file(hash, &now.file), &now.wal), &now.journal);
    }
    free(text);
    json_decref(whole);
    return hash;
}

static struct tag_database *place_of(struct tag_databases *d, const char *db_id)
{
    int i = strings_find(&d->db_ids, db_id);

    if (i >= 0)
        return d->items[i];
    GROW(d->items, d->db_ids.n, d->cap);
    return d->items[strings_add(&d->db_ids, db_id)] = xcalloc(1, sizeof **d->items);
}

/* Tells whether only rows have changed, and their index is recent. */
static bool may_be_kept(const struct tag_database *b, const struct schema *schema)
{
    return b->open && b->serial == schema->serial && b->seconds > MAY_WAIT &&
           now_seconds() < b->read_at + KEPT_TIMES * b->seconds;
}

struct tag_database *tag_databases_find(struct tag_databases *d, const char *db_id, const char *where,
                                        struct error *err)
{
    const struct schema *schema = schema_catalog_find(&d->schemas, db_id, where, err);

    if (!schema)
        return NULL;
    struct tag_database *b = place_of(d, db_id);
    int64_t version = schema_catalog_version(&d->schemas, db_id);
    if ((b->serial == schema->serial && b->version == version) || may_be_kept(b, schema))
        return b;
    let_go(b);
    free(b->path);
    b->schema = schema;
    b->serial = schema->serial;
    b->version = version;
    b->path = d->schemas.db ? db_path(d->schemas.db, db_id, NULL) : NULL;
    b->hash = hash_of(b);
    return b;
}

struct tag_source *tag_database_source(struct tag_databases *d, struct tag_database *of, struct error *err)
{
    double begun = now_seconds();

    of->used = ++d->clock;
    if (of->open)
        return &of->source;
    if (tag_source_open(&of->source, of->schema, of->path, d->max_bytes, err)) {
        tag_source_close(&of->source);
        return NULL;
    }
    of->open = of->source.lasting = true;
    of->read_at = now_seconds();
    of->seconds = of->read_at - begun;
    return &of->source;
}

/* Least recently used open database, except the newest; or NULL. */
static struct tag_database *oldest(const struct tag_databases *d)
{
    struct tag_database *found = NULL;

    for (int i = 0; i < d->db_ids.n; i++) {
        struct tag_database *b = d->items[i];
        if (b->open && b->used < d->clock && (!found || b->used < found->used))
            found = b;
    }
    return found;
}

void tag_databases_trim(struct tag_databases *d)
{
    struct tag_database *b;
    int64_t bytes = 0, before;

    for (int i = 0; i < d->db_ids.n; i++)
        bytes += d->items[i]->open ? tag_source_bytes(&d->items[i]->source) : 0;
    for (before = bytes; bytes > d->max_bytes / 2 && (b = oldest(d));) {
        bytes -= tag_source_bytes(&b->source);
        let_go(b);
    }
    if (bytes < before)
        malloc_trim(0);
    schema_catalog_turn(&d->schemas);
}
