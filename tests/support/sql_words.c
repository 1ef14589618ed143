#include "tests/support/sql_words.h"

#include "tests/support/support.h"

#include "data/sql/sql_print.h"

#include <ctype.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {
    "order", "group",  "count", "max",   "select", "index",     "key",          "values",        "date",
    "from",  "where",  "case",  "end",   "min",    "sum",       "number",       "current_date",  "two words",
    "stat",  "status", "t1",    "t2",    "true",   "Größe",     "say \"when\"", "back`tick",     "half]bracket",
    "name",  "left",   "on",    "total", "as",     "max_count", "count_max",    "it's its name", "rowid",
};
static const char *const words[] = { "a", "A", "order", "count", "it''s", "name", "t1" };

static int below(struct words_database *w, int n)
{
    return (int)rng_below(&w->rng, (uint32_t)n);
}

/* The name between two marks, the second of which is doubled inside. */
static const char *between(struct words_database *w, char open, const char *name, char close)
{
    char text[128], *to = text;

    *to++ = open;
    for (; *name; name++) {
        if (*name == close)
            *to++ = close;
        *to++ = *name;
    }
    *to++ = close;
    *to = 0;
    return strings_keep(&w->text, text);
}

/* The name in one of the ways in which SQLite takes it, in capitals or not. */
static const char *written(struct words_database *w, const char *name)
{
    char text[64];
    int way = below(w, 5), upper = below(w, 4) == 0;

    snprintf(text, sizeof text, "%s", name);
    for (char *p = text; *p && upper; p++)
        *p = (char)toupper((unsigned char)*p);
    if (way < 2 && !sql_name_wants_quotes(name))
        return strings_keep(&w->text, text);
    if (way == 3)
        return between(w, '`', text, '`');
    if (way == 4 && !strchr(text, ']'))
        return strings_printf(&w->text, "[%s]", text);
    return between(w, '"', text, '"');
}

static bool has_name(const struct words_table *t, const char *name)
{
    for (int i = 0; i < t->n; i++)
        if (strcmp(t->columns[i], name) == 0)
            return true;
    return false;
}

static void draw_columns(struct words_database *w, struct words_table *t)
{
    int n = 3 + below(w, SQL_WORDS_COLUMNS - 2);

    while (t->n < n) {
        const char *name = names[below(w, ARRAY_LEN(names))];
        if (!has_name(t, name))
            t->columns[t->n++] = name;
    }
}

static bool has_table(const struct words_database *w, const char *name)
{
    for (int i = 0; i < w->n; i++)
        if (strcmp(w->tables[i].name, name) == 0)
            return true;
    return false;
}

/* "CREATE TABLE ...": a key of one column or of two, with NULLs or not, or none; keys of others. */
static void put_table(struct words_database *w, FILE *f, const struct words_table *t)
{
    static const char *const types[] = { "INTEGER", "TEXT", "TEXT COLLATE NOCASE", "REAL", "" };
    int key = below(w, 6);

    fprintf(f, "CREATE TABLE %s (", between(w, '"', t->name, '"'));
    for (int i = 0; i < t->n; i++) {
        const char *type = i == 0 && key < 3 ? "INTEGER PRIMARY KEY" : i == 0 && key == 3 ? "TEXT PRIMARY KEY" : NULL;
        fprintf(f, "%s%s %s", i ? ", " : "", between(w, '"', t->columns[i], '"'),
                type ? type : types[below(w, ARRAY_LEN(types))]);
    }
    if (key == 4)
        fprintf(f, ", PRIMARY KEY (%s, %s)", between(w, '"', t->columns[0], '"'), between(w, '"', t->columns[1], '"'));
    if (t > w->tables && below(w, 2))
        fprintf(f, ", FOREIGN KEY (%s) REFERENCES %s(%s)", between(w, '"', t->columns[2], '"'),
                between(w, '"', w->tables[0].name, '"'), between(w, '"', w->tables[0].columns[0], '"'));
    fprintf(f, ")%s;\n", key == 4 && below(w, 2) ? " WITHOUT ROWID" : "");
}

static const char *value(struct words_database *w)
{
    if (below(w, 8) == 0)
        return "NULL";
    if (below(w, 2))
        return strings_printf(&w->text, "'%s'", words[below(w, ARRAY_LEN(words))]);
    return strings_printf(&w->text, "%d", below(w, 6));
}

static void put_rows(struct words_database *w, FILE *f, const struct words_table *t)
{
    for (int row = 0; row < 9; row++) {
        fprintf(f, "INSERT OR IGNORE INTO %s VALUES (%d", between(w, '"', t->name, '"'), row);
        for (int i = 1; i < t->n; i++)
            fprintf(f, ", %s", value(w));
        fputs(");\n", f);
    }
    fprintf(f, "INSERT OR IGNORE INTO %s (%s) VALUES (NULL), (NULL);\n", between(w, '"', t->name, '"'),
            between(w, '"', t->columns[0], '"'));
}

static void run_script(const char *path, const char *script)
{
    sqlite3 *db = NULL;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    if (sqlite3_exec(db, script, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sqlite3_errmsg(db), script);
    sqlite3_close(db);
}

void sql_words_make(struct words_database *w, const char *path)
{
    char *script = NULL;
    size_t size;
    FILE *f = open_memstream(&script, &size);

    w->n = 0;
    for (int n = 2 + below(w, 2); w->n < n;) {
        struct words_table *t = &w->tables[w->n];
        *t = (struct words_table){ .name = names[below(w, ARRAY_LEN(names) - 1)] };
        if (has_table(w, t->name))
            continue;
        draw_columns(w, t);
        put_table(w, f, t);
        put_rows(w, f, t);
        w->n++;
    }
    fclose(f);
    run_script(path, script);
    free(script);
}

/* Queries. */

static const struct words_table *any(struct words_database *w)
{
    return &w->tables[below(w, w->n)];
}

static const char *column(struct words_database *w, const struct words_table *t)
{
    return written(w, t->columns[below(w, t->n)]);
}

/* A name of any kind, to be an alias. */
static const char *alias(struct words_database *w)
{
    return written(w, below(w, 2) ? any(w)->name : names[below(w, ARRAY_LEN(names))]);
}

static const char *condition(struct words_database *w, const struct words_table *t)
{
    const char *c = column(w, t);

    switch (below(w, 5)) {
    case 0:
        return "";
    case 1:
        return strings_printf(&w->text, " WHERE %s = '%s'", c, words[below(w, ARRAY_LEN(words))]);
    case 2:
        return strings_printf(&w->text, " WHERE %s = \"%s\"", c, words[below(w, 4)]);
    case 3:
        return strings_printf(&w->text, " WHERE %s > %d OR %s IS NULL", c, below(w, 4), column(w, t));
    default:
        return strings_printf(&w->text, " WHERE %s.%s != %d", written(w, t->name), c, below(w, 4));
    }
}

static const char *tail(struct words_database *w, const struct words_table *t)
{
    switch (below(w, 6)) {
    case 0:
        return strings_printf(&w->text, " ORDER BY %s DESC", column(w, t));
    case 1:
        return strings_printf(&w->text, " GROUP BY %s ORDER BY count(*), %s", column(w, t), column(w, t));
    case 2:
        return strings_printf(&w->text, " GROUP BY %s HAVING max(%s) > %d", column(w, t), column(w, t), below(w, 3));
    case 3:
        return strings_printf(&w->text, " GROUP BY 1 /* order by count(*) */ LIMIT 3");
    default:
        return "";
    }
}

static const char *term(struct words_database *w, const struct words_table *t)
{
    static const char *const calls[] = {
        "count(%s)", "max(%s)", "min (%s)", "sum(%s)", "avg(%s)", "count(DISTINCT %s)"
    };
    const char *call = calls[below(w, ARRAY_LEN(calls))], *gap = strstr(call, "%s"), *c = column(w, t);

    switch (below(w, 4)) {
    case 0:
        return strings_printf(&w->text, "%.*s%s%s", (int)(gap - call), call, c, gap + 2);
    case 1:
        return below(w, 3) ? c : "count(*)";
    default:
        return c;
    }
}

static const char *simple(struct words_database *w)
{
    const struct words_table *t = any(w);
    const char *list = term(w, t);

    for (int n = below(w, 3); n > 0; n--)
        list = strings_printf(&w->text, "%s, %s", list, term(w, t));
    return strings_printf(&w->text, "SELECT %s FROM %s%s%s", list, written(w, t->name), condition(w, t), tail(w, t));
}

static const char *joined(struct words_database *w)
{
    const struct words_table *t = any(w), *u = any(w);
    const char *a = alias(w), *b = alias(w);

    switch (below(w, 4)) {
    case 0:
        return strings_printf(&w->text, "SELECT %s FROM %s NATURAL JOIN %s", column(w, t), written(w, t->name),
                              written(w, u->name));
    case 1:
        return strings_printf(&w->text, "SELECT %s, %s FROM %s JOIN %s USING (%s)", column(w, t), column(w, u),
                              written(w, t->name), written(w, u->name), column(w, t));
    case 2:
        return strings_printf(&w->text, "SELECT max(%s.%s), %s.%s FROM %s AS %s, %s AS %s WHERE %s.%s = %s.%s", a,
                              column(w, t), b, column(w, u), written(w, t->name), a, written(w, u->name), b, a,
                              column(w, t), b, column(w, u));
    default:
        return strings_printf(&w->text, "SELECT %s.%s, %s FROM %s AS %s JOIN %s AS %s ON %s.%s = %s.%s%s", a,
                              column(w, t), column(w, u), written(w, t->name), a, written(w, u->name), b, a,
                              column(w, t), b, column(w, u), tail(w, t));
    }
}

static const char *nested(struct words_database *w)
{
    const struct words_table *t = any(w), *u = any(w);
    const char *a = alias(w), *b = alias(w), *c = column(w, t), *d = column(w, t);

    switch (below(w, 5)) {
    case 0:
        return strings_printf(&w->text, "SELECT %s, %s FROM %s WHERE %s IN (SELECT %s FROM %s%s)", c, d,
                              written(w, t->name), column(w, t), column(w, u), written(w, u->name), condition(w, u));
    case 1:
        return strings_printf(
            &w->text, "SELECT %s, %s FROM %s AS %s WHERE %s >= (SELECT avg(%s.%s) FROM %s AS %s WHERE %s.%s = %s.%s)",
            c, d, written(w, t->name), a, d, b, d, written(w, t->name), b, b, c, a, c);
    case 2:
        return strings_printf(&w->text, "SELECT %s, %s FROM %s WHERE EXISTS (SELECT 1 FROM %s WHERE %s = %s)", c, d,
                              written(w, t->name), written(w, u->name), column(w, u), column(w, t));
    case 3:
        return strings_printf(&w->text, "SELECT %s.%s FROM (SELECT %s, %s AS %s FROM %s%s) AS %s", a, c, c, d, b,
                              written(w, t->name), condition(w, t), a);
    default:
        return strings_printf(&w->text, "WITH %s AS (SELECT %s, %s FROM %s) SELECT %s, %s FROM %s", a, c, d,
                              written(w, t->name), c, d, a);
    }
}

static const char *other(struct words_database *w)
{
    const struct words_table *t = any(w), *u = any(w);
    const char *a = alias(w);

    switch (below(w, 5)) {
    case 0:
        return strings_printf(&w->text, "SELECT * FROM %s%s", written(w, t->name), condition(w, t));
    case 1:
        return strings_printf(&w->text, "SELECT %s.*, %s FROM %s", written(w, t->name), column(w, t),
                              written(w, t->name));
    case 2:
        return strings_printf(&w->text, "SELECT %s AS %s, %s FROM %s ORDER BY %s", column(w, t), a, column(w, t),
                              written(w, t->name), a);
    case 3:
        return strings_printf(&w->text, "SELECT %s FROM %s UNION SELECT %s FROM %s ORDER BY 1", column(w, t),
                              written(w, t->name), column(w, u), written(w, u->name));
    default:
        return strings_printf(&w->text, "SELECT %s -- %s\n, %s FROM %s EXCEPT SELECT %s, %s FROM %s;", column(w, t),
                              t->name, column(w, t), written(w, t->name), column(w, u), column(w, u),
                              written(w, u->name));
    }
}

const char *sql_words_query(struct words_database *w)
{
    static const char *(*const kinds[])(struct words_database *) = { simple, simple, joined, nested, other };
    return kinds[below(w, ARRAY_LEN(kinds))](w);
}
