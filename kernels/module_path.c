#include "kernels/module_path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ../lib/ambit from the program's folder; NULL when that cannot be told. */
static char *program_module_dir(void)
{
    char exe[4096];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);

    if (n <= 0)
        return NULL;
    exe[n] = '\0';
    for (int up = 0; up < 2; up++) {
        char *slash = strrchr(exe, '/');
        if (!slash)
            return NULL;
        *slash = '\0';
    }
    return path_in(exe, "lib/ambit");
}

char *module_path(const char *file, char **looked)
{
    char *beside = program_module_dir(), *path = NULL;
    const char *const dirs[] = { getenv("AMBIT_MODULE_PATH"), beside, AMBIT_MODULE_DIR };

    for (int i = 0; i < ARRAY_LEN(dirs) && !path; i++) {
        path = dirs[i] && *dirs[i] ? path_in(dirs[i], file) : NULL;
        if (path && access(path, F_OK)) {
            free(path);
            path = NULL;
        }
    }
    if (!path && looked)
        CHECK(asprintf(looked, "%s or %s (or the folder AMBIT_MODULE_PATH)", beside ? beside : "../lib/ambit",
                       AMBIT_MODULE_DIR) >= 0,
              "no memory for a path");
    free(beside);
    return path;
}
