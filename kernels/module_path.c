#include "kernels/module_path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Folder of the shared library that this code is part of; "": it is part of a program. */
static char library_folder[4096];

bool module_path_library(const char *folder)
{
    size_t n = strlen(folder);

    if (n >= sizeof library_folder)
        return false;
    memcpy(library_folder, folder, n + 1);
    return true;
}

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

/* Returns a folder beside the library, or else one beside the program. */
static char *beside(const char *of_library, const char *of_program)
{
    return *library_folder ? path_in(library_folder, of_library) : beside_program(of_program);
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
    char *near = beside("ambit", "lib/ambit");
    char *path = find(file, (const char *const[]){ getenv("AMBIT_MODULE_PATH"), near, AMBIT_MODULE_DIR });

    if (!path && looked)
        CHECK(asprintf(looked, "%s or %s (or the folder AMBIT_MODULE_PATH)", near ? near : "../lib/ambit",
                       AMBIT_MODULE_DIR) >= 0,
              "no memory for a path");
    free(near);
    return path;
}

char *sql_worker_path(struct error *err)
{
    char *looked = NULL, *path = module_path("ambit-sql-worker", &looked);

    if (!path)
        error_set(err, EXIT_CODE_FAILURE,
                  "ambit-sql-worker, which runs SQL, not found in %s; build the target ambit-sql-worker, or install "
                  "the package ambit again",
                  looked);
    free(looked);
    return path;
}

/* A library lies in lib or in a folder of lib, such as Debian's lib/x86_64-linux-gnu. */
char *share_path(const char *file, char **looked)
{
    char *near = beside("../share/ambit", "share/ambit");
    char *above = *library_folder ? path_in(library_folder, "../../share/ambit") : NULL;
    char *path = find(file, (const char *const[]){ near, above, AMBIT_SHARE_DIR });

    if (!path && looked)
        CHECK(asprintf(looked, "%s or %s", near ? near : "../share/ambit", AMBIT_SHARE_DIR) >= 0,
              "no memory for a path");
    free(near);
    free(above);
    return path;
}
