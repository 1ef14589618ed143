/* One statement: looked at, prepared, run, its rows kept. */
#include "data/exec/sqlite_exec_impl.h"

#include "data/sql/sql.h"

#include <stdlib.h>
#include <string.h>

/* Rows on their way into a result. */
struct row_buffer {
    struct exec_result *r;
    int64_t cap; /* rows that cells has room for */
};

/* Bytes of a result never move: they stand in chunks, each pointing at the one before. */
struct chunk {
    struct chunk *before;
    size_t used, size;
    char bytes[];
};

static char *keep(struct exec_result *r, const void *bytes, size_t n)
{
    enum { FIRST = 1 << 10, CHUNK = 1 << 15 };
    struct chunk *c = r->block;

    if (!c || c->size - c->used < n + 1) {
        size_t size = r->block ? CHUNK : FIRST;
        size = n + 1 > size ? n + 1 : size;
        c = xmalloc(sizeof *c + size);
        *c = (struct chunk){ .before = r->block, .size = size };
        r->block = c;
    }
    char *kept = c->bytes + c->used;
    if (n)
        memcpy(kept, bytes, n);
    kept[n] = '\0';
    c->used += n + 1;
    r->bytes += (int64_t)n + 1;
    return kept;
}

static int keep_bytes(struct exec_db *db, struct exec_result *r, struct cell *c, const void *bytes, int n)
{
    if (!bytes && n)
        return exec_end_sqlite(db, SQLITE_NOMEM);
    if (r->bytes + n > db->limits.bytes)
        return exec_end(db, EXEC_STOPPED, "a result of more than %lld bytes", (long long)db->limits.bytes);
    c->n = n;
    c->bytes = keep(r, bytes, (size_t)n);
    return 0;
}

static int read_text(struct exec_db *db, struct exec_result *r, struct cell *c, sqlite3_stmt *row, int i)
{
    const char *text = (const char *)sqlite3_column_text(row, i);
    int n = sqlite3_column_bytes(row, i);

    if (!text)
        return exec_end_sqlite(db, SQLITE_NOMEM);
    if (db->limits.python_text && !exec_is_utf8(text, (size_t)n))
        return exec_end(db, EXEC_FAILED, "Could not decode to UTF-8 column '%s' of row %lld", r->names[i],
                        (long long)r->n + 1);
    return keep_bytes(db, r, c, text, n);
}

static int read_cell(struct exec_db *db, struct exec_result *r, struct cell *c, sqlite3_stmt *row, int i)
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

static int read_row(struct exec_db *db, struct row_buffer *to, sqlite3_stmt *row)
{
    struct exec_result *r = to->r;

    if (r->n == db->limits.rows)
        return exec_end(db, EXEC_STOPPED, "more than %lld rows", (long long)db->limits.rows);
    if (r->n == to->cap) {
        to->cap = to->cap ? 2 * to->cap : 8;
        r->cells = xrealloc(r->cells, (size_t)to->cap * (size_t)r->columns * sizeof *r->cells);
    }
    r->bytes += r->columns * (int64_t)sizeof *r->cells;
    if (r->bytes > db->limits.bytes)
        return exec_end(db, EXEC_STOPPED, "a result of more than %lld bytes", (long long)db->limits.bytes);
    for (int i = 0; i < r->columns; i++)
        if (read_cell(db, r, &r->cells[r->n * r->columns + i], row, i))
            return -1;
    r->n++;
    return 0;
}

static int read_rows(struct exec_db *db, struct exec_result *r, sqlite3_stmt *stmt)
{
    struct row_buffer to = { .r = r };
    int rc;

    r->columns = sqlite3_column_count(stmt);
    r->names = xcalloc((size_t)r->columns, sizeof *r->names);
    for (int i = 0; i < r->columns; i++) {
        const char *name = sqlite3_column_name(stmt, i);
        if (!name)
            return exec_end_sqlite(db, SQLITE_NOMEM);
        r->names[i] = keep(r, name, strlen(name));
    }
    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW)
        if (read_row(db, &to, stmt))
            return -1;
    return rc == SQLITE_DONE ? 0 : exec_end_sqlite(db, rc);
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

static int check_text(struct exec_db *db, const char *sql, size_t n)
{
    if (n > SQL_MAX_TEXT)
        return exec_end(db, EXEC_REFUSED, "SQL of %zu bytes, at most %d are taken", n, SQL_MAX_TEXT);
    if (memchr(sql, '\0', n))
        return exec_end(db, EXEC_REFUSED, "a NUL in the SQL, at byte %zu", strlen(sql));
    if (!exec_is_utf8(sql, n))
        return exec_end(db, EXEC_REFUSED, "the SQL is no UTF-8");
    return *skip_nothing(sql) ? 0 : exec_end(db, EXEC_REFUSED, "no statement");
}

/* One SELECT and nothing behind it. */
static int check_statement(struct exec_db *db, sqlite3_stmt *stmt, const char *rest)
{
    if (*skip_nothing(rest))
        return exec_end(db, EXEC_REFUSED, "more than one statement");
    if (sqlite3_stmt_isexplain(stmt))
        return exec_end(db, EXEC_REFUSED, "EXPLAIN is not allowed");
    if (!sqlite3_stmt_readonly(stmt) || !sqlite3_column_count(stmt))
        return exec_end(db, EXEC_REFUSED, "no SELECT");
    if (sqlite3_bind_parameter_count(stmt))
        return exec_end(db, EXEC_FAILED, "%d parameters without a value", sqlite3_bind_parameter_count(stmt));
    return 0;
}

static void run_text(struct exec_db *db, struct exec_result *r, const char *sql, size_t n)
{
    sqlite3_stmt *stmt = NULL;
    const char *rest;

    if (check_text(db, sql, n))
        return;
    int rc = sqlite3_prepare_v2(db->db, skip_nothing(sql), -1, &stmt, &rest);
    if (rc != SQLITE_OK)
        exec_end_sqlite(db, rc);
    else if (check_statement(db, stmt, rest) == 0)
        read_rows(db, r, stmt);
    r->crowded = db->status == EXEC_STOPPED && sqlite3_errcode(db->db) == SQLITE_NOMEM;
    sqlite3_finalize(stmt);
}

struct exec_result exec_run_bytes(struct exec_db *db, const char *sql, size_t n)
{
    struct exec_result r = { 0 };

    exec_begin(db);
    run_text(db, &r, sql, n);
    if (db->status == EXEC_OK)
        return r;
    struct exec_result bad = { .status = db->status, .message = xstrdup(db->why), .crowded = r.crowded };
    exec_result_release(&r);
    return bad;
}

struct exec_result exec_run(struct exec_db *db, const char *sql)
{
    return exec_run_bytes(db, sql, strlen(sql));
}

struct exec_result exec_run_among(struct exec_db *db, const char *sql, pthread_rwlock_t *memory)
{
    pthread_rwlock_rdlock(memory);
    struct exec_result r = exec_run(db, sql);
    pthread_rwlock_unlock(memory);
    if (!r.crowded)
        return r;
    exec_result_release(&r);
    pthread_rwlock_wrlock(memory);
    r = exec_run(db, sql);
    pthread_rwlock_unlock(memory);
    return r;
}

void exec_result_release(struct exec_result *r)
{
    struct chunk *c = r->block;

    while (c) {
        struct chunk *before = c->before;
        free(c);
        c = before;
    }
    free(r->cells);
    free(r->names);
    free(r->message);
    *r = (struct exec_result){ 0 };
}

const char *exec_sqlite_version(void)
{
    return sqlite3_libversion();
}
