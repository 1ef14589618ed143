/* Part of practice.h: the domains as SQLite files. */
#include "data/contrast/practice.h"

#include "data/contrast/practice_domains.h"
#include "data/util/json.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 12 }; /* of a table whose rows have no names of their own */

static int n_rows(const struct practice_table *t)
{
    for (int i = 0; i < practice_n_columns(t); i++)
        if (t->columns[i].role == PRACTICE_NAME)
            return practice_n_values(&t->columns[i]);
    return ROWS;
}

static const char *declared_type(const struct practice_column *c)
{
    switch (c->role) {
    case PRACTICE_KEY:
        return "INTEGER PRIMARY KEY";
    case PRACTICE_LINK:
        return "INTEGER";
    case PRACTICE_NUMBER:
        return "NUMERIC";
    case PRACTICE_TIME:
        return "DATE";
    default:
        return "TEXT";
    }
}

static void put_table(FILE *f, const struct practice_domain *d, const struct practice_table *t)
{
    fprintf(f, "CREATE TABLE \"%s\" (", t->name);
    for (int i = 0; i < practice_n_columns(t); i++) {
        const struct practice_column *c = &t->columns[i];
        fprintf(f, "%s\"%s\" %s", i ? ", " : "", c->name, declared_type(c));
        if (c->role == PRACTICE_LINK)
            fprintf(f, " REFERENCES \"%s\"(\"%s\")", c->table,
                    d->tables[practice_table_find(d, c->table)].columns[0].name);
    }
    fputs(");\n", f);
}

static void put_cell(FILE *f, const struct practice_domain *d, const struct practice_column *c, int row)
{
    char value[64];

    if (c->role == PRACTICE_KEY) {
        fprintf(f, "%d", row + 1);
    } else if (c->role == PRACTICE_LINK) {
        /* not in step with the other columns, and some rows stay without a partner */
        fprintf(f, "%d", 1 + row * row % n_rows(&d->tables[practice_table_find(d, c->table)]));
    } else {
        practice_value(value, sizeof value, c, row);
        fprintf(f, c->role != PRACTICE_NAME && practice_is_number(value) ? "%s" : "'%s'", value);
    }
}

static void put_rows(FILE *f, const struct practice_domain *d, const struct practice_table *t)
{
    for (int row = 0; row < n_rows(t); row++) {
        fprintf(f, "INSERT INTO \"%s\" VALUES (", t->name);
        for (int i = 0; i < practice_n_columns(t); i++) {
            fputs(i ? ", " : "", f);
            put_cell(f, d, &t->columns[i], row);
        }
        fputs(");\n", f);
    }
}

/* The statements that make the database; the caller frees them. */
static char *script_of(const struct practice_domain *d)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    CHECK(f, "cannot write to memory");
    fputs("BEGIN;\n", f);
    for (int t = 0; t < practice_n_tables(d); t++)
        put_table(f, d, &d->tables[t]);
    for (int t = 0; t < practice_n_tables(d); t++)
        put_rows(f, d, &d->tables[t]);
    fputs("COMMIT;\n", f);
    CHECK(fclose(f) == 0, "cannot write to memory");
    return text;
}

/* Made in memory, so that the file can be written at once. */
static int write_database(const struct practice_domain *d, const char *path, bool force, struct error *err)
{
    struct out_file o = { 0 };
    sqlite3_int64 size = 0;
    sqlite3 *db = NULL;
    char *script = script_of(d);

    int rc = sqlite3_open(":memory:", &db);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(db, script, NULL, NULL, NULL);
    CHECK(rc == SQLITE_OK || rc == SQLITE_NOMEM, "domain %s: %s", d->name, sqlite3_errmsg(db));
    unsigned char *bytes = rc == SQLITE_OK ? sqlite3_serialize(db, "main", &size, 0) : NULL;
    if (!bytes)
        rc = error_set(err, EXIT_CODE_MEMORY, "no memory for the database %s", d->name);
    else if ((rc = out_file_open(&o, path, err)) == 0) {
        fwrite(bytes, 1, (size_t)size, o.f);
        rc = out_files_commit(&o, 1, force, err);
    }
    out_file_abort(&o);
    sqlite3_free(bytes);
    sqlite3_close(db);
    free(script);
    return rc;
}

int practice_write_databases(const char *dir, const char *prefix, bool force, struct error *err)
{
    const struct practice_domain *d;
    char *folder = NULL;

    CHECK(asprintf(&folder, "%s/db", dir) >= 0, "cannot format a path in %s", dir);
    int rc = make_dirs(folder, err);
    for (int i = 0; (d = practice_domain(i)) && rc == 0; i++) {
        char *path = NULL;
        CHECK(asprintf(&path, "%s/%s%s.sqlite", folder, prefix, d->name) >= 0, "cannot format a path in %s", dir);
        rc = write_database(d, path, force, err);
        free(path);
    }
    free(folder);
    return rc;
}
