#include "data/db/db_path.h"

#include "data/base/strings.h"
#include "data/base/whole_file.h"
#include "data/db/schema_sqlite.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool db_path_is_folder(const char *db)
{
    struct stat st;
    return stat(db, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Names become db_ids in JSON, so they must be valid UTF-8. */
static int check_name(const char *db, struct error *err)
{
    char *db_id = schema_db_id(db);
    json_t *text = json_string(db_id);

    free(db_id);
    json_decref(text);
    return text ? 0 : error_set(err, EXIT_CODE_DATA, "%s: expected a file name in UTF-8, which is its db_id", db);
}

/* Returns a hint for databases in other formats, or NULL. */
static const char *format_hint(const char *db, const char *head)
{
    static const struct {
        const char *ending, *way;
    } files[] = {
        { ".sql", "its statements make one: sqlite3 NEW.sqlite <FILE.sql; --schema FILE.sql reads its tables alone" },
        { ".csv", "its rows make one: sqlite3 NEW.sqlite '.import --csv FILE.csv TABLE'" },
        { ".duckdb", "DuckDB copies its tables into one: ATTACH 'NEW.sqlite' AS x (TYPE sqlite)" },
        { ".gz", "unpack it first" },
        { ".xz", "unpack it first" },
        { ".zst", "unpack it first" },
        { ".zip", "unpack it first" },
    };

    if (!strncmp(db, "sqlite://", 9))
        return "give the path of its file alone";
    if (strstr(db, "://"))
        return "a server is not asked: copy its tables into a SQLite file, or give its schema by --schema FILE.sql, which "
               "pg_dump --schema-only writes";
    for (int i = 0; i < ARRAY_LEN(files); i++)
        if (text_ends_with(db, files[i].ending))
            return files[i].way;
    return !strncmp(head, "CREATE ", 7) || !strncmp(head, "-- ", 3) || !strncmp(head, "PRAGMA ", 7) ? files[0].way
                                                                                                    : NULL;
}

static int refuse(const char *db, const char *head, struct error *err)
{
    const char *way = format_hint(db, head);

    return error_set(err, EXIT_CODE_DATA, "%s: file is not a database; expected a SQLite file or a folder of them%s%s",
                     db, way ? "; " : "", way ? way : "");
}

int db_path_check(const char *db, struct error *err)
{
    static const char magic[16] = "SQLite format 3";
    char head[sizeof magic + 1] = "";

    if (!db || db_path_is_folder(db))
        return 0;
    if (strstr(db, "://") && access(db, F_OK))
        return refuse(db, "", err);
    FILE *f = whole_file_open(db, DATABASE_MAX_BYTES, err);
    if (!f)
        return -1;
    size_t n = fread(head, 1, sizeof magic, f);
    fclose(f);
    if (n &&
        (n < sizeof magic || memcmp(head, magic, sizeof magic) != 0)) /* an empty file is a database without tables */
        return refuse(db, head, err);
    return check_name(db, err);
}

void db_path_name(const char *db, json_t *record)
{
    if (!db || !json_is_object(record) || json_object_get(record, "db_id") || db_path_is_folder(db))
        return;
    char *db_id = schema_db_id(db);
    json_object_set_new(record, "db_id", json_string(db_id));
    free(db_id);
}

static bool is_name(const char *db_id)
{
    return *db_id && *db_id != '.' && !strchr(db_id, '/');
}

/* Returns the single file. Any db_id but its own would be answered from the wrong database. */
static char *path_of_file(const char *db, const char *db_id, struct error *err)
{
    char *own = schema_db_id(db);
    bool same = strcmp(own, db_id) == 0;

    if (!same)
        error_set(err, EXIT_CODE_DATA, "%s is the database \"%s\"; expected that db_id or none, got \"%.200s\"", db,
                  own, db_id);
    free(own);
    return same ? xstrdup(db) : NULL;
}

/* Takes both paths. If they are links to the same file, returns the newer path. */
static char *only_one(char *before, char *path, const char *db_id, struct error *err)
{
    struct stat a, b;
    bool same = stat(before, &a) == 0 && stat(path, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;

    if (!same)
        error_set(err, EXIT_CODE_DATA, "expected one database %s, got %s and %s", db_id, before, path);
    free(before);
    if (same)
        return path;
    free(path);
    return NULL;
}

char *db_path(const char *db, const char *db_id, struct error *err)
{
    static const char *const layouts[] = { "%1$s/%2$s.%3$s", "%1$s/%2$s/%2$s.%3$s" };
    static const char *const ends[] = { "sqlite", "db", "sqlite3" };
    char *found = NULL, *path;

    if (!db_path_is_folder(db))
        return path_of_file(db, db_id, err);
    if (!is_name(db_id)) {
        error_set(err, EXIT_CODE_DATA, "expected the name of a database, got \"%.200s\"", db_id);
        return NULL;
    }
    for (int i = 0; i < ARRAY_LEN(layouts) * ARRAY_LEN(ends); i++) {
        CHECK(asprintf(&path, layouts[i / ARRAY_LEN(ends)], db, db_id, ends[i % ARRAY_LEN(ends)]) >= 0,
              "no memory for a path");
        if (access(path, F_OK) || db_path_is_folder(path))
            free(path);
        else if (!found)
            found = path;
        else if (!(found = only_one(found, path, db_id, err)))
            return NULL;
    }
    if (!found)
        error_set(err, EXIT_CODE_DATA,
                  "%s: no database %s: neither %s/%s.sqlite nor %s/%s/%s.sqlite, nor with .db or .sqlite3", db, db_id,
                  db, db_id, db, db_id, db_id);
    return found;
}

/* Adds a name if it is a valid db_id. */
static void add_name(struct strings *names, const char *db, const char *name)
{
    char *path = db_path(db, name, NULL);

    if (path && db_path_check(path, NULL) == 0)
        strings_add(names, name);
    free(path);
}

/* A file is named after its database, and so is the folder of a database. */
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
