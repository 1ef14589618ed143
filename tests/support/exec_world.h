/*
 * exec_world.h - the fixture of tests that run statements: an sql_world, and its script in a jailed database.
 */
#ifndef TESTS_SUPPORT_EXEC_WORLD_H
#define TESTS_SUPPORT_EXEC_WORLD_H

#include "tests/support/sql_world.h"

struct exec_world {
    struct sql_world sql;
    struct exec_db *db;
};

/* Of cmocka.  *state is `size` bytes, zero behind the struct exec_world that they begin with. */
int exec_world_set_up(void **state, size_t size, const char *script);
int exec_world_tear_down(void **state);

#endif
