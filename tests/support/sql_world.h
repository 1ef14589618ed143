/*
 * sql_world.h - the fixture of the SQL tests: a database from a script, its schema, memory for trees.
 */
#ifndef TESTS_SUPPORT_SQL_WORLD_H
#define TESTS_SUPPORT_SQL_WORLD_H

#include "data/sql/sql_form.h"
#include "tests/support/explain.h"

struct sql_world {
    char *dir;
    sqlite3 *db;
    struct schema_set schemas; /* one */
    struct arena arena;
};

/* Of cmocka.  *state is `size` bytes, zero behind the struct sql_world that they begin with. */
int sql_world_set_up(void **state, size_t size, const char *script);
int sql_world_tear_down(void **state);

/* Its form in store, its tree in the arena; the test fails when it is refused. */
const struct form *sql_world_form(struct sql_world *w, struct form_store *store, const char *sql);

#endif
