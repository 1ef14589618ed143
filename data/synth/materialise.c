#include "data/synth/materialise.h"

#include "data/db/db_path.h"
#include "data/db/result_match.h"
#include "data/eval/score.h"
#include "data/prompt/db_text.h"
#include "data/sql/sql_create.h"
#include "data/sql/sql_lex.h"
#include "data/sqlite/sqlite_open.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* The two ways to fill the second alternative of C and T. */
enum second_values { SECOND_OF_OTHER_ROWS, SECOND_CHANGED, SECOND_WAYS };

struct target {
    sqlite3 *db;
    const char *path; /* for messages */
    uint64_t seed;
    struct strings text;
};

/* A column as described by PRAGMA table_info. */
struct target_column {
    const char *name, *type;
    const char *collation;     /* "BINARY" unless declared otherwise */
    const char *default_value; /* the DEFAULT expression, or NULL */
    bool not_null;
    int primary; /* position in the primary key from 1, or 0 */
};

enum { TARGET_MAX_COLUMNS = 512 };

/* Statements on the altered database. */

static int failed(const struct target *t, struct error *err)
{
    return error_set(err, EXIT_CODE_DATA, "%s: %s", t->path, sqlite3_errmsg(t->db));
}

/* Formats as sqlite3_mprintf does (%w inside double quotes, %Q for a value) and runs the statements. Returns -1 with
 * SQLite's message. */
static int target_run(struct target *t, struct error *err, const char *fmt, ...)
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

/* Opens path. With create, the file must not hold a database yet. Triggers and other features of untrusted files are
 * disabled. */
static int target_open(struct target *t, const char *path, bool create, uint64_t seed, struct error *err)
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

static void target_close(struct target *t)
{
    sqlite3_close(t->db);
    strings_release(&t->text);
    *t = (struct target){ 0 };
}

/* Returns the first value of the first row as text that t keeps, or NULL without a row. */
static const char *target_value(struct target *t, const char *fmt, ...)
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

/* Returns a declared type of words and numbers. Any other text of an untrusted file counts as no type. */
static const char *plain_type(const char *type)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_ (),+-";
    return strspn(type, plain) == strlen(type) ? type : "";
}

/* Returns the collation of a column. t keeps it. */
static const char *collation_of(struct target *t, const char *database, const char *table, const char *column)
{
    const char *type = NULL, *collation = NULL;
    int not_null, primary, counts;

    int rc =
        sqlite3_table_column_metadata(t->db, database, table, column, &type, &collation, &not_null, &primary, &counts);
    return strings_keep(&t->text, rc == SQLITE_OK && collation ? collation : "BINARY");
}

/* Lists the columns of a table of this database or of an attached one. t keeps them. Returns their number, or 0 if
 * there is no such table. */
static int target_columns(struct target *t, struct target_column *columns, int max, const char *database,
                          const char *table)
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
                .default_value = standard ? strings_keep(&t->text, standard) : NULL,
                .not_null = sqlite3_column_int(stmt, 2) != 0,
                .primary = sqlite3_column_int(stmt, 4),
            };
        }
    }
    sqlite3_finalize(stmt);
    return n;
}

/* Type P: the rows of the new table, which are the aggregates for each value of the columns that the query groups or
 * filters by. A column is used only if the second interpretation can name it. */

enum { MAX_GROUPS = 64 };

struct aggregate_groups {
    struct target *t;
    const struct ambiguity *a;
    const struct schema *s;
    struct ambiqt_words words; /* the words of the original query */
    const char *names[MAX_GROUPS];
    int n;
};

/* Returns a column as the original query writes it, with its alias if it has one. */
static const char *reference(const struct aggregate_groups *g, const char *name)
{
    for (int i = 0; i < g->words.n; i++)
        if (ambiqt_has_alias(g->words.items[i]) && strcasecmp(g->words.items[i] + 3, name) == 0)
            return strings_keep(&g->t->text, g->words.items[i]);
    char *quoted = sqlite3_mprintf("\"%w\"", name);
    const char *kept = strings_keep(&g->t->text, quoted);
    sqlite3_free(quoted);
    return kept;
}

static bool is_column(const struct aggregate_groups *g, const char *name)
{
    int t, n = g->a->one_table ? 1 : g->a->n_tables;
    for (int i = 0; i < n; i++) {
        t = schema_table_find(g->s, g->a->one_table ? g->a->record.table : g->a->tables[i]);
        if (t >= 0 && schema_column_find(g->s, t, name) >= 0)
            return true;
    }
    return false;
}

static void add_group(struct aggregate_groups *g, const char *name)
{
    for (int i = 0; i < g->n; i++)
        if (strcasecmp(g->names[i], name) == 0)
            return;
    if (g->n < MAX_GROUPS)
        g->names[g->n++] = strings_keep(&g->t->text, name);
}

/* Adds every column that the SQL text names outside quotes. */
static void add_groups_of(struct aggregate_groups *g, const char *sql)
{
    int n = 0;
    struct sql_token *tokens = sql ? sql_lex(sql, &n) : NULL;

    for (int i = 0; i < n; i++) {
        bool word = tokens[i].kind == TOKEN_NAME || tokens[i].kind >= TOKEN_KEYWORD;
        if (!word || strchr("\"`[", sql[tokens[i].begin]))
            continue;
        const char *name = strings_printf(&g->t->text, "%.*s", tokens[i].end - tokens[i].begin, sql + tokens[i].begin);
        if (is_column(g, name))
            add_group(g, name);
    }
    free(tokens);
}

/* Returns the text between the first FROM and the next clause. */
static const char *from_clause(const struct aggregate_groups *g)
{
    static const char *const clauses[] = { " where ", " group by ", " having ", " order by ", " limit " };
    const char *from = strstr(g->a->record.original, " from ") + strlen(" from "), *end = from + strlen(from);

    for (int i = 0; i < ARRAY_LEN(clauses); i++) {
        const char *p = strstr(from, clauses[i]);
        if (p && p < end)
            end = p;
    }
    return strings_printf(&g->t->text, "%.*s", (int)(end - from), from);
}

static bool interpretation_names(const struct ambiguity *a, const char *name)
{
    struct ambiqt_words w;
    ambiqt_words_split(&w, a->record.interpretations[1]);
    bool found = ambiqt_words_find(&w, name) >= 0;
    ambiqt_words_release(&w);
    return found;
}

static const char *append(struct aggregate_groups *g, const char *list, const char *expression, const char *name)
{
    char *one = sqlite3_mprintf("%s%s AS \"%w\"", *list ? ", " : "", expression, name);
    list = strings_printf(&g->t->text, "%s%s", list, one);
    sqlite3_free(one);
    return list;
}

static const char *append_aggregates(struct aggregate_groups *g, const char *list, const char *column)
{
    static const char *const functions[] = { "sum", "avg", "min", "max", "count" };
    const char *from = reference(g, column);

    for (int i = 0; i < ARRAY_LEN(functions); i++) {
        const char *name = strings_printf(&g->t->text, "%s_%s", functions[i], column);
        if (i < 4 || interpretation_names(g->a, name))
            list = append(g, list, strings_printf(&g->t->text, "%s(%s)", functions[i], from), name);
    }
    return list;
}

/* Returns all columns of the new table in the form of the validation file. */
static const char *stored_columns(struct aggregate_groups *g)
{
    const struct ambiguity *a = g->a;
    const char *list = "";

    for (int i = 0; i < g->n; i++)
        list = append(g, list, reference(g, g->names[i]), g->names[i]);
    if (a->number)
        list = append(g, list, "count(*)", "number");
    for (int i = a->n_plain + a->number; i < a->n_stored; i++)
        list = append_aggregates(g, list, a->stored[i]);
    return list;
}

/* Returns them in the form of the training file: the table's other columns, the aggregated column if the interpretation
 * names it, then its four aggregates. */
static const char *one_table_columns(struct aggregate_groups *g)
{
    static const char *const functions[] = { "max", "min", "avg", "sum" };
    const struct ambiqt_record *r = &g->a->record;
    const struct schema_table *table = &g->s->tables[schema_table_find(g->s, r->table)];
    const char *list = "", *column = reference(g, r->column);

    for (int c = table->first_column; c < table->first_column + table->n_columns; c++)
        if (strcasecmp(g->s->columns[c].name, r->column) != 0 || interpretation_names(g->a, r->column))
            list = append(g, list, reference(g, g->s->columns[c].name), g->s->columns[c].name);
    for (int i = 0; i < r->n_new_columns; i++)
        list = append(g, list, strings_printf(&g->t->text, "%s(%s)", functions[i], column), r->new_columns[i]);
    return list;
}

/* Returns a SELECT for the rows of the new table of type P. t keeps it. */
static const char *materialise_aggregate(struct target *t, const struct ambiguity *a, const struct schema *s)
{
    struct aggregate_groups g = { .t = t, .a = a, .s = s };
    const char *original = a->record.original, *groups = "";

    ambiqt_words_split(&g.words, original);
    for (int i = 0; i < a->n_plain; i++)
        add_group(&g, a->stored[i]);
    add_groups_of(&g, a->one_table ? strstr(original, " from ") : strstr(a->record.interpretations[1], " where "));
    add_groups_of(&g, strstr(original, " group by "));
    for (int i = 0; i < g.n; i++)
        groups = strings_printf(&t->text, "%s%s%s", groups, i ? ", " : " GROUP BY ", reference(&g, g.names[i]));
    const char *list = a->one_table ? one_table_columns(&g) : stored_columns(&g);
    const char *sql = strings_printf(&t->text, "SELECT %s FROM %s%s", list, from_clause(&g), groups);
    ambiqt_words_release(&g.words);
    return sql;
}

/* Alterations of a copy of the record's database. */

/* Returns an expression for a different value of any type. NULL becomes a value too. */
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

/* A source of rows with a rowid, as SQL: its FROM text, and the rowid of the row in the altered table. */
struct row_source {
    const char *from, *self;
};

/* Copies a table WITHOUT ROWID into one with rowids, in the order of its primary key. */
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

/* Numbers the rows of a table from 0. The temporary table "partner" gives each row a partner: two neighbours share one.
 * So half of the rows are partners, and counts of distinct values change too. */
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
        return error_set(err, EXIT_CODE_DATA, "%s: expected a column %s.%s, got none", t->path, r->table, r->column);
    if (target_run(t, err, "ALTER TABLE \"%w\" RENAME COLUMN \"%w\" TO \"%w\"", r->table, r->column, r->names[0]) ||
        target_run(t, err, "ALTER TABLE \"%w\" ADD COLUMN \"%w\" %s COLLATE \"%w\"", r->table, r->names[1],
                   columns[at].type, columns[at].collation))
        return -1;
    return fill_second_column(t, r, second, err);
}

/* Appends a column to the list of definitions. t keeps it. */
static const char *define(struct target *t, const char *list, const struct target_column *column)
{
    char *one =
        sqlite3_mprintf("%s\"%w\" %s COLLATE \"%w\"", *list ? ", " : "", column->name, column->type, column->collation);

    list = strings_printf(&t->text, "%s%s", list, one);
    sqlite3_free(one);
    return list;
}

/* Returns the column definitions for CREATE TABLE. t keeps them. */
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

/* Returns the SELECT list of the second table: each column comes from the row itself (o) or from its partner (p). */
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
        return error_set(err, EXIT_CODE_DATA, "%s: expected a table %s, got none", t->path, r->table);
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

/* The new table's columns have the collations of the parent's. */
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

/* Rebuilds a table without a column that ALTER TABLE cannot drop: one of a key, an index or a check. Legacy renaming
 * keeps views and triggers valid that name the table in between. */
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
    for (int i = 0; i < left && keyed; i++) /* the remaining key columns are no key */
        columns[i].primary = 0;
    if (left == n || left == 0)
        return error_set(err, EXIT_CODE_DATA, "%s: cannot delete column %s.%s: it is missing or the only one", t->path,
                         table, column);
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

/* Alters a copy of the record's database in place. */
static int materialise_alter(struct target *t, const struct ambiguity *a, const struct schema *s,
                             enum second_values second, struct error *err)
{
    if (a->type == AMBIGUITY_DELETED)
        return drop_column(t, &a->record, err);
    if (a->stored_rows && a->record.type == SIA_AGGREGATE)
        return target_run(t, err, "CREATE TABLE \"%w\" AS %s", a->record.new_table, a->stored_rows);
    switch (a->record.type) {
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

/* The databases of "Disambiguate First, Parse Later" (DFPL): lower-case names, no foreign keys, five rows of each
 * table. Every value of the second alternative is changed, and the new tables of J and P are empty. */

static const char *sanitised(struct strings *text, const char *name)
{
    char *plain = db_text_ambiqt_name(name);
    const char *kept = strings_keep(text, plain);

    free(plain);
    return kept;
}

/* One table of the copy: its name and the expression of each column. */
struct copy {
    struct target *t;
    const char *source; /* the original table */
    const char *columns, *values, *key;
};

static const char *comma(const char *list)
{
    return *list ? ", " : "";
}

/* Returns the value itself or a changed one. NULL becomes "" or 0, by the type of the table's last column. */
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
    const char *plain = sanitised(text, name), *standard = column->default_value;

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

/* As in DFPL's program, only lower-case type names match: TEXT in capitals counts as a number. */
static bool last_is_text(const struct target_column *columns, int n)
{
    const char *type = columns[n - 1].type;
    return strstr(type, "text") || strstr(type, "char") || strstr(type, "clob");
}

/* Copies a table under this name. all_changed: every value is changed. */
static int copy_table(struct target *t, const struct ambiqt_record *r, const char *table, const char *name,
                      bool all_changed, struct error *err)
{
    struct target_column columns[TARGET_MAX_COLUMNS];
    int n = target_columns(t, columns, TARGET_MAX_COLUMNS, "source", table);
    bool here = r->type == SIA_COLUMN && strcasecmp(table, r->table) == 0, text = n > 0 && last_is_text(columns, n);
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
    if (r->type != SIA_TABLE || strcasecmp(table, r->table) != 0)
        return copy_table(t, r, table, table, false, err);
    if (copy_table(t, r, table, r->names[0], false, err))
        return -1;
    return copy_table(t, r, table, r->names[1], true, err);
}

/* Returns the columns that the schema text lists for a table, each with a type. Remains of values count as columns, as
 * in DFPL. */
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

/* Creates the new table of J or P without rows. */
static int add_new_table(struct target *t, const struct ambiguity *a, const char *schema_text, struct error *err)
{
    const struct ambiqt_record *r = &a->record;
    const char *columns = listed_columns(t, schema_text, r->new_table, r->type == SIA_JOIN ? "TEXT" : "REAL");

    return target_run(t, err, "CREATE TABLE %s (%s)", sanitised(&t->text, r->new_table), columns);
}

/* Fills an empty database from the record's original, which is attached as "source". */
static int materialise_published(struct target *t, const struct ambiguity *a, const char *schema_text,
                                 struct error *err)
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
    return ambiguity_types[r->type].new_table ? add_new_table(t, a, schema_text, err) : 0;
}

const char *materialise_published_filter(const struct ambiguity *a, const struct materialised *m)
{
    bool new_table = ambiguity_types[a->record.type].new_table;

    /* DFPL's reader takes the type from the database's name, and these names match two types */
    if (new_table && (strstr(m->file, "_column_") || strstr(m->file, "_table_")))
        return "lost";
    if (m->state == MATERIALISED_FAILED)
        return "error";
    if (!new_table && (m->empty[0] || m->empty[1]))
        return "empty";
    return m->same_in_order ? "identical" : NULL;
}

enum { MAX_FILE_NAME = 180 };

/* A file that an SQL error prevented, with the message. */
struct failure {
    const char *file, *why;
};

struct materialiser {
    struct materialise_options options;
    struct strings written, kept; /* written: files of this run; kept: files that a written record uses */
    struct failure *failures;
    int n_failures, failures_cap;
    struct strings text;
};

struct materialiser *materialiser_open(const struct materialise_options *o, struct error *err)
{
    if (make_dirs(o->out, err))
        return NULL;
    struct materialiser *m = xcalloc(1, sizeof *m);
    m->options = *o;
    return m;
}

void materialiser_close(struct materialiser *m)
{
    if (!m)
        return;
    strings_release(&m->written);
    strings_release(&m->kept);
    free(m->failures);
    strings_release(&m->text);
    free(m);
}

void materialiser_keep(struct materialiser *m, const char *file)
{
    strings_add(&m->kept, file);
}

void materialiser_prune(struct materialiser *m)
{
    for (int i = 0; i < m->written.n && !m->options.published; i++)
        if (strings_find(&m->kept, m->written.items[i]) < 0)
            unlink(strings_printf(&m->text, "%s/%s", m->options.out, m->written.items[i]));
}

/* The inputs of a record's database. */
struct record_database {
    const struct ambiguity *a;
    const struct schema *s;
    const char *schema_text, *source;
};

/* Returns the altered database's name as DFPL forms it. The caller frees it. */
static char *database_name(const struct ambiqt_record *r)
{
    static const char *const marks[AMBIQT_TYPES] = { "column", "table", "split", "agg" };
    char *name = NULL, *columns = NULL;
    size_t size;
    FILE *f = open_memstream(&columns, &size);

    CHECK(f, "cannot write to memory");
    for (int i = 0; i < r->n_new_columns; i++)
        fprintf(f, "_%s", r->new_columns[i]);
    CHECK(fclose(f) == 0, "cannot write to memory");
    bool pair = r->type == SIA_COLUMN || r->type == SIA_JOIN;
    int n =
        asprintf(&name, "%s_%s_%s%s%s%s", r->db_id, marks[r->type], r->type == SIA_AGGREGATE ? r->new_table : r->table,
                 pair ? "_" : "", pair ? r->column : "", r->type == SIA_AGGREGATE ? columns : "");
    CHECK(n >= 0, "cannot format the name of %s", r->db_id);
    free(columns);
    return name;
}

/* Returns a valid file name. A hash distinguishes databases whose names are equal or too long. m keeps it. */
static const char *file_name(struct materialiser *m, const struct ambiqt_record *r, const char *what, const char *added)
{
    char *name = database_name(r);
    size_t n = strlen(name);
    uint64_t h = hash_bytes(HASH_START, what, strlen(what));
    bool other = n > MAX_FILE_NAME; /* true if the file's name differs from the database's name */

    h = hash_bytes(h, name, n);
    for (char *p = name; *p; p++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-", *p)) {
            *p = '_';
            other = true;
        }
    const char *kept =
        *what || other ? strings_printf(&m->text, "%.*s-%08x%s.sqlite", (int)MAX_FILE_NAME, name, (unsigned)h, added)
                       : strings_printf(&m->text, "%s%s.sqlite", name, added);
    free(name);
    return kept;
}

/* Alters a copy in place, or fills an empty database from a copy. */
static int fill_from(const struct materialiser *m, const struct record_database *w, const char *path, const char *copy,
                     enum second_values second, struct error *err)
{
    bool published = m->options.published;
    struct target t;
    int rc = target_open(&t, path, published, m->options.seed, err);

    if (rc == 0 && published)
        rc = target_run(&t, err, "ATTACH %Q AS source", copy);
    if (rc == 0)
        rc = target_run(&t, err, "BEGIN");
    if (rc == 0)
        rc = published ? materialise_published(&t, w->a, w->schema_text, err)
                       : materialise_alter(&t, w->a, w->s, second, err);
    if (rc == 0)
        rc = target_run(&t, err, "COMMIT");
    target_close(&t);
    return rc;
}

static int fill(const struct materialiser *m, const struct record_database *w, const char *path,
                enum second_values second, struct error *err)
{
    bool published = m->options.published;
    char *copy = NULL;

    CHECK(asprintf(&copy, "%s%s", path, published ? ".source" : "") >= 0, "no memory for a path");
    int rc = sqlite_copy(w->source, copy, err) || fill_from(m, w, path, copy, second, err) ? -1 : 0;
    if (published)
        unlink(copy);
    free(copy);
    return rc;
}

/* A new table that repeats a column of another one. */
struct repeated_column {
    const char *list, *into, *values; /* definitions; names of the filled columns, and their values */
};

/* Adds a column of the new table: a key with its value, the repeated column with the partner's, or an empty column. */
static void add_repeated(struct target *t, struct repeated_column *x, const struct target_column *columns, int n,
                         const char *name, const char *repeated)
{
    struct target_column one = { .name = name, .type = "TEXT", .collation = "BINARY" };
    int at = 0;

    while (at < n && strcasecmp(columns[at].name, name) != 0)
        at++;
    if (at < n) {
        one = columns[at];
        char *into = sqlite3_mprintf("%s\"%w\"", *x->into ? ", " : "", name);
        char *value =
            sqlite3_mprintf("%s%s.\"%w\"", *x->into ? ", " : "", strcasecmp(name, repeated) ? "o" : "p", name);
        x->into = strings_printf(&t->text, "%s%s", x->into, into);
        x->values = strings_printf(&t->text, "%s%s", x->values, value);
        sqlite3_free(into);
        sqlite3_free(value);
    }
    x->list = define(t, x->list, &one);
}

/* Creates the table of the edited schema that repeats the column. */
static int repeat_column(struct target *t, const struct doubled_element *e, const struct schema *edited,
                         struct error *err)
{
    struct target_column columns[TARGET_MAX_COLUMNS];
    int n = target_columns(t, columns, TARGET_MAX_COLUMNS, "main", e->table);
    const struct schema_table *table = &edited->tables[schema_table_find(edited, e->names[0])];
    struct repeated_column x = { "", "", "" };
    struct row_source rows;

    for (int c = table->first_column; c < table->first_column + table->n_columns; c++)
        add_repeated(t, &x, columns, n, edited->columns[c].name, e->column);
    if (!*x.into)
        return error_set(err, EXIT_CODE_DATA, "%s: expected a table %s, got none", t->path, e->table);
    if (number_rows(t, e->table, &rows, err))
        return -1;
    return target_run(t, err,
                      "CREATE TABLE \"%w\" (%s); INSERT INTO main.\"%w\" (%s) SELECT %s FROM partner JOIN %s AS o ON "
                      "o.rowid = partner.id JOIN %s AS p ON p.rowid = partner.other",
                      e->names[0], x.list, e->names[0], x.into, x.values, rows.from, rows.from);
}

static int double_element(struct target *t, const struct doubled_element *e, const struct schema *original,
                          const struct schema *edited, struct error *err)
{
    const struct ambiqt_record r = { .table = e->table, .column = e->column, .names = { e->names[0], e->names[1] } };

    if (e->type == SIA_JOIN)
        return repeat_column(t, e, edited, err);
    return e->type == SIA_TABLE ? double_table(t, &r, original, SECOND_OF_OTHER_ROWS, err)
                                : double_column(t, &r, SECOND_OF_OTHER_ROWS, err);
}

int materialise_elements(const char *path, const char *source, const struct doubled_element *list, int n,
                         const struct schema *original, const struct schema *edited, uint64_t seed, struct error *err)
{
    struct target t;

    if (sqlite_copy(source, path, err))
        return -1;
    int rc = target_open(&t, path, false, seed, err);
    if (rc == 0)
        rc = target_run(&t, err, "BEGIN");
    for (int i = 0; i < n && rc == 0; i++) {
        t.seed = seed + (uint64_t)i;
        rc = double_element(&t, &list[i], original, edited, err);
    }
    if (rc == 0)
        rc = target_run(&t, err, "COMMIT");
    target_close(&t);
    return rc;
}

/* Returns the message of an earlier failure of this run, or NULL. */
static const char *earlier_failure(const struct materialiser *m, const char *file)
{
    for (int i = 0; i < m->n_failures; i++)
        if (strcmp(m->failures[i].file, file) == 0)
            return m->failures[i].why;
    return NULL;
}

static void remember_failure(struct materialiser *m, const char *file, const char *why)
{
    GROW(m->failures, m->n_failures, m->failures_cap);
    m->failures[m->n_failures++] = (struct failure){ file, strings_keep(&m->text, why) };
}

static int deliver(const struct materialiser *m, const char *made, const char *path, struct error *err)
{
    if (!m->options.force && out_file_may_replace(made, path, err))
        return -1;
    if (rename(made, path))
        return error_set(err, EXIT_CODE_FAILURE, "%s: cannot write: %s", path, strerror(errno));
    return 0;
}

/* Makes the file unless an earlier record of this run did. Returns -1 if that fails. */
static int build(struct materialiser *m, const char *file, const struct record_database *w, enum second_values second,
                 struct error *err)
{
    const char *why = earlier_failure(m, file);

    if (why)
        return error_set(err, EXIT_CODE_DATA, "%s", why);
    if (strings_find(&m->written, file) >= 0)
        return 0;
    const char *path = strings_printf(&m->text, "%s/%s", m->options.out, file);
    const char *made = strings_printf(&m->text, "%s.tmp", path);
    unlink(made);
    int rc = fill(m, w, made, second, err);
    if (rc == 0 && (rc = deliver(m, made, path, err)) == 0)
        strings_add(&m->written, file);
    else
        remember_failure(m, file, err->text);
    unlink(made);
    return rc;
}

/* Compares the results with those of the query on the original database. */
static int compare_to_query(bool *same, const struct record_database *w, const struct exec_result results[2],
                            struct error *err)
{
    const struct ambiqt_record *r = &w->a->record;
    struct exec_db *db = exec_open(w->source, &exec_limits_default, err);

    if (!db)
        return -1;
    struct exec_result query = exec_run(db, r->original);
    *same = query.status == EXEC_OK && match_rows(&query, &results[0], false) &&
            (r->type != SIA_JOIN || match_rows(&query, &results[1], false));
    exec_result_release(&query);
    exec_close(db);
    return 0;
}

static int run_both(struct materialised *out, struct exec_db *db, const struct record_database *w, bool compare,
                    struct error *err)
{
    const struct ambiqt_record *r = &w->a->record;
    bool same = true;
    int rc = 0;
    struct exec_result results[2] = { exec_run(db, r->interpretations[0]), exec_run(db, r->interpretations[1]) };

    out->state = MATERIALISED_DIFFER;
    for (int k = 1; k >= 0; k--) {
        out->empty[k] = results[k].n == 0;
        if (results[k].status == EXEC_OK)
            continue;
        out->state = MATERIALISED_FAILED;
        snprintf(out->message, sizeof out->message, "interpretation %d: %s", k + 1, results[k].message);
    }
    if (out->state == MATERIALISED_DIFFER) {
        out->same_in_order = match_exactly(&results[0], &results[1]);
        if (match_rows(&results[0], &results[1], false))
            out->state = MATERIALISED_COINCIDE;
        rc = compare ? compare_to_query(&same, w, results, err) : 0;
        out->other_rows = !same;
    }
    exec_result_release(&results[0]);
    exec_result_release(&results[1]);
    return rc;
}

/* D: the query must fail without the column. */
static void run_without(struct materialised *out, struct exec_db *db, const struct ambiqt_record *r)
{
    struct exec_result result = exec_run(db, r->original);

    out->state = result.status == EXEC_OK ? MATERIALISED_FAILED : MATERIALISED_DIFFER;
    snprintf(out->message, sizeof out->message, "the query runs without %s.%s", r->table, r->column);
    exec_result_release(&result);
}

/* Returns a text that distinguishes databases of equal names: the query for P, the new column for R. */
static const char *distinguished_by(const struct ambiguity *a, bool published)
{
    if (a->type == AMBIGUITY_DELETED)
        return "deleted";
    if (a->type == AMBIGUITY_REPLACED)
        return a->record.names[0];
    return a->type == SIA_AGGREGATE && !published ? a->record.original : "";
}

/* Builds the database in one way and runs both interpretations on it. */
static int try_way(struct materialiser *m, struct materialised *out, const struct record_database *w,
                   enum second_values second, struct error *err)
{
    static const char *const added[SECOND_WAYS] = { "", "-changed" };
    struct exec_limits limits = exec_limits_default;
    const struct ambiqt_record *r = &w->a->record;
    const char *what = distinguished_by(w->a, m->options.published);
    struct error why = { 0 };

    *out = (struct materialised){ .file = file_name(m, r, what, added[second]) };
    limits.python_text = m->options.published;
    const char *path = strings_printf(&m->text, "%s/%s", m->options.out, out->file);
    if (build(m, out->file, w, second, &why)) {
        if (why.code != EXIT_CODE_DATA)
            return error_set(err, why.code, "%s", why.text);
        out->state = MATERIALISED_FAILED;
        snprintf(out->message, sizeof out->message, "%.500s", why.text);
        return 0;
    }
    struct exec_db *db = exec_open(path, &limits, err);
    if (!db)
        return -1;
    int rc = 0;
    if (w->a->type == AMBIGUITY_DELETED)
        run_without(out, db, r);
    else
        rc = run_both(out, db, w, !m->options.published, err);
    exec_close(db);
    return rc;
}

int materialise(struct materialiser *m, struct materialised *out, const struct ambiguity *a, const struct schema *s,
                const char *schema_text, struct error *err)
{
    bool choice = !m->options.published && a->type != AMBIGUITY_DELETED && (!ambiguity_types[a->record.type].new_table);
    struct materialised other;

    char *source = db_path(m->options.db, a->record.db_id, err);
    if (!source)
        return -1;
    const struct record_database w = { a, s, schema_text, source };
    int rc = try_way(m, out, &w, SECOND_OF_OTHER_ROWS, err);
    bool good = out->state == MATERIALISED_DIFFER && !out->empty[0] && !out->empty[1];
    if (rc == 0 && choice && !good) {
        rc = try_way(m, &other, &w, SECOND_CHANGED, err);
        bool better = rc == 0 && other.state == MATERIALISED_DIFFER &&
                      (out->state != MATERIALISED_DIFFER || (!other.empty[0] && !other.empty[1]));
        bool runs = rc == 0 && other.state != MATERIALISED_FAILED && out->state == MATERIALISED_FAILED;
        if (better || runs)
            *out = other;
    }
    free(source);
    return rc;
}
