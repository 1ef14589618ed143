#include "tests/support/sql_world.h"

#include "tests/support/support.h"

#include "data/sql/sql.h"

#include <stdlib.h>

int sql_world_set_up(void **state, size_t size, const char *script)
{
    struct sql_world *w = xcalloc(1, size);

    w->dir = test_dir_new();
    w->db = explain_open(NULL, script);
    explain_schema(&w->schemas, w->db, w->dir);
    *state = w;
    return arena_init(&w->arena, 32 << 20, NULL);
}

int sql_world_tear_down(void **state)
{
    struct sql_world *w = *state;

    schema_set_close(&w->schemas);
    arena_release(&w->arena);
    sqlite3_close(w->db);
    test_dir_remove(w->dir);
    free(w);
    return 0;
}

const struct form *sql_world_form(struct sql_world *w, struct form_store *store, const char *sql)
{
    struct error err = { 0 };
    struct sql_uses uses;

    arena_reset(&w->arena, 0);
    struct sql_query *q = sql_parse(&w->arena, sql, &err);
    if (!q || sql_resolve(&w->arena, q, w->schemas.schemas, &uses, &err))
        fail_msg("%s: %s", sql, err.text);
    const struct form *form = form_of_query(store, q, w->schemas.schemas, &err);
    if (!form)
        fail_msg("%s: %s", sql, err.text);
    return form;
}
