#include "kernels/module_path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Returns a folder beside that of the program, such as lib/ambit, or NULL if it cannot be determined. */
static char *beside_program(const char *folder)
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
    return path_in(exe, folder);
}

/* Returns the path of the file in the first of three folders that has it; the caller frees it.  NULL and "" are
 * skipped. */
static char *find(const char *file, const char *const dirs[3])
{
    for (int i = 0; i < 3; i++) {
        char *path = dirs[i] && *dirs[i] ? path_in(dirs[i], file) : NULL;
        if (path && access(path, F_OK) == 0)
            return path;
        free(path);
    }
    return NULL;
}

char *module_path(const char *file, char **looked)
{
    char *beside = beside_program("lib/ambit");
    char *path = find(file, (const char *const[]){ getenv("AMBIT_MODULE_PATH"), beside, AMBIT_MODULE_DIR });

    if (!path && looked)
        CHECK(asprintf(looked, "%s or %s (or the folder AMBIT_MODULE_PATH)", beside ? beside : "../lib/ambit",
                       AMBIT_MODULE_DIR) >= 0,
              "no memory for a path");
    free(beside);
    return path;
}

char *share_path(const char *file, char **looked)
{
    char *beside = beside_program("share/ambit");
    char *path = find(file, (const char *const[]){ beside, AMBIT_SHARE_DIR, NULL });

    if (!path && looked)
        CHECK(asprintf(looked, "%s or %s", beside ? beside : "../share/ambit", AMBIT_SHARE_DIR) >= 0,
              "no memory for a path");
    free(beside);
    return path;
}
