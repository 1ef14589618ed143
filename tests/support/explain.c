#include "tests/support/explain.h"

#include "data/db/schema_sqlite.h"
#include "tests/support/support.h"

#include <stdio.h>
#include <stdlib.h>

sqlite3 *explain_open(const char *path, const char *script)
{
    sqlite3 *db = NULL;
    char *uri = sqlite3_mprintf("file:%s?mode=%s", path ? path : "", path ? "ro&immutable=1" : "memory");
    int rc = sqlite3_open_v2(uri, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_URI, NULL);

    sqlite3_free(uri);
    if (rc != SQLITE_OK) {
        sqlite3_close(db);
        return NULL;
    }
    if (script)
        assert_int_equal(sqlite3_exec(db, script, NULL, NULL, NULL), SQLITE_OK);
    return db;
}

char *explain(sqlite3 *db, const char *sql, bool *good)
{
    char *asked = sqlite3_mprintf("EXPLAIN %s", sql), *text = NULL;
    sqlite3_stmt *stmt = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    *good = sqlite3_prepare_v2(db, asked, -1, &stmt, NULL) == SQLITE_OK;
    sqlite3_free(asked);
    if (!*good)
        fputs(sqlite3_errmsg(db), out);
    while (*good && sqlite3_step(stmt) == SQLITE_ROW)
        for (int i = 0; i < sqlite3_column_count(stmt); i++) {
            const char *cell = (const char *)sqlite3_column_text(stmt, i);
            fprintf(out, "%s%c", cell ? cell : "", i + 1 < sqlite3_column_count(stmt) ? ' ' : '\n');
        }
    sqlite3_finalize(stmt);
    fclose(out);
    return text;
}

void explain_schema(struct schema_set *s, sqlite3 *db, const char *dir)
{
    const char *path = test_file(dir, "db.sqlite", NULL);
    char *copy = sqlite3_mprintf("VACUUM INTO %Q", path);
    struct error err = { 0 };

    assert_int_equal(sqlite3_exec(db, copy, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_free(copy);
    if (schema_set_open_sqlite(s, path, false, &err))
        fail_msg("%s", err.text);
}
