/* Part of materialise.h: the databases of "Disambiguate First, Parse Later": names in lower case, no foreign keys, five
 * rows of each table, every value of the second alternative changed, the new tables of J and P empty.
 */
#include "data/ambiguate/materialise_impl.h"
#include "data/prompt/db_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *sanitised(struct strings *text, const char *name)
{
    char *plain = db_text_ambiqt_name(name);
    const char *kept = strings_keep(text, plain);

    free(plain);
    return kept;
}

/* One table of the copy: what it is called, and what each of its columns is selected as. */
struct copy {
    struct target *t;
    const char *source; /* the table it is of */
    const char *columns, *values, *key;
};

static const char *comma(const char *list)
{
    return *list ? ", " : "";
}

/* The value itself, or another one; NULL becomes "" or 0 by the type of the table's last column. */
static const char *value_of(struct target *t, const char *column, bool is_changed, bool text_table)
{
    char *sql = is_changed
                    ? sqlite3_mprintf("CASE typeof(\"%w\") WHEN 'text' THEN replace(\"%w\", char(10), ' ') || '_' "
                                      "WHEN 'null' THEN %s WHEN 'blob' THEN \"%w\" ELSE \"%w\" + 1 END",
                                      column, column, text_table ? "''" : "0", column, column)
                    : sqlite3_mprintf("CASE typeof(\"%w\") WHEN 'text' THEN replace(\"%w\", char(10), ' ') "
                                      "ELSE \"%w\" END",
                                      column, column, column);
    CHECK(sql, "cannot format %s", column);
    const char *kept = strings_keep(&t->text, sql);
    sqlite3_free(sql);
    return kept;
}

static void add_column(struct copy *c, const struct target_column *column, const char *name, bool is_changed,
                       bool text_table)
{
    struct strings *text = &c->t->text;
    const char *plain = sanitised(text, name), *standard = column->standard;

    c->columns =
        strings_printf(text, "%s%s%s %s%s%s%s", c->columns, comma(c->columns), plain, column->type,
                       column->not_null ? " NOT NULL" : "", standard ? " DEFAULT " : "", standard ? standard : "");
    c->values = strings_printf(text, "%s%s%s", c->values, comma(c->values),
                               value_of(c->t, column->name, is_changed, text_table));
    if (column->primary)
        c->key = strings_printf(text, "%s%s%s", c->key, comma(c->key), plain);
}

static int write_copy(const struct copy *c, const char *name, struct error *err)
{
    const char *key = *c->key ? strings_printf(&c->t->text, ", PRIMARY KEY (%s)", c->key) : "";
    const char *plain = sanitised(&c->t->text, name);

    return target_run(c->t, err, "CREATE TABLE %s (%s%s); INSERT INTO %s SELECT %s FROM source.\"%w\" LIMIT %d", plain,
                      c->columns, key, plain, c->values, c->source, (int)DB_TEXT_AMBIQT_ROWS);
}

/* Lower-case substrings only: TEXT in capitals counts as a number. */
static bool last_is_text(const struct target_column *columns, int n)
{
    const char *type = columns[n - 1].type;
    return strstr(type, "text") || strstr(type, "char") || strstr(type, "clob");
}

/* A table under some name; all_changed: every value is another. */
static int copy_table(struct target *t, const struct ambiqt_record *r, const char *table, const char *name,
                      bool all_changed, struct error *err)
{
    struct target_column columns[TARGET_MAX_COLUMNS];
    int n = target_columns(t, columns, TARGET_MAX_COLUMNS, "source", table);
    bool here = r->kind == SIA_COLUMN && strcasecmp(table, r->table) == 0, text = n > 0 && last_is_text(columns, n);
    struct copy c = { .t = t, .source = table, .columns = "", .values = "", .key = "" };

    for (int i = 0; i < n; i++) {
        if (!here || strcasecmp(columns[i].name, r->column) != 0) {
            add_column(&c, &columns[i], columns[i].name, all_changed, text);
            continue;
        }
        add_column(&c, &columns[i], r->names[0], false, text);
        add_column(&c, &columns[i], r->names[1], true, text);
    }
    return write_copy(&c, name, err);
}

static int copy_record_table(struct target *t, const struct ambiqt_record *r, const char *table, struct error *err)
{
    if (r->kind != SIA_TABLE || strcasecmp(table, r->table) != 0)
        return copy_table(t, r, table, table, false, err);
    if (copy_table(t, r, table, r->names[0], false, err))
        return -1;
    return copy_table(t, r, table, r->names[1], true, err);
}

/* The columns that the schema text lists for a table, tails of values included, each with a type. */
static const char *listed_columns(struct target *t, const char *schema_text, const char *table, const char *type)
{
    const char *columns = "";
    char *copy = xstrdup(schema_text), *tables = NULL, *parts = NULL;

    for (char *p = strtok_r(copy, "|", &tables); p; p = strtok_r(NULL, "|", &tables)) {
        char *colon = strstr(p, " : ");
        p += strspn(p, " ");
        if (!colon || (size_t)(colon - p) != strlen(table) || strncmp(p, table, strlen(table)) != 0)
            continue;
        for (char *c = strtok_r(colon + 3, ",", &parts); c; c = strtok_r(NULL, ",", &parts)) {
            c += strspn(c, " ");
            size_t n = strlen(c);
            while (n && c[n - 1] == ' ')
                c[--n] = 0;
            columns = strings_printf(&t->text, "%s%s%s %s", columns, comma(columns), sanitised(&t->text, c), type);
        }
        break;
    }
    free(copy);
    return columns;
}

/* The new table of J or P, without rows. */
static int add_new_table(struct target *t, const struct ambiguity *a, const char *schema_text, struct error *err)
{
    const struct ambiqt_record *r = &a->record;
    const char *columns = listed_columns(t, schema_text, r->new_table, r->kind == SIA_JOIN ? "TEXT" : "REAL");

    return target_run(t, err, "CREATE TABLE %s (%s)", sanitised(&t->text, r->new_table), columns);
}

int materialise_published(struct target *t, const struct ambiguity *a, const char *schema_text, struct error *err)
{
    const struct ambiqt_record *r = &a->record;
    const char *count = target_value(t, "SELECT count(*) FROM source.sqlite_master WHERE type = 'table'");
    int n = count ? (int)strtol(count, NULL, 10) : 0;

    for (int i = 0; i < n; i++) {
        const char *table = target_value(
            t, "SELECT name FROM source.sqlite_master WHERE type = 'table' ORDER BY rowid LIMIT 1 OFFSET %d", i);
        if (strncmp(table, "sqlite_", 7) != 0 && copy_record_table(t, r, table, err))
            return -1;
    }
    return r->kind == SIA_JOIN || r->kind == SIA_AGGREGATE ? add_new_table(t, a, schema_text, err) : 0;
}

const char *materialise_published_filter(const struct ambiguity *a, const struct materialised *m)
{
    bool new_table = a->record.kind == SIA_JOIN || a->record.kind == SIA_AGGREGATE;

    /* the published reader takes the kind from the database's name, which these have two marks of */
    if (new_table && (strstr(m->file, "_column_") || strstr(m->file, "_table_")))
        return "lost";
    if (m->state == MATERIALISED_FAILED)
        return "error";
    if (!new_table && (m->empty[0] || m->empty[1]))
        return "empty";
    return m->same_in_order ? "identical" : NULL;
}
