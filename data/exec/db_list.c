#include "data/exec/db_list.h"

#include "data/exec/db_path.h"
#include "data/exec/schema_sqlite.h"
#include "data/util/strings.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Adds the name if a record may have it as db_id. */
static void add_name(struct strings *names, const char *db, const char *name)
{
    char *path = db_path(db, name, NULL);

    if (path && db_path_check(path, NULL) == 0)
        strings_add(names, name);
    free(path);
}

/* A file is named after its database, and so is the folder that a database has for itself. */
static void add_entry(struct strings *names, const char *db, const char *entry)
{
    char *without_ending = schema_db_id(entry);

    add_name(names, db, without_ending);
    if (strcmp(entry, without_ending) != 0)
        add_name(names, db, entry);
    free(without_ending);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static json_t *sorted(const struct strings *names)
{
    const char **list = xcalloc((size_t)names->n + 1, sizeof *list);
    json_t *a = json_array();

    for (int i = 0; i < names->n; i++)
        list[i] = names->items[i];
    if (names->n)
        qsort(list, (size_t)names->n, sizeof *list, compare_names);
    for (int i = 0; i < names->n; i++)
        json_array_append_new(a, json_string(list[i]));
    free(list);
    return a;
}

static json_t *list_folder(const char *db, struct error *err)
{
    DIR *folder = opendir(db);
    struct strings names = { 0 };
    const struct dirent *entry;

    if (!folder) {
        error_set(err, EXIT_CODE_DATA, "%s: %s", db, strerror(errno));
        return NULL;
    }
    while ((entry = readdir(folder)))
        if (entry->d_name[0] != '.')
            add_entry(&names, db, entry->d_name);
    closedir(folder);
    json_t *list = sorted(&names);
    strings_release(&names);
    return list;
}

json_t *db_list(const char *db, struct error *err)
{
    if (db_path_is_folder(db))
        return list_folder(db, err);
    char *db_id = schema_db_id(db);
    json_t *list = json_pack("[s]", db_id);
    free(db_id);
    return list;
}
