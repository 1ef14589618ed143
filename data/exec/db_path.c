#include "data/exec/db_path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_name(const char *db_id)
{
    return *db_id && *db_id != '.' && !strchr(db_id, '/');
}

char *db_path(const char *dir, const char *db_id, struct error *err)
{
    static const char *const layouts[] = { "%1$s/%2$s.sqlite", "%1$s/%2$s/%2$s.sqlite" };

    if (!is_name(db_id)) {
        error_set(err, EXIT_CODE_DATA, "expected the name of a database, got \"%.200s\"", db_id);
        return NULL;
    }
    for (int i = 0; i < ARRAY_LEN(layouts); i++) {
        char *path = NULL;
        CHECK(asprintf(&path, layouts[i], dir, db_id) >= 0, "no memory for a path");
        if (access(path, F_OK) == 0)
            return path;
        free(path);
    }
    error_set(err, EXIT_CODE_DATA, "%s: no database %s: neither %s/%s.sqlite nor %s/%s/%s.sqlite", dir, db_id, dir,
              db_id, dir, db_id, db_id);
    return NULL;
}
