#include "data/db_text.h"

#include "data/sqlite_open.h"

#include <ctype.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CELL = 1 << 20, MAX_STEPS = 50000000, STEPS_PER_CHECK = 1000 };

struct writer {
    sqlite3 *db;
    const char *path;
    FILE *out;
    char *text;
    size_t size;
    int steps; /* left */
};

/* Only reading, and the function that writes values as SQL. */
static int authorize(void *unused, int action, const char *a, const char *b, const char *db, const char *trigger)
{
    (void)unused, (void)a, (void)db, (void)trigger;
    if (action == SQLITE_FUNCTION)
        return strcmp(b, "quote") == 0 ? SQLITE_OK : SQLITE_DENY;
    return action == SQLITE_SELECT || action == SQLITE_READ ? SQLITE_OK : SQLITE_DENY;
}

static int count_steps(void *left)
{
    *(int *)left -= STEPS_PER_CHECK;
    return *(int *)left <= 0;
}

static int failed(const struct writer *w, struct error *err)
{
    return error_set(err, EXIT_CODE_DATA, "%s: %s", w->path, sqlite3_errmsg(w->db));
}

/* Prepares what a printf of SQLite's makes; NULL with an error. */
static sqlite3_stmt *prepare(const struct writer *w, char *sql, struct error *err)
{
    sqlite3_stmt *s = NULL;

    CHECK(sql, "out of memory");
    if (sqlite3_prepare_v2(w->db, sql, -1, &s, NULL) != SQLITE_OK)
        failed(w, err);
    sqlite3_free(sql);
    return s;
}

static int too_long(const struct writer *w, struct error *err)
{
    if (ftello(w->out) <= DB_TEXT_MAX_BYTES)
        return 0;
    return error_set(err, EXIT_CODE_DATA, "%s: more than %d bytes as text for a prompt; fewer rows would fit", w->path,
                     DB_TEXT_MAX_BYTES);
}

/* "(1,'x'),(2,'y')" of the statement's rows; the statement selects quoted cells. */
static int put_rows(struct writer *w, const char *head, sqlite3_stmt *s, struct error *err)
{
    int rc, n = 0;

    for (; (rc = sqlite3_step(s)) == SQLITE_ROW; n++) {
        fputs(n ? "," : head, w->out);
        for (int i = 0; i < sqlite3_column_count(s); i++) {
            const char *cell = (const char *)sqlite3_column_text(s, i);
            if (!cell)
                return failed(w, err);
            fprintf(w->out, "%c%s", i ? ',' : '(', cell);
        }
        putc(')', w->out);
        if (too_long(w, err))
            return -1;
    }
    if (n)
        fputs(";\n", w->out);
    return rc == SQLITE_DONE ? 0 : failed(w, err);
}

/* The names of a table's columns, each with format "%w" written behind sep; sqlite3_free. */
static char *column_list(const sqlite3_stmt *all, const char *format, const char *sep)
{
    sqlite3_str *list = sqlite3_str_new(NULL);

    for (int i = 0; i < sqlite3_column_count((sqlite3_stmt *)all); i++) {
        sqlite3_str_appendall(list, i ? sep : "");
        sqlite3_str_appendf(list, format, sqlite3_column_name((sqlite3_stmt *)all, i));
    }
    char *text = sqlite3_str_finish(list);
    CHECK(text, "out of memory");
    return text;
}

static int put_inserts(struct writer *w, const char *table, const sqlite3_stmt *all, int64_t rows, struct error *err)
{
    char *names = column_list(all, "%s", ","), *cells = column_list(all, "quote(\"%w\")", ", ");
    char *head = sqlite3_mprintf("INSERT INTO \"%w\" (%s) VALUES ", table, names);
    sqlite3_stmt *s =
        prepare(w, sqlite3_mprintf("SELECT %s FROM \"%w\" LIMIT %lld", cells, table, (long long)rows), err);
    int rc = s ? put_rows(w, head, s, err) : -1;

    sqlite3_finalize(s);
    sqlite3_free(head);
    sqlite3_free(cells);
    sqlite3_free(names);
    return rc;
}

/* A name as people write it: "born_state" is "born state". */
static void put_words(FILE *out, const char *name)
{
    for (; *name; name++)
        putc(*name == '_' ? ' ' : tolower((unsigned char)*name), out);
}

static void put_compact(struct writer *w, const char *table, const sqlite3_stmt *all)
{
    if (ftello(w->out))
        putc('\n', w->out);
    put_words(w->out, table);
    for (int i = 0; i < sqlite3_column_count((sqlite3_stmt *)all); i++) {
        fputs(i ? ", " : ": ", w->out);
        put_words(w->out, sqlite3_column_name((sqlite3_stmt *)all, i));
    }
}

/* What stands for one table: in a dump, its rows. */
static int put_table(struct writer *w, const char *table, enum db_text_form form, int64_t rows, struct error *err)
{
    sqlite3_stmt *all = prepare(w, sqlite3_mprintf("SELECT * FROM \"%w\"", table), err);
    int rc = all ? 0 : -1;

    if (all && form == DB_TEXT_COMPACT)
        put_compact(w, table, all);
    else if (all)
        rc = put_inserts(w, table, all, rows, err);
    sqlite3_finalize(all);
    return rc ? rc : too_long(w, err);
}

/* Steps through the tables; definitions: writes those instead. */
static int put_tables(struct writer *w, bool definitions, enum db_text_form form, int64_t rows, struct error *err)
{
    sqlite3_stmt *s = prepare(w,
                              sqlite3_mprintf("SELECT name, sql FROM sqlite_master WHERE type = 'table' AND sql NOT "
                                              "NULL ORDER BY name"),
                              err);
    int rc = s ? 0 : -1, step = SQLITE_DONE, n = 0;

    while (rc == 0 && (step = sqlite3_step(s)) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(s, 0);
        if (strncmp(name, "sqlite_", 7) == 0) /* SQLite's own */
            continue;
        if (definitions)
            fprintf(w->out, "%s;\n", (const char *)sqlite3_column_text(s, 1));
        else
            rc = put_table(w, name, form, rows, err);
        n++;
    }
    if (rc == 0 && step != SQLITE_DONE)
        rc = failed(w, err);
    if (rc == 0 && n == 0)
        rc = error_set(err, EXIT_CODE_DATA, "%s: no tables in it", w->path);
    sqlite3_finalize(s);
    return rc;
}

static int put_database(struct writer *w, enum db_text_form form, int64_t rows, struct error *err)
{
    if (form == DB_TEXT_DUMP) {
        if (put_tables(w, true, form, rows, err))
            return -1;
        putc('\n', w->out);
    }
    return put_tables(w, false, form, rows, err);
}

/* Bytes of the UTF-8 letter at s, 0 when there is none. */
static size_t letter_bytes(const unsigned char *s)
{
    size_t n = *s < 0x80 ? 1 : *s >= 0xC2 && *s < 0xE0 ? 2 : (*s & 0xF0) == 0xE0 ? 3 : *s >= 0xF0 && *s < 0xF5 ? 4 : 0;

    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xC0) != 0x80)
            return 0;
    bool wrong = (*s == 0xE0 && s[1] < 0xA0) || (*s == 0xED && s[1] >= 0xA0) || (*s == 0xF0 && s[1] < 0x90) ||
                 (*s == 0xF4 && s[1] >= 0x90);
    return wrong ? 0 : n;
}

static void drop_stray_bytes(char *text)
{
    char *to = text;

    for (const char *from = text; *from;) {
        size_t n = letter_bytes((const unsigned char *)from);
        memmove(to, from, n);
        to += n;
        from += n ? n : 1;
    }
    *to = '\0';
}

char *db_text(const char *path, enum db_text_form form, int64_t rows, struct error *err)
{
    struct writer w = { .path = path, .steps = MAX_STEPS };
    int rc = sqlite_open_file(&w.db, path, MAX_CELL, err);

    w.out = open_memstream(&w.text, &w.size);
    CHECK(w.out, "out of memory");
    if (rc == 0) {
        sqlite3_set_authorizer(w.db, authorize, NULL);
        sqlite3_progress_handler(w.db, STEPS_PER_CHECK, count_steps, &w.steps);
        rc = put_database(&w, form, rows, err);
    }
    CHECK(fclose(w.out) == 0, "out of memory");
    sqlite3_close(w.db);
    if (rc) {
        free(w.text);
        return NULL;
    }
    drop_stray_bytes(w.text);
    return w.text;
}
