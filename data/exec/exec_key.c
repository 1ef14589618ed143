#include "data/exec/exec_key.h"

#include "data/exec/schema_sqlite.h"
#include "data/sql/sql.h"
#include "data/sqlite/database_state.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ARENA_BYTES = 16 << 20, /* one text's trees */
    MAX_TEXT = 16 << 10     /* longer texts are compared as they are */
};

static struct exec_database *find_database(struct exec_keys *k, const char *path)
{
    int i = strings_add(&k->paths, path);

    if (i == k->n) {
        GROW(k->databases, k->n, k->cap);
        k->databases[k->n++] = (struct exec_database){ .hash = database_sum(path) };
        if (schema_set_open_sqlite(&k->databases[i].schema, path, false, NULL))
            schema_set_close(&k->databases[i].schema);
    }
    return &k->databases[i];
}

uint64_t exec_keys_hash(struct exec_keys *k, const char *path)
{
    return find_database(k, path)->hash;
}

/* The text in the schema's terms; NULL when it cannot be told. */
static const char *canonical(struct exec_keys *k, const struct exec_database *d, const char *sql)
{
    struct sql_uses uses;

    if (!d->schema.n || strlen(sql) > MAX_TEXT)
        return NULL;
    arena_reset(&k->arena, 0);
    struct sql_query *q = sql_parse(&k->arena, sql, NULL);
    return q && sql_resolve(&k->arena, q, d->schema.schemas, &uses, NULL) == 0 ? sql_print(&k->arena, q) : NULL;
}

int exec_keys_find(struct exec_keys *k, const char *path, const char *sql, struct error *err)
{
    char *text = NULL;

    if (!k->arena.size && arena_init(&k->arena, ARENA_BYTES, err))
        return -1;
    const struct exec_database *d = find_database(k, path);
    const char *same = canonical(k, d, sql);
    int n =
        asprintf(&text, "%016" PRIx64 " %s %s %s", d->hash, d->hash ? "" : path, same ? "=" : "", same ? same : sql);
    CHECK(n >= 0, "no memory for a query of %zu bytes", strlen(sql));
    int key = strings_add(&k->texts, text);
    free(text);
    return key;
}

void exec_keys_release(struct exec_keys *k)
{
    for (int i = 0; i < k->n; i++)
        schema_set_close(&k->databases[i].schema);
    free(k->databases);
    strings_release(&k->paths);
    strings_release(&k->texts);
    arena_release(&k->arena);
    *k = (struct exec_keys){ 0 };
}
