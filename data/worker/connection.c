/* Part of connection.h: one statement: looked at, prepared, run, its rows kept. */
#include "data/worker/connection_impl.h"

#include "data/sql/sql.h"

#include <stdlib.h>
#include <string.h>

static size_t keep(struct rows *r, const void *bytes, size_t n)
{
    size_t at = r->used;

    if (r->size - r->used < n + 1) {
        r->size = 2 * r->size > r->used + n + 1 ? 2 * r->size : r->used + n + 1;
        r->heap = xrealloc(r->heap, r->size);
    }
    if (n)
        memcpy(r->heap + at, bytes, n);
    r->heap[at + n] = '\0';
    r->used += n + 1;
    return at;
}

static int64_t bytes_of(const struct rows *r)
{
    return r->n * r->columns * (int64_t)sizeof *r->cells + (int64_t)r->used;
}

static int keep_bytes(struct connection *db, struct rows *r, struct cell *c, const void *bytes, int n)
{
    if (!bytes && n)
        return connection_end_sqlite(db, SQLITE_NOMEM);
    if (bytes_of(r) + r->columns * (int64_t)sizeof *r->cells + n > db->limits.bytes)
        return connection_end(db, EXEC_STOPPED, "a result of more than %lld bytes", (long long)db->limits.bytes);
    c->n = n;
    c->integer = (int64_t)keep(r, bytes, (size_t)n);
    return 0;
}

static int read_text(struct connection *db, struct rows *r, struct cell *c, sqlite3_stmt *row, int i)
{
    const char *text = (const char *)sqlite3_column_text(row, i);
    int n = sqlite3_column_bytes(row, i);

    if (!text)
        return connection_end_sqlite(db, SQLITE_NOMEM);
    if (db->limits.python_text && !connection_is_utf8(text, (size_t)n))
        return connection_end(db, EXEC_FAILED, "Could not decode to UTF-8 column '%s' of row %lld",
                              sqlite3_column_name(row, i), (long long)r->n + 1);
    return keep_bytes(db, r, c, text, n);
}

static int read_cell(struct connection *db, struct rows *r, struct cell *c, sqlite3_stmt *row, int i)
{
    *c = (struct cell){ 0 };
    switch (sqlite3_column_type(row, i)) {
    case SQLITE_INTEGER:
        c->type = CELL_INTEGER;
        c->integer = sqlite3_column_int64(row, i);
        return 0;
    case SQLITE_FLOAT:
        c->type = CELL_REAL;
        c->real = sqlite3_column_double(row, i);
        return 0;
    case SQLITE_TEXT:
        c->type = CELL_TEXT;
        return read_text(db, r, c, row, i);
    case SQLITE_BLOB:
        c->type = CELL_BLOB;
        const void *bytes = sqlite3_column_blob(row, i);
        return keep_bytes(db, r, c, bytes, sqlite3_column_bytes(row, i));
    default:
        return 0;
    }
}

static int read_row(struct connection *db, struct rows *r, sqlite3_stmt *row)
{
    if (r->n == db->limits.rows)
        return connection_end(db, EXEC_STOPPED, "more than %lld rows", (long long)db->limits.rows);
    if ((r->n + 1) * r->columns > r->cap) {
        r->cap = 2 * (r->n + 1) * r->columns;
        r->cells = xrealloc(r->cells, (size_t)r->cap * sizeof *r->cells);
    }
    if (bytes_of(r) + r->columns * (int64_t)sizeof *r->cells > db->limits.bytes)
        return connection_end(db, EXEC_STOPPED, "a result of more than %lld bytes", (long long)db->limits.bytes);
    for (int i = 0; i < r->columns; i++)
        if (read_cell(db, r, &r->cells[r->n * r->columns + i], row, i))
            return -1;
    r->n++;
    return 0;
}

static int read_rows(struct connection *db, struct rows *r, sqlite3_stmt *stmt)
{
    int rc;

    r->columns = sqlite3_column_count(stmt);
    for (int i = 0; i < r->columns; i++) {
        const char *name = sqlite3_column_name(stmt, i);
        if (!name)
            return connection_end_sqlite(db, SQLITE_NOMEM);
        keep(r, name, strlen(name));
    }
    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW)
        if (read_row(db, r, stmt))
            return -1;
    return rc == SQLITE_DONE ? 0 : connection_end_sqlite(db, rc);
}

/* Past blanks, semicolons and comments. */
static const char *skip_nothing(const char *sql)
{
    for (;;) {
        sql += strspn(sql, " \t\r\n\f;");
        bool block = strncmp(sql, "/*", 2) == 0;
        if (!block && strncmp(sql, "--", 2) != 0)
            return sql;
        const char *end = strstr(sql + 2, block ? "*/" : "\n");
        if (!end)
            return sql + strlen(sql);
        sql = end + (block ? 2 : 1);
    }
}

static int check_text(struct connection *db, const char *sql, size_t n)
{
    if (n > SQL_MAX_TEXT)
        return connection_end(db, EXEC_REFUSED, "SQL of %zu bytes, at most %d are taken", n, SQL_MAX_TEXT);
    if (memchr(sql, '\0', n))
        return connection_end(db, EXEC_REFUSED, "a NUL in the SQL, at byte %zu", strlen(sql));
    if (!connection_is_utf8(sql, n))
        return connection_end(db, EXEC_REFUSED, "the SQL is no UTF-8");
    return *skip_nothing(sql) ? 0 : connection_end(db, EXEC_REFUSED, "no statement");
}

/* One SELECT and nothing behind it. */
static int check_statement(struct connection *db, sqlite3_stmt *stmt, const char *rest)
{
    if (*skip_nothing(rest))
        return connection_end(db, EXEC_REFUSED, "more than one statement");
    if (sqlite3_stmt_isexplain(stmt))
        return connection_end(db, EXEC_REFUSED, "EXPLAIN is not allowed");
    if (!sqlite3_stmt_readonly(stmt) || !sqlite3_column_count(stmt))
        return connection_end(db, EXEC_REFUSED, "no SELECT");
    if (sqlite3_bind_parameter_count(stmt))
        return connection_end(db, EXEC_FAILED, "%d parameters without a value", sqlite3_bind_parameter_count(stmt));
    return 0;
}

static void run_text(struct connection *db, struct rows *r, const char *sql, size_t n)
{
    sqlite3_stmt *stmt = NULL;
    const char *rest;

    if (check_text(db, sql, n))
        return;
    int rc = sqlite3_prepare_v2(db->db, skip_nothing(sql), -1, &stmt, &rest);
    if (rc != SQLITE_OK)
        connection_end_sqlite(db, rc);
    else if (check_statement(db, stmt, rest) == 0)
        read_rows(db, r, stmt);
    sqlite3_finalize(stmt);
}

enum exec_status connection_run(struct connection *db, struct rows *rows, const char *sql, size_t n, const char **why)
{
    int tries = 0;

    connection_begin(db);
    do {
        rows->columns = 0;
        rows->n = 0;
        rows->used = 0;
        if (connection_refresh(db) == 0)
            run_text(db, rows, sql, n);
    } while (connection_is_torn(db, tries++));
    connection_rest(db);
    *why = db->why;
    return db->status;
}

void rows_release(struct rows *r)
{
    free(r->cells);
    free(r->heap);
    *r = (struct rows){ 0 };
}
