#include "data/prompt/db_text.h"

#include "data/db/schema_sqlite.h"
#include "data/db/sqlite_exec.h"

#include <ctype.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct exec_limits limits = { .steps = 50000000, .rows = INT64_MAX, .bytes = 256 << 20, .seconds = 120 };

struct writer {
    struct exec_db *db;
    const char *path;
    struct schema_set set; /* the tables to show */
    enum db_text_form form;
    int64_t rows;     /* of each table */
    const char *said; /* NULL, or a text with the names of the tables to show */
    FILE *out;
    char *text;
    size_t size;
};

/* The separators of an INSERT. */
static const struct {
    const char *comma, *open;
} marks[] = { [DB_TEXT_DUMP] = { ",", "(" }, [DB_TEXT_AMBIQT] = { ", ", " (" } };

/* Runs SQL made by sqlite3_mprintf, and frees it. -1 with an error. The caller releases the result either way. */
static int run(struct writer *w, struct exec_result *r, char *sql, struct error *err)
{
    CHECK(sql, "out of memory");
    *r = exec_run(w->db, sql);
    sqlite3_free(sql);
    return r->status == EXEC_OK ? 0 : error_set(err, EXIT_CODE_DATA, "%s: %s", w->path, r->message);
}

/* A text cell, or NULL. */
static const char *text_at(const struct exec_result *r, int64_t row, int column)
{
    const struct cell *c = &r->cells[row * r->columns + column];
    return c->type == CELL_TEXT ? c->bytes : NULL;
}

static int too_long(const struct writer *w, struct error *err)
{
    if (ftello(w->out) <= DB_TEXT_MAX_BYTES)
        return 0;
    return error_set(err, EXIT_CODE_DATA, "%s: expected at most %d bytes as text; lower --rows", w->path,
                     DB_TEXT_MAX_BYTES);
}

/* AMBIQT writes a value on one line. */
static void put_cell(const struct writer *w, const char *cell)
{
    for (const char *p = cell; *p; p++)
        putc(*p == '\n' && w->form == DB_TEXT_AMBIQT ? ' ' : *p, w->out);
}

/* Writes "(1,'x'),(2,'y')" of quoted cells. */
static int put_rows(struct writer *w, const char *head, const struct exec_result *r, struct error *err)
{
    for (int64_t row = 0; row < r->n; row++) {
        fputs(row ? "," : head, w->out);
        for (int i = 0; i < r->columns; i++) {
            fputs(i ? marks[w->form].comma : marks[w->form].open, w->out);
            put_cell(w, text_at(r, row, i));
        }
        putc(')', w->out);
        if (too_long(w, err))
            return -1;
    }
    if (r->n)
        fputs(";\n", w->out);
    return 0;
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

/* The name, in the form of AMBIQT if selected. */
static char *name_of(const struct writer *w, const char *name)
{
    return w->form == DB_TEXT_AMBIQT ? db_text_ambiqt_name(name) : xstrdup(name);
}

/* The column names of a table; free with sqlite3_free. */
static char *column_names(const struct writer *w, const struct exec_result *all, const char *comma)
{
    sqlite3_str *list = sqlite3_str_new(NULL);

    for (int i = 0; i < all->columns; i++) {
        char *name = name_of(w, all->names[i]);
        sqlite3_str_appendf(list, "%s%s", i ? comma : "", name);
        free(name);
    }
    char *text = sqlite3_str_finish(list);
    CHECK(text, "out of memory");
    return text;
}

/* SQL that selects all cells of a table, quoted; free with sqlite3_free. */
static char *quoted_cells(const struct exec_result *all)
{
    sqlite3_str *list = sqlite3_str_new(NULL);

    for (int i = 0; i < all->columns; i++)
        sqlite3_str_appendf(list, "%squote(\"%w\")", i ? ", " : "", all->names[i]);
    char *text = sqlite3_str_finish(list);
    CHECK(text, "out of memory");
    return text;
}

/* "INSERT INTO table (columns) VALUES "; free with sqlite3_free. */
static char *insert_head(const struct writer *w, const char *table, const struct exec_result *all)
{
    char *names = column_names(w, all, marks[w->form].comma), *name = name_of(w, table);
    char *head = sqlite3_mprintf(
        w->form == DB_TEXT_AMBIQT ? "INSERT INTO %s (%s) VALUES " : "INSERT INTO \"%w\" (%s) VALUES ", name, names);

    CHECK(head, "out of memory");
    free(name);
    sqlite3_free(names);
    return head;
}

static int put_inserts(struct writer *w, const char *table, const struct exec_result *all, struct error *err)
{
    char *cells = quoted_cells(all), *head = insert_head(w, table, all);
    struct exec_result r;
    int rc = run(w, &r, sqlite3_mprintf("SELECT %s FROM \"%w\" LIMIT %lld", cells, table, (long long)w->rows), err);

    if (rc == 0)
        rc = put_rows(w, head, &r, err);
    exec_result_release(&r);
    sqlite3_free(head);
    sqlite3_free(cells);
    return rc;
}

/* Writes a column of a definition, from a row of pragma_table_xinfo. */
static void put_column(const struct writer *w, const struct exec_result *r, int64_t row)
{
    char *name = db_text_ambiqt_name(text_at(r, row, 0));
    const char *type = text_at(r, row, 1), *standard = text_at(r, row, 3);

    fprintf(w->out, "%s    %s %s%s%s%s", row ? ",\n" : "", name, type ? type : "",
            r->cells[row * r->columns + 2].integer ? " NOT NULL" : "", standard ? " DEFAULT " : "",
            standard ? standard : "");
    free(name);
}

/* Writes CREATE TABLE in the form of AMBIQT. */
static int put_definition(struct writer *w, const char *table, struct error *err)
{
    struct exec_result r;
    char *name = db_text_ambiqt_name(table);
    int keys = 0, rc = run(w, &r,
                           sqlite3_mprintf("SELECT name, type, \"notnull\", dflt_value, pk FROM pragma_table_xinfo(%Q) "
                                           "WHERE hidden = 0 ORDER BY cid",
                                           table),
                           err);

    fprintf(w->out, "CREATE TABLE %s (\n", name);
    free(name);
    for (int64_t row = 0; row < r.n; row++)
        put_column(w, &r, row);
    for (int64_t row = 0; row < r.n; row++)
        if (r.cells[row * r.columns + 4].integer) {
            name = db_text_ambiqt_name(text_at(&r, row, 0));
            fprintf(w->out, "%s%s", keys++ ? ", " : ",\n    PRIMARY KEY (", name);
            free(name);
        }
    fputs(keys ? ")\n);\n" : "\n);\n", w->out);
    exec_result_release(&r);
    return rc;
}

/* Writes a name as words: "born_state" becomes "born state". */
static void put_words(FILE *out, const char *name)
{
    for (; *name; name++)
        putc(*name == '_' ? ' ' : tolower((unsigned char)*name), out);
}

static void put_compact(struct writer *w, const char *table, const struct exec_result *all)
{
    if (ftello(w->out))
        putc('\n', w->out);
    put_words(w->out, table);
    for (int i = 0; i < all->columns; i++) {
        fputs(i ? ", " : ": ", w->out);
        put_words(w->out, all->names[i]);
    }
}

/* Writes a table, or in a dump its rows. A view has no rows, since nothing can be inserted into it. */
static int put_table(struct writer *w, const char *table, bool view, struct error *err)
{
    struct exec_result all;

    if (view && w->form != DB_TEXT_COMPACT)
        return 0;
    int rc = run(w, &all, sqlite3_mprintf("SELECT * FROM \"%w\" LIMIT 0", table), err);
    if (rc == 0 && w->form == DB_TEXT_COMPACT)
        put_compact(w, table, &all);
    else if (rc == 0)
        rc = put_inserts(w, table, &all, err);
    exec_result_release(&all);
    return rc ? rc : too_long(w, err);
}

/* Writes the table or view of a row; definitions: its CREATE instead. */
static int put_one(struct writer *w, const struct exec_result *tables, int64_t row, bool definitions, struct error *err)
{
    const char *name = text_at(tables, row, 0), *sql = text_at(tables, row, 1);
    const struct schema *s = w->set.schemas;
    int table = name && sql ? schema_table_find(s, name) : -1;

    if (table < 0 || (w->said && !strcasestr(w->said, name)))
        return 0;
    bool view = s->tables[table].form == TABLE_VIEW;
    if (!definitions)
        return put_table(w, name, view, err);
    if (w->form == DB_TEXT_AMBIQT && !view)
        return put_definition(w, name, err);
    fprintf(w->out, "%s;\n", sql);
    return 0;
}

static int put_tables(struct writer *w, bool definitions, struct error *err)
{
    const char *order = w->form == DB_TEXT_DUMP ? "type, name" : "rowid";
    struct exec_result r;
    int rc = run(
        w, &r,
        sqlite3_mprintf("SELECT name, sql FROM sqlite_schema WHERE type IN ('table', 'view') ORDER BY %s", order), err);

    for (int64_t row = 0; rc == 0 && row < r.n; row++)
        rc = put_one(w, &r, row, definitions, err);
    exec_result_release(&r);
    return rc;
}

static int put_database(struct writer *w, struct error *err)
{
    if (schema_set_open_sqlite(&w->set, w->path, false, err))
        return -1;
    if (w->form != DB_TEXT_COMPACT) {
        if (put_tables(w, true, err))
            return -1;
        putc('\n', w->out);
    }
    return put_tables(w, false, err);
}

/* The length of the UTF-8 sequence at s, or 0 if it is invalid. */
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
    return db_text_of(path, form, rows, NULL, err);
}

char *db_text_of(const char *path, enum db_text_form form, int64_t rows, const char *said, struct error *err)
{
    enum { ROW = 4 }; /* bytes of the shortest row, which bounds their number */
    bool few = form == DB_TEXT_AMBIQT && rows < 0, all = rows < 0 || rows > DB_TEXT_MAX_BYTES / ROW;
    struct writer w = { .db = exec_open_schema(path, &limits, err), .path = path, .form = form, .said = said };

    if (!w.db)
        return NULL;
    w.rows = few ? DB_TEXT_AMBIQT_ROWS : all ? DB_TEXT_MAX_BYTES / ROW + 1 : rows;
    w.out = open_memstream(&w.text, &w.size);
    CHECK(w.out, "out of memory");
    int rc = put_database(&w, err);
    CHECK(fclose(w.out) == 0, "out of memory");
    schema_set_close(&w.set);
    exec_close(w.db);
    if (rc) {
        free(w.text);
        return NULL;
    }
    drop_stray_bytes(w.text);
    return w.text;
}
