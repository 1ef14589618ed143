#include "data/db/schema_sqlite.h"

#include "data/base/log.h"
#include "data/db/sqlite_exec.h"
#include "data/schema/schema_build.h"
#include "data/sql/sql_create.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    VIEW_SECONDS = 5, /* for all views of a database; nested views can double the work at each level */
    SHOWN_LEFT_OUT = 20
};

static const struct exec_limits limits = { .steps = 50000000, .rows = 1000000, .bytes = 64 << 20, .seconds = 10 };
/* Limits for inspecting the values of a view. */
static const struct exec_limits inspect_limits = { .steps = 1000000, .rows = 1, .bytes = 1 << 20, .seconds = 1 };

struct listed_table {
    char *name, *sql;
    enum table_form form;
    char module[SQL_CREATE_MODULE];
    int number; /* in the schema, or -1 */
};

struct listed_column {
    char *name;
    int table; /* in the schema */
    int key;   /* position in the primary key from 1, or 0 */
};

/* The state of reading one schema. */
struct sqlite_schema_reader {
    struct exec_db *db, *look; /* look is opened on first use */
    const char *path;
    bool tell;
    int n_left_out;
    double start;
    struct schema_build build;
    struct listed_table *tables;
    int n_tables, tables_cap;
    struct listed_column *columns; /* in the order of the schema */
    int n_columns, columns_cap;
};

/* Runs a query about a name, which replaces %Q. */
static struct exec_result ask(struct exec_db *db, const char *query, const char *name)
{
    char *sql = sqlite3_mprintf(query, name);

    CHECK(sql, "no memory for a query");
    struct exec_result r = exec_run(db, sql);
    sqlite3_free(sql);
    return r;
}

static int bad_name(const struct sqlite_schema_reader *r, const struct cell *c, struct error *err)
{
    char shown[128] = "";

    for (int i = 0; i < c->n; i++) {
        size_t n = strlen(shown);
        bool plain = c->bytes[i] >= ' ' && c->bytes[i] < 127;
        snprintf(shown + n, sizeof shown - n, plain ? "%c" : "\\x%02x", (unsigned char)c->bytes[i]);
    }
    return error_set(err, EXIT_CODE_DATA, "%s: expected names in UTF-8, got \"%s\"", r->path, shown);
}

/* Returns a cell's text, or NULL with an error if it is not valid UTF-8. */
static const char *text_of(const struct sqlite_schema_reader *r, const struct cell *c, struct error *err)
{
    json_t *checked = c->type == CELL_TEXT && !memchr(c->bytes, 0, (size_t)c->n) ? json_string(c->bytes) : NULL;

    json_decref(checked);
    if (checked)
        return c->bytes;
    if (c->type == CELL_TEXT)
        bad_name(r, c, err);
    else
        error_set(err, EXIT_CODE_DATA, "%s: the schema is damaged: expected a name", r->path);
    return NULL;
}

static int add_listed(struct sqlite_schema_reader *r, const struct cell *row, struct error *err)
{
    enum { TYPE, NAME, SQL };
    const char *name = text_of(r, &row[NAME], err), *sql = row[SQL].type == CELL_TEXT ? row[SQL].bytes : "";
    bool view = row[TYPE].type == CELL_TEXT && strcmp(row[TYPE].bytes, "view") == 0;

    if (!name)
        return -1;
    GROW(r->tables, r->n_tables, r->tables_cap);
    struct listed_table *t = &r->tables[r->n_tables++];
    *t = (struct listed_table){ .name = xstrdup(name), .sql = xstrdup(sql), .form = TABLE_VIEW, .number = -1 };
    if (!view)
        t->form = sql_create_form(sql, t->module);
    return 0;
}

static int list_tables(struct sqlite_schema_reader *r, struct error *err)
{
    static const char query[] = "SELECT type, name, sql FROM sqlite_schema WHERE type IN ('table', 'view') "
                                "AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY rowid";
    struct exec_result found = exec_run(r->db, query);
    int rc = found.status == EXEC_OK ? 0 : error_set(err, EXIT_CODE_DATA, "%s: %s", r->path, found.message);

    for (int64_t i = 0; i < found.n && rc == 0; i++)
        rc = add_listed(r, &found.cells[i * found.columns], err);
    exec_result_release(&found);
    return rc;
}

static bool keeps_rows_in(const struct listed_table *t, const char *name)
{
    static const struct {
        const char *module, *tables;
    } shadows[] = {
        { "fts3", " content segments segdir docsize stat " },
        { "fts4", " content segments segdir docsize stat " },
        { "fts5", " data idx content docsize config " },
        { "rtree", " node rowid parent " },
        { "rtree_i32", " node rowid parent " },
        { "geopoly", " node rowid parent " },
    };
    size_t n = strlen(t->name);
    char word[32];

    if (t->form < TABLE_VIRTUAL || strncasecmp(name, t->name, n) != 0 || name[n] != '_')
        return false;
    snprintf(word, sizeof word, " %.16s ", name + n + 1);
    for (int i = 0; i < ARRAY_LEN(shadows); i++)
        if (strcasecmp(t->module, shadows[i].module) == 0)
            return strcasestr(shadows[i].tables, word) != NULL;
    return false;
}

static bool is_shadow(const struct sqlite_schema_reader *r, const char *name)
{
    for (int t = 0; t < r->n_tables; t++)
        if (keeps_rows_in(&r->tables[t], name))
            return true;
    return false;
}

/* Logs the first few omitted tables by name, and counts all. */
static void omit(struct sqlite_schema_reader *r, const char *name, const char *why)
{
    if (r->tell && r->n_left_out++ < SHOWN_LEFT_OUT)
        log_warn("%s: omitting %s: %s", r->path, name, why);
}

/* Returns one row that says for each untyped column whether its values are numbers, because computed columns of views
 * have no type. Returns no row if that is unknown. */
static struct exec_result inspect_values(struct sqlite_schema_reader *r, const char *table,
                                         const struct exec_result *columns)
{
    sqlite3_str *sql = sqlite3_str_new(NULL);
    const char *comma = "SELECT ";

    for (int64_t i = 0; i < columns->n; i++) {
        const struct cell *row = &columns->cells[i * columns->columns];
        if (row[1].n)
            continue;
        sqlite3_str_appendf(sql, "%scount(\"%w\") > 0 AND total(typeof(\"%w\") IN ('integer', 'real')) = count(\"%w\")",
                            comma, row[0].bytes, row[0].bytes, row[0].bytes);
        comma = ", ";
    }
    sqlite3_str_appendf(sql, " FROM (SELECT * FROM \"%w\" LIMIT 100)", table);
    char *text = sqlite3_str_finish(sql);
    CHECK(text, "no memory for a query");
    if (*comma == ',' && !r->look)
        r->look = exec_open(r->path, &inspect_limits, NULL);
    struct exec_result found = *comma == ',' && r->look ? exec_run(r->look, text) : (struct exec_result){ 0 };
    sqlite3_free(text);
    return found;
}

static int add_column(struct sqlite_schema_reader *r, int table, const struct cell *row, bool number, struct error *err)
{
    enum { NAME, TYPE, KEY };
    const char *name = text_of(r, &row[NAME], err), *type = name ? text_of(r, &row[TYPE], err) : NULL;

    if (!type)
        return -1;
    GROW(r->columns, r->n_columns, r->columns_cap);
    r->columns[r->n_columns++] = (struct listed_column){ xstrdup(name), table, (int)row[KEY].integer };
    int c = schema_build_column(&r->build, table, name, NULL, number ? COLUMN_NUMBER : column_type_of(type));
    if (row[KEY].integer)
        schema_build_primary(&r->build, c);
    return 0;
}

/* Adds affinity and collation of the table's columns, which are the last n. */
static void add_compared(struct sqlite_schema_reader *r, const struct listed_table *t,
                         const struct exec_result *columns)
{
    int n = (int)columns->n, first = r->n_columns - n;
    enum column_collation *collations = xcalloc((size_t)n + 1, sizeof *collations);
    bool stored = t->form < TABLE_VIEW;

    if (stored)
        sql_create_column_collations(collations, n, t->sql);
    for (int i = 0; i < n; i++) {
        enum column_affinity affinity = column_affinity_of(columns->cells[i * columns->columns + 1].bytes);
        schema_build_compared(&r->build, first + i, stored ? affinity : AFFINITY_UNKNOWN, collations[i]);
    }
    free(collations);
}

static int add_table(struct sqlite_schema_reader *r, struct listed_table *t, const struct exec_result *columns,
                     struct error *err)
{
    struct exec_result numbers = { 0 };
    int rc = 0, untyped = 0;

    t->number = schema_build_table(&r->build, t->name, NULL);
    schema_build_form(&r->build, t->number, t->form);
    if (t->form == TABLE_VIEW)
        numbers = inspect_values(r, t->name, columns);
    for (int64_t i = 0; i < columns->n && rc == 0; i++) {
        const struct cell *row = &columns->cells[i * columns->columns];
        bool number = numbers.n && !row[1].n && numbers.cells[untyped++].integer;
        rc = add_column(r, t->number, row, number, err);
    }
    if (rc == 0)
        add_compared(r, t, columns);
    exec_result_release(&numbers);
    return rc;
}

static int read_table(struct sqlite_schema_reader *r, struct listed_table *t, struct error *err)
{
    static const char query[] = "SELECT name, type, pk FROM pragma_table_xinfo(%Q) WHERE hidden <> 1 ORDER BY cid";
    int rc = 0;

    if (is_shadow(r, t->name))
        return 0;
    if (t->form == TABLE_VIEW && now_seconds() - r->start > VIEW_SECONDS) {
        omit(r, t->name, "the views of this database take too long to resolve");
        return 0;
    }
    struct exec_result columns = ask(r->db, query, t->name);
    if (columns.status == EXEC_OK)
        rc = add_table(r, t, &columns, err);
    else if (t->form < TABLE_VIEW)
        rc = error_set(err, EXIT_CODE_DATA, "%s: %s: %s", r->path, t->name, columns.message);
    else
        omit(r, t->name, columns.message);
    exec_result_release(&columns);
    return rc;
}

/* Returns the table's number in the schema, or -1. */
static int find_table(const struct sqlite_schema_reader *r, const struct cell *name)
{
    for (int t = 0; t < r->n_tables && name->type == CELL_TEXT; t++)
        if (strcasecmp(r->tables[t].name, name->bytes) == 0)
            return r->tables[t].number;
    return -1;
}

/* Finds a column by name. A reference without column names refers to the parent's primary key, part by part. */
static int find_column(const struct sqlite_schema_reader *r, int table, const struct cell *name, int64_t part)
{
    for (int c = 0; c < r->n_columns; c++)
        if (r->columns[c].table == table && (name->type == CELL_TEXT ? strcasecmp(r->columns[c].name, name->bytes) == 0
                                                                     : r->columns[c].key == part + 1))
            return c;
    return -1;
}

/* SQLite accepts keys to missing tables or columns; they are ignored. */
static void add_key(struct sqlite_schema_reader *r, const struct cell *row)
{
    enum { TABLE, PARENT, FROM, TO, PART };
    int table = find_table(r, &row[TABLE]), parent = find_table(r, &row[PARENT]);
    int from = table < 0 ? -1 : find_column(r, table, &row[FROM], -1);
    int to = parent < 0 ? -1 : find_column(r, parent, &row[TO], row[PART].integer);

    if (from >= 0 && to >= 0)
        schema_build_foreign_key(&r->build, from, to);
}

static int read_keys(struct sqlite_schema_reader *r, struct error *err)
{
    static const char query[] = "SELECT s.name, f.\"table\", f.\"from\", f.\"to\", f.seq FROM sqlite_schema AS s "
                                "JOIN pragma_foreign_key_list(s.name) AS f WHERE s.type = 'table' "
                                "ORDER BY s.rowid, f.id DESC, f.seq";
    struct exec_result found = exec_run(r->db, query);
    int rc = found.status == EXEC_OK ? 0 : error_set(err, EXIT_CODE_DATA, "%s: %s", r->path, found.message);

    for (int64_t i = 0; i < found.n; i++)
        add_key(r, &found.cells[i * found.columns]);
    exec_result_release(&found);
    return rc;
}

/* Warns about collations of columns, indexes and views that only the database's own program defines. */
static void warn_collations(const struct sqlite_schema_reader *r)
{
    static const char query[] = "SELECT sql FROM sqlite_schema WHERE sql LIKE '%collate%'";
    struct exec_result found = exec_run(r->db, query);
    struct strings names = { 0 };

    for (int64_t i = 0; i < found.n; i++)
        if (found.cells[i].type == CELL_TEXT)
            sql_create_collations(&names, found.cells[i].bytes);
    for (int i = 0; i < names.n; i++)
        if (strcasecmp(names.items[i], "binary") != 0 && strcasecmp(names.items[i], "nocase") != 0 &&
            strcasecmp(names.items[i], "rtrim") != 0)
            log_warn("%s: the collation %s is missing: SQL that compares or sorts with it fails", r->path,
                     names.items[i]);
    strings_release(&names);
    exec_result_release(&found);
}

static int read_database(struct sqlite_schema_reader *r, struct error *err)
{
    if (list_tables(r, err))
        return -1;
    for (int t = 0; t < r->n_tables; t++)
        if (read_table(r, &r->tables[t], err))
            return -1;
    if (!r->build.n_tables)
        return error_set(err, EXIT_CODE_DATA, "%s: the database has no tables", r->path);
    if (r->n_left_out > SHOWN_LEFT_OUT)
        log_warn("%s: omitting %d more", r->path, r->n_left_out - SHOWN_LEFT_OUT);
    if (r->tell)
        warn_collations(r);
    return read_keys(r, err);
}

static void reading_release(struct sqlite_schema_reader *r)
{
    for (int t = 0; t < r->n_tables; t++) {
        free(r->tables[t].name);
        free(r->tables[t].sql);
    }
    for (int c = 0; c < r->n_columns; c++)
        free(r->columns[c].name);
    free(r->tables);
    free(r->columns);
    exec_close(r->look);
    exec_close(r->db);
}

char *schema_db_id(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *id = xstrdup(slash ? slash + 1 : path), *dot = strrchr(id, '.');
    if (dot && dot > id)
        *dot = 0;
    return id;
}

int schema_set_open_sqlite(struct schema_set *s, const char *path, bool tell, struct error *err)
{
    struct sqlite_schema_reader r = { .path = path, .tell = tell, .start = now_seconds() };
    struct schema built;
    char *db_id = schema_db_id(path);

    *s = (struct schema_set){ 0 };
    schema_build_init(&r.build, db_id);
    r.db = exec_open_schema(path, &limits, err);
    int rc = r.db ? read_database(&r, err) : -1;
    reading_release(&r);
    if (rc == 0) {
        schema_build_finish(&r.build, &built);
        rc = schema_set_add(s, &built, err);
    }
    schema_build_release(&r.build);
    free(db_id);
    return rc;
}
