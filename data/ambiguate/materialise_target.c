/* Part of materialise.h: statements on the database that is altered. */
#include "data/ambiguate/materialise_impl.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failed(const struct target *t, struct error *err)
{
    return error_set(err, EXIT_CODE_DATA, "%s: %s", t->path, sqlite3_errmsg(t->db));
}

int target_open(struct target *t, const char *path, bool create, uint64_t seed, struct error *err)
{
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | (create ? SQLITE_OPEN_CREATE : 0);

    *t = (struct target){ .path = path, .seed = seed };
    if (sqlite3_open_v2(path, &t->db, flags, NULL) != SQLITE_OK)
        return failed(t, err);
    sqlite3_db_config(t->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(t->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_db_config(t->db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
    return target_run(t, err, "PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; PRAGMA foreign_keys = OFF");
}

void target_close(struct target *t)
{
    sqlite3_close(t->db);
    strings_release(&t->text);
    *t = (struct target){ 0 };
}

int target_run(struct target *t, struct error *err, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    char *sql = sqlite3_vmprintf(fmt, args);
    va_end(args);
    CHECK(sql, "cannot format %s", fmt);
    int rc = sqlite3_exec(t->db, sql, NULL, NULL, NULL);
    sqlite3_free(sql);
    return rc == SQLITE_OK ? 0 : failed(t, err);
}

const char *target_value(struct target *t, const char *fmt, ...)
{
    const char *value = NULL;
    sqlite3_stmt *stmt = NULL;
    va_list args;

    va_start(args, fmt);
    char *sql = sqlite3_vmprintf(fmt, args);
    va_end(args);
    CHECK(sql, "cannot format %s", fmt);
    if (sqlite3_prepare_v2(t->db, sql, -1, &stmt, NULL) == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(stmt, 0);
        value = text ? strings_keep(&t->text, text) : NULL;
    }
    sqlite3_finalize(stmt);
    sqlite3_free(sql);
    return value;
}

/* A declared type that is words and numbers; whatever else a stranger's file has there counts as none. */
static const char *plain_type(const char *type)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_ (),+-";
    return strspn(type, plain) == strlen(type) ? type : "";
}

/* The collation of a column, which t keeps. */
static const char *collation_of(struct target *t, const char *database, const char *table, const char *column)
{
    const char *type = NULL, *collation = NULL;
    int not_null, primary, counts;

    int rc =
        sqlite3_table_column_metadata(t->db, database, table, column, &type, &collation, &not_null, &primary, &counts);
    return strings_keep(&t->text, rc == SQLITE_OK && collation ? collation : "BINARY");
}

int target_columns(struct target *t, struct target_column *columns, int max, const char *database, const char *table)
{
    sqlite3_stmt *stmt = NULL;
    int n = 0;

    if (sqlite3_prepare_v2(t->db, "SELECT name, type, \"notnull\", dflt_value, pk FROM pragma_table_info(?, ?)", -1,
                           &stmt, NULL) == SQLITE_OK) {
        sqlite3_bind_text(stmt, 1, table, -1, SQLITE_STATIC);
        sqlite3_bind_text(stmt, 2, database, -1, SQLITE_STATIC);
        for (; n < max && sqlite3_step(stmt) == SQLITE_ROW; n++) {
            const char *standard = (const char *)sqlite3_column_text(stmt, 3);
            columns[n] = (struct target_column){
                .name = strings_keep(&t->text, (const char *)sqlite3_column_text(stmt, 0)),
                .type = strings_keep(&t->text, plain_type((const char *)sqlite3_column_text(stmt, 1))),
                .collation = collation_of(t, database, table, (const char *)sqlite3_column_text(stmt, 0)),
                .standard = standard ? strings_keep(&t->text, standard) : NULL,
                .not_null = sqlite3_column_int(stmt, 2) != 0,
                .primary = sqlite3_column_int(stmt, 4),
            };
        }
    }
    sqlite3_finalize(stmt);
    return n;
}
