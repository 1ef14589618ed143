#include "data/prompt/db_text.h"

#include "data/util/sqlite_open.h"

#include <ctype.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CELL = 1 << 20, MAX_STEPS = 50000000, STEPS_PER_CHECK = 1000 };

struct writer {
    sqlite3 *db;
    const char *path;
    enum db_text_form form;
    int64_t rows; /* of each table, all when negative */
    FILE *out;
    char *text;
    size_t size;
    int steps; /* left */
};

/* What stands between names and values of an INSERT. */
static const struct {
    const char *comma, *open;
} marks[] = { [DB_TEXT_DUMP] = { ",", "(" }, [DB_TEXT_AMBIQT] = { ", ", " (" } };

/* Only reading, what columns a table has, and the function that writes values as SQL. */
static int authorize(void *unused, int action, const char *a, const char *b, const char *db, const char *trigger)
{
    (void)unused, (void)db, (void)trigger;
    if (action == SQLITE_PRAGMA)
        return strcmp(a, "table_info") == 0 ? SQLITE_OK : SQLITE_DENY;
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

/* AMBIQT: a value stands on one line. */
static void put_cell(const struct writer *w, const char *cell)
{
    for (const char *p = cell; *p; p++)
        putc(*p == '\n' && w->form == DB_TEXT_AMBIQT ? ' ' : *p, w->out);
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
            fputs(i ? marks[w->form].comma : marks[w->form].open, w->out);
            put_cell(w, cell);
        }
        putc(')', w->out);
        if (too_long(w, err))
            return -1;
    }
    if (n)
        fputs(";\n", w->out);
    return rc == SQLITE_DONE ? 0 : failed(w, err);
}

char *db_text_ambiqt_name(const char *name)
{
    static const char *const words[] = { "index", "from", "group", "order", "transaction", "case", "join" };
    char *low = xstrdup(name), *quoted = NULL;
    bool quote = isdigit((unsigned char)*name) || strpbrk(name, "(%-");

    for (char *p = low; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    for (int i = 0; i < ARRAY_LEN(words); i++)
        quote = quote || strcmp(low, words[i]) == 0;
    for (char *p = low; *p && !quote; p++)
        if (*p == ' ')
            *p = '_';
    if (!quote)
        return low;
    CHECK(asprintf(&quoted, "\"%s\"", low) >= 0, "no memory for a name");
    free(low);
    return quoted;
}

/* As it is, or AMBIQT's. */
static char *name_of(const struct writer *w, const char *name)
{
    return w->form == DB_TEXT_AMBIQT ? db_text_ambiqt_name(name) : xstrdup(name);
}

/* The names of a table's columns; sqlite3_free. */
static char *column_names(const struct writer *w, const sqlite3_stmt *all, const char *comma)
{
    sqlite3_str *list = sqlite3_str_new(NULL);

    for (int i = 0; i < sqlite3_column_count((sqlite3_stmt *)all); i++) {
        char *name = name_of(w, sqlite3_column_name((sqlite3_stmt *)all, i));
        sqlite3_str_appendf(list, "%s%s", i ? comma : "", name);
        free(name);
    }
    char *text = sqlite3_str_finish(list);
    CHECK(text, "out of memory");
    return text;
}

/* What selects all of a table's cells, quoted; sqlite3_free. */
static char *quoted_cells(const sqlite3_stmt *all)
{
    sqlite3_str *list = sqlite3_str_new(NULL);

    for (int i = 0; i < sqlite3_column_count((sqlite3_stmt *)all); i++)
        sqlite3_str_appendf(list, "%squote(\"%w\")", i ? ", " : "", sqlite3_column_name((sqlite3_stmt *)all, i));
    char *text = sqlite3_str_finish(list);
    CHECK(text, "out of memory");
    return text;
}

/* "INSERT INTO table (columns) VALUES "; sqlite3_free. */
static char *insert_head(const struct writer *w, const char *table, const sqlite3_stmt *all)
{
    char *names = column_names(w, all, marks[w->form].comma), *name = name_of(w, table);
    char *head = sqlite3_mprintf(
        w->form == DB_TEXT_AMBIQT ? "INSERT INTO %s (%s) VALUES " : "INSERT INTO \"%w\" (%s) VALUES ", name, names);

    CHECK(head, "out of memory");
    free(name);
    sqlite3_free(names);
    return head;
}

static int put_inserts(struct writer *w, const char *table, const sqlite3_stmt *all, struct error *err)
{
    char *cells = quoted_cells(all), *head = insert_head(w, table, all);
    sqlite3_stmt *s =
        prepare(w, sqlite3_mprintf("SELECT %s FROM \"%w\" LIMIT %lld", cells, table, (long long)w->rows), err);
    int rc = s ? put_rows(w, head, s, err) : -1;

    sqlite3_finalize(s);
    sqlite3_free(head);
    sqlite3_free(cells);
    return rc;
}

/* One column of a definition; what stands before it; whether the key has it. */
static bool put_column(const struct writer *w, sqlite3_stmt *s, const char *before)
{
    enum { NAME = 1, TYPE, NOT_NULL, STANDARD, KEY };
    char *name = db_text_ambiqt_name((const char *)sqlite3_column_text(s, NAME));
    const char *standard = (const char *)sqlite3_column_text(s, STANDARD);

    fprintf(w->out, "%s    %s %s%s%s%s", before, name, (const char *)sqlite3_column_text(s, TYPE),
            sqlite3_column_int(s, NOT_NULL) ? " NOT NULL" : "", standard ? " DEFAULT " : "", standard ? standard : "");
    free(name);
    return sqlite3_column_int(s, KEY);
}

/* CREATE TABLE as AMBIQT has it. */
static int put_definition(const struct writer *w, const char *table, struct error *err)
{
    sqlite3_stmt *s = prepare(w, sqlite3_mprintf("PRAGMA table_info(\"%w\")", table), err);
    sqlite3_str *key = sqlite3_str_new(NULL);
    char *name = db_text_ambiqt_name(table);
    int rc = SQLITE_DONE;

    fprintf(w->out, "CREATE TABLE %s (\n", name);
    free(name);
    for (int n = 0; s && (rc = sqlite3_step(s)) == SQLITE_ROW; n++) {
        if (!put_column(w, s, n ? ",\n" : ""))
            continue;
        name = db_text_ambiqt_name((const char *)sqlite3_column_text(s, 1));
        sqlite3_str_appendf(key, "%s%s", sqlite3_str_length(key) ? ", " : "", name);
        free(name);
    }
    if (sqlite3_str_length(key))
        fprintf(w->out, ",\n    PRIMARY KEY (%s)", sqlite3_str_value(key));
    fputs("\n);\n", w->out);
    sqlite3_free(sqlite3_str_finish(key));
    rc = !s ? -1 : rc == SQLITE_DONE ? 0 : failed(w, err);
    sqlite3_finalize(s);
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
static int put_table(struct writer *w, const char *table, struct error *err)
{
    sqlite3_stmt *all = prepare(w, sqlite3_mprintf("SELECT * FROM \"%w\"", table), err);
    int rc = all ? 0 : -1;

    if (all && w->form == DB_TEXT_COMPACT)
        put_compact(w, table, all);
    else if (all)
        rc = put_inserts(w, table, all, err);
    sqlite3_finalize(all);
    return rc ? rc : too_long(w, err);
}

/* Steps through the tables; definitions: writes those instead. */
static int put_tables(struct writer *w, bool definitions, struct error *err)
{
    bool ambiqt = w->form == DB_TEXT_AMBIQT;
    const char *order = w->form == DB_TEXT_DUMP ? "name" : "rowid";
    sqlite3_stmt *s = prepare(w,
                              sqlite3_mprintf("SELECT name, sql FROM sqlite_master WHERE type = 'table' AND sql NOT "
                                              "NULL ORDER BY %s",
                                              order),
                              err);
    int rc = s ? 0 : -1, step = SQLITE_DONE, n = 0;

    while (rc == 0 && (step = sqlite3_step(s)) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(s, 0);
        if (strncmp(name, "sqlite_", 7) == 0) /* SQLite's own */
            continue;
        if (!definitions)
            rc = put_table(w, name, err);
        else if (ambiqt)
            rc = put_definition(w, name, err);
        else
            fprintf(w->out, "%s;\n", (const char *)sqlite3_column_text(s, 1));
        n++;
    }
    if (rc == 0 && step != SQLITE_DONE)
        rc = failed(w, err);
    if (rc == 0 && n == 0)
        rc = error_set(err, EXIT_CODE_DATA, "%s: no tables in it", w->path);
    sqlite3_finalize(s);
    return rc;
}

static int put_database(struct writer *w, struct error *err)
{
    if (w->form != DB_TEXT_COMPACT) {
        if (put_tables(w, true, err))
            return -1;
        putc('\n', w->out);
    }
    return put_tables(w, false, err);
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
    bool few = form == DB_TEXT_AMBIQT && rows < 0;
    struct writer w = { .path = path, .form = form, .rows = few ? DB_TEXT_AMBIQT_ROWS : rows, .steps = MAX_STEPS };
    int rc = sqlite_open_file(&w.db, path, MAX_CELL, err);

    w.out = open_memstream(&w.text, &w.size);
    CHECK(w.out, "out of memory");
    if (rc == 0) {
        sqlite3_set_authorizer(w.db, authorize, NULL);
        sqlite3_progress_handler(w.db, STEPS_PER_CHECK, count_steps, &w.steps);
        rc = put_database(&w, err);
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
