#include "infer/tag/tag_databases.h"

#include "data/exec/db_path.h"
#include "data/util/sums.h"

#include <malloc.h>
#include <stdlib.h>
#include <sys/stat.h>

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

static uint64_t sum_of(const struct tag_database *b)
{
    json_t *whole = schema_to_json(b->schema);
    char *text = json_dumps(whole, JSON_COMPACT);
    uint64_t sum = sum_text(HASH_START, text);
    struct stat st;

    if (b->path && stat(b->path, &st) == 0) {
        const int64_t numbers[] = { st.st_size, st.st_mtim.tv_sec, st.st_mtim.tv_nsec };
        sum = hash_bytes(sum, numbers, sizeof numbers);
    }
    free(text);
    json_decref(whole);
    return sum;
}

struct tag_database *tag_databases_find(struct tag_databases *d, const char *db_id, const char *where,
                                        struct error *err)
{
    int i = strings_find(&d->db_ids, db_id);

    if (i >= 0)
        return d->items[i];
    const struct schema *schema = schema_catalog_find(&d->schemas, db_id, where, err);
    if (!schema)
        return NULL;
    struct tag_database *b = xcalloc(1, sizeof *b);
    b->schema = schema;
    b->path = d->schemas.db ? db_path(d->schemas.db, db_id, NULL) : NULL;
    b->sum = sum_of(b);
    GROW(d->items, d->db_ids.n, d->cap);
    return d->items[strings_add(&d->db_ids, db_id)] = b;
}

struct tag_source *tag_database_source(struct tag_databases *d, struct tag_database *of, struct error *err)
{
    of->used = ++d->clock;
    if (of->open)
        return &of->source;
    if (tag_source_open(&of->source, of->schema, of->path, d->max_bytes, err)) {
        tag_source_close(&of->source);
        return NULL;
    }
    of->open = true;
    return &of->source;
}

/* The open one that was not asked for the longest, except the newest; NULL where there is no other. */
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
}
