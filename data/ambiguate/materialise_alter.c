/* Part of materialise.h: makes the alternatives in a copy of a record's database. */
#include "data/ambiguate/materialise_impl.h"

#include "data/sql/sql_create.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* A value that is another one, whatever its type: NULL as text or number would be too. */
static const char *changed(struct target *t, const char *column)
{
    char *sql = sqlite3_mprintf("CASE typeof(\"%w\") WHEN 'text' THEN \"%w\" || '_' WHEN 'null' THEN NULL "
                                "WHEN 'blob' THEN \"%w\" ELSE \"%w\" + 1 END",
                                column, column, column, column);
    CHECK(sql, "cannot format %s", column);
    const char *kept = strings_keep(&t->text, sql);
    sqlite3_free(sql);
    return kept;
}

/* Rows that have a rowid, as SQL: where they stand, and the rowid of the row of the altered table itself. */
struct row_source {
    const char *from, *self;
};

/* A copy with rowids of a table WITHOUT ROWID, in the order of its primary key. */
static int copy_rows(struct target *t, const char *table, struct row_source *rows, struct error *err)
{
    struct target_column columns[TARGET_MAX_COLUMNS];
    int n = target_columns(t, columns, TARGET_MAX_COLUMNS, "main", table);
    const char *key = "", *same = "";

    for (int i = 0; i < n; i++)
        if (columns[i].primary) {
            char *name = sqlite3_mprintf("\"%w\"", columns[i].name);
            char *equal = sqlite3_mprintf("k.%s = main.\"%w\".%s", name, table, name);
            key = strings_printf(&t->text, "%s%s%s", key, *key ? ", " : "", name);
            same = strings_printf(&t->text, "%s%s%s", same, *same ? " AND " : "", equal);
            sqlite3_free(equal);
            sqlite3_free(name);
        }
    rows->from = "temp.keyed";
    rows->self = strings_printf(&t->text, "(SELECT k.rowid FROM temp.keyed AS k WHERE %s)", same);
    return target_run(t, err,
                      "DROP TABLE IF EXISTS temp.keyed; CREATE TEMP TABLE keyed AS SELECT * FROM main.\"%w\" "
                      "ORDER BY %s; CREATE UNIQUE INDEX temp.by_key ON keyed(%s)",
                      table, key, key);
}

static int find_rows(struct target *t, const char *table, struct row_source *rows, struct error *err)
{
    char module[SQL_CREATE_MODULE], *name = sqlite3_mprintf("main.\"%w\"", table);
    const char *sql =
        target_value(t, "SELECT sql FROM main.sqlite_schema WHERE type = 'table' AND name = %Q COLLATE NOCASE", table);

    rows->from = strings_keep(&t->text, name);
    rows->self = strings_printf(&t->text, "%s.rowid", name);
    sqlite3_free(name);
    return sql && sql_create_form(sql, module) == TABLE_WITHOUT_ROWID ? copy_rows(t, table, rows, err) : 0;
}

/* Numbers the rows of a table from 0, and gives each a partner in the temporary table "partner": two neighbours have
 * the same, so that half of the rows are a partner and counts of distinct values change too. */
static int number_rows(struct target *t, const char *table, struct row_source *rows, struct error *err)
{
    const char *count = target_value(t, "SELECT count(*) FROM \"%w\"", table);
    long long n = count ? strtoll(count, NULL, 10) : 0;
    long long shift = n > 1 ? 1 + (long long)(t->seed % (uint64_t)(n - 1)) : 0;

    if (find_rows(t, table, rows, err))
        return -1;
    return target_run(t, err,
                      "DROP TABLE IF EXISTS temp.numbered; DROP TABLE IF EXISTS temp.partner;"
                      "CREATE TEMP TABLE numbered AS SELECT rowid AS id, row_number() OVER (ORDER BY rowid) - 1 AS i "
                      "FROM %s;"
                      "CREATE UNIQUE INDEX temp.by_i ON numbered(i);"
                      "CREATE TEMP TABLE partner(id INTEGER PRIMARY KEY, i INTEGER, other INTEGER);"
                      "INSERT INTO partner SELECT a.id, a.i, b.id FROM numbered AS a JOIN numbered AS b "
                      "ON b.i = (a.i / 2 + %lld) %% max(%lld, 1)",
                      rows->from, shift, n);
}

static int fill_second_column(struct target *t, const struct ambiqt_record *r, enum second_values second,
                              struct error *err)
{
    struct row_source rows;

    if (second == SECOND_CHANGED)
        return target_run(t, err, "UPDATE \"%w\" SET \"%w\" = %s", r->table, r->names[1], changed(t, r->names[0]));
    if (number_rows(t, r->table, &rows, err))
        return -1;
    return target_run(t, err,
                      "UPDATE main.\"%w\" SET \"%w\" = (SELECT o.\"%w\" FROM partner AS p JOIN %s AS o "
                      "ON o.rowid = p.other WHERE p.id = %s)",
                      r->table, r->names[1], r->names[0], rows.from, rows.self);
}

static int double_column(struct target *t, const struct ambiqt_record *r, enum second_values second, struct error *err)
{
    struct target_column columns[TARGET_MAX_COLUMNS];
    int n = target_columns(t, columns, TARGET_MAX_COLUMNS, "main", r->table), at = 0;

    while (at < n && strcasecmp(columns[at].name, r->column) != 0)
        at++;
    if (at == n)
        return error_set(err, EXIT_CODE_DATA, "%s: no column %s.%s", t->path, r->table, r->column);
    if (target_run(t, err, "ALTER TABLE \"%w\" RENAME COLUMN \"%w\" TO \"%w\"", r->table, r->column, r->names[0]) ||
        target_run(t, err, "ALTER TABLE \"%w\" ADD COLUMN \"%w\" %s COLLATE \"%w\"", r->table, r->names[1],
                   columns[at].type, columns[at].collation))
        return -1;
    return fill_second_column(t, r, second, err);
}

/* One more column behind the list of definitions; t keeps it. */
static const char *define(struct target *t, const char *list, const struct target_column *column)
{
    char *one =
        sqlite3_mprintf("%s\"%w\" %s COLLATE \"%w\"", *list ? ", " : "", column->name, column->type, column->collation);

    list = strings_printf(&t->text, "%s%s", list, one);
    sqlite3_free(one);
    return list;
}

/* The definition of columns for CREATE TABLE; t keeps it. */
static const char *definition(struct target *t, const struct target_column *columns, int n)
{
    const char *text = "", *key = "";

    for (int i = 0; i < n; i++)
        text = define(t, text, &columns[i]);
    for (int place = 1; place <= n; place++)
        for (int i = 0; i < n; i++)
            if (columns[i].primary == place) {
                char *one = sqlite3_mprintf("%s\"%w\"", *key ? ", " : "", columns[i].name);
                key = strings_printf(&t->text, "%s%s", key, one);
                sqlite3_free(one);
            }
    return *key ? strings_printf(&t->text, "%s, PRIMARY KEY (%s)", text, key) : text;
}

/* What each column of the second table is selected as: from the row itself (o), or from its partner (p). */
static const char *second_columns(struct target *t, const struct ambiqt_record *r, const struct schema *s,
                                  enum second_values second, const struct target_column *columns, int n)
{
    int table = schema_table_find(s, r->table);
    const char *list = "";

    for (int i = 0; i < n; i++) {
        int c = schema_column_find(s, table, columns[i].name);
        bool key = columns[i].primary || (c >= 0 && schema_column_is_key(s, c));
        char *one;
        if (second == SECOND_CHANGED)
            one = sqlite3_mprintf("%s", changed(t, columns[i].name));
        else
            one = sqlite3_mprintf("%s.\"%w\"", key ? "o" : "p", columns[i].name);
        list = strings_printf(&t->text, "%s%s%s", list, i ? ", " : "", one);
        sqlite3_free(one);
    }
    return list;
}

static int double_table(struct target *t, const struct ambiqt_record *r, const struct schema *s,
                        enum second_values second, struct error *err)
{
    struct target_column columns[TARGET_MAX_COLUMNS];
    int n = target_columns(t, columns, TARGET_MAX_COLUMNS, "main", r->table);

    if (n == 0)
        return error_set(err, EXIT_CODE_DATA, "%s: no table %s", t->path, r->table);
    const char *list = second_columns(t, r, s, second, columns, n);
    if (target_run(t, err, "ALTER TABLE \"%w\" RENAME TO \"%w\"; CREATE TABLE \"%w\" (%s)", r->table, r->names[0],
                   r->names[1], definition(t, columns, n)))
        return -1;
    if (second == SECOND_CHANGED)
        return target_run(t, err, "INSERT INTO \"%w\" SELECT %s FROM \"%w\"", r->names[1], list, r->names[0]);
    struct row_source rows;
    if (number_rows(t, r->names[0], &rows, err))
        return -1;
    return target_run(t, err,
                      "INSERT INTO main.\"%w\" SELECT %s FROM partner JOIN %s AS o ON o.rowid = partner.id "
                      "JOIN %s AS p ON p.rowid = partner.other WHERE (partner.i + %d) %% 3 != 0",
                      r->names[1], list, rows.from, rows.from, (int)(t->seed % 3));
}

/* The new table's columns compare as those of its parent do. */
static int split_table(struct target *t, const struct ambiqt_record *r, struct error *err)
{
    struct target_column columns[TARGET_MAX_COLUMNS];
    int n = target_columns(t, columns, TARGET_MAX_COLUMNS, "main", r->table);
    const char *list = "", *const names[] = { r->key, r->column };

    for (int k = 0; k < ARRAY_LEN(names); k++)
        for (int i = 0; i < n; i++)
            if (strcasecmp(columns[i].name, names[k]) == 0)
                list = define(t, list, &columns[i]);
    return target_run(t, err,
                      "CREATE TABLE \"%w\" (%s); INSERT INTO \"%w\" (\"%w\", \"%w\") SELECT DISTINCT \"%w\", \"%w\" "
                      "FROM \"%w\"",
                      r->new_table, list, r->new_table, r->key, r->column, r->key, r->column, r->table);
}

/* The table anew without a column that ALTER TABLE cannot drop: one of a key, of an index or of a check.  The legacy
 * way of renaming lets views and triggers stand that name the table while it is away. */
static int rebuild_without(struct target *t, const char *table, const char *column, struct error *err)
{
    struct target_column columns[TARGET_MAX_COLUMNS];
    int n = target_columns(t, columns, TARGET_MAX_COLUMNS, "main", table), left = 0;
    const char *list = "";
    bool keyed = false;

    for (int i = 0; i < n; i++)
        if (strcasecmp(columns[i].name, column) == 0)
            keyed = columns[i].primary;
        else {
            char *name = sqlite3_mprintf("%s\"%w\"", left ? ", " : "", columns[i].name);
            list = strings_printf(&t->text, "%s%s", list, name);
            sqlite3_free(name);
            columns[left++] = columns[i];
        }
    for (int i = 0; i < left && keyed; i++) /* what is left of the key is none */
        columns[i].primary = 0;
    if (left == n || left == 0)
        return error_set(err, EXIT_CODE_DATA, "%s: %s cannot do without the column %s", t->path, table, column);
    return target_run(t, err,
                      "CREATE TABLE \"ambit rebuilt\" (%s); INSERT INTO \"ambit rebuilt\" SELECT %s FROM \"%w\"; "
                      "DROP TABLE \"%w\"; PRAGMA legacy_alter_table = ON; "
                      "ALTER TABLE \"ambit rebuilt\" RENAME TO \"%w\"; PRAGMA legacy_alter_table = OFF",
                      definition(t, columns, left), list, table, table, table);
}

static int drop_column(struct target *t, const struct ambiqt_record *r, struct error *err)
{
    struct error why = { 0 };

    if (target_run(t, &why, "ALTER TABLE \"%w\" DROP COLUMN \"%w\"", r->table, r->column) == 0)
        return 0;
    return rebuild_without(t, r->table, r->column, err);
}

int materialise_alter(struct target *t, const struct ambiguity *a, const struct schema *s, enum second_values second,
                      struct error *err)
{
    if (a->kind == AMBIGUITY_DELETED)
        return drop_column(t, &a->record, err);
    if (a->stored_rows && a->record.kind == SIA_AGGREGATE)
        return target_run(t, err, "CREATE TABLE \"%w\" AS %s", a->record.new_table, a->stored_rows);
    switch (a->record.kind) {
    case SIA_COLUMN:
        return double_column(t, &a->record, second, err);
    case SIA_TABLE:
        return double_table(t, &a->record, s, second, err);
    case SIA_JOIN:
        return split_table(t, &a->record, err);
    default:
        return target_run(t, err, "CREATE TABLE \"%w\" AS %s", a->record.new_table, materialise_aggregate(t, a, s));
    }
}
