#include "data/db/db_cache.h"

#include "data/db/dump.h"

#include <stdlib.h>
#include <string.h>

void db_cache_init(struct db_cache *c)
{
    *c = (struct db_cache){ .limits = exec_limits_default };
}

static struct exec_db *find(struct db_cache *c, const char *key)
{
    for (int i = 0; i < c->n; i++)
        if (strcmp(c->items[i].key, key) == 0) {
            c->items[i].used = ++c->clock;
            return c->items[i].db;
        }
    return NULL;
}

/* Returns a free entry, else closes the least recently used connection. */
static struct db_cache_entry *place(struct db_cache *c)
{
    if (c->n < DB_CACHE_OPEN)
        return &c->items[c->n++];
    struct db_cache_entry *oldest = c->items;
    for (int i = 1; i < c->n; i++)
        if (c->items[i].used < oldest->used)
            oldest = &c->items[i];
    exec_close(oldest->db);
    free(oldest->key);
    return oldest;
}

static struct exec_db *keep(struct db_cache *c, const char *key, struct exec_db *db)
{
    if (db)
        *place(c) = (struct db_cache_entry){ xstrdup(key), db, ++c->clock };
    return db;
}

struct exec_db *db_cache_file(struct db_cache *c, const char *path, struct error *err)
{
    struct exec_db *db = find(c, path);
    return db ? db : keep(c, path, exec_open(path, &c->limits, err));
}

struct exec_db *db_cache_dump(struct db_cache *c, const char *dump, struct error *err)
{
    struct exec_db *db = find(c, dump);
    char *script = db ? NULL : dump_repair(dump, err);
    if (script)
        db = keep(c, dump, exec_open_script(script, &c->limits, err));
    free(script);
    return db;
}

void db_cache_release(struct db_cache *c)
{
    for (int i = 0; i < c->n; i++) {
        exec_close(c->items[i].db);
        free(c->items[i].key);
    }
    *c = (struct db_cache){ 0 };
}
