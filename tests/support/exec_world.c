#include "tests/support/exec_world.h"

#include "data/db/sqlite_exec.h"

int exec_world_set_up(void **state, size_t size, const char *script)
{
    struct error err;
    int rc = sql_world_set_up(state, size, script);
    struct exec_world *w = *state;

    w->db = exec_open_script(script, &exec_limits_default, &err);
    return rc || !w->db;
}

int exec_world_tear_down(void **state)
{
    exec_close(((struct exec_world *)*state)->db);
    return sql_world_tear_down(state);
}
