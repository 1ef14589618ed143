#include "tests/support/sql_world.h"

#include "tests/support/support.h"

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
    const struct form *form = form_of_text(store, sql, w->schemas.schemas, &w->arena, &err);
    if (!form)
        fail_msg("%s: %s", sql, err.text);
    return form;
}
