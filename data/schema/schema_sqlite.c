/* Part of schema.h: reads a database's own description of itself; on a stranger's file only the pragmas asked for here
 * may run. */
#include "data/schema/schema_build.h"
#include "data/util/log.h"
#include "data/util/sqlite_open.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    MAX_TEXT = 1 << 20,   /* bytes of one SQL text or value */
    MAX_STEPS = 50000000, /* virtual-machine steps of the whole reading */
    STEPS_PER_CHECK = 1000
};

static int authorize(void *unused, int action, const char *a, const char *b, const char *db, const char *trigger)
{
    (void)unused, (void)b, (void)db, (void)trigger;
    if (action == SQLITE_SELECT || action == SQLITE_READ || action == SQLITE_FUNCTION)
        return SQLITE_OK;
    /* SQLite asks this when it sets up a pragma's table; the connection could not write if it wanted to */
    if (action == SQLITE_UPDATE && strcmp(a, "sqlite_master") == 0)
        return SQLITE_OK;
    bool known = action == SQLITE_PRAGMA && (strcasecmp(a, "table_list") == 0 || strcasecmp(a, "table_xinfo") == 0 ||
                                             strcasecmp(a, "foreign_key_list") == 0);
    return known ? SQLITE_OK : SQLITE_DENY;
}

static int count_steps(void *left)
{
    *(int *)left -= STEPS_PER_CHECK;
    return *(int *)left <= 0;
}

static int open_database(sqlite3 **db, const char *path, int *steps, struct error *err)
{
    if (sqlite_open_file(db, path, MAX_TEXT, err))
        return -1;
    sqlite3_limit(*db, SQLITE_LIMIT_EXPR_DEPTH, 200);
    sqlite3_set_authorizer(*db, authorize, NULL);
    sqlite3_progress_handler(*db, STEPS_PER_CHECK, count_steps, steps);
    return 0;
}

/* What the reading needs in every step. */
struct sqlite_schema_reader {
    sqlite3 *db;
    const char *path;
    struct schema_build build;
    char **tables; /* names; their number is build.n_tables */
    int tables_cap;
    char **columns; /* names; their number is build.n_columns */
    int columns_cap;
    int *column_tables; /* and the table of each */
    int column_tables_cap;
};

static int sqlite_failed(const struct sqlite_schema_reader *r, const char *what, struct error *err)
{
    return error_set(err, EXIT_CODE_DATA, "%s: %s: %s", r->path, what, sqlite3_errmsg(r->db));
}

/* Column i of the row as text; NULL with an error when it is no UTF-8, which JSON could not hold. */
static const char *row_text(const struct sqlite_schema_reader *r, sqlite3_stmt *row, int i, struct error *err)
{
    const char *text = (const char *)sqlite3_column_text(row, i);
    json_t *checked = text ? json_string(text) : NULL;

    if (!checked)
        error_set(err, EXIT_CODE_DATA, "%s: a name in the schema is not UTF-8", r->path);
    json_decref(checked);
    return checked ? text : NULL;
}

typedef int row_fn(struct sqlite_schema_reader *r, sqlite3_stmt *row, int table, struct error *err);

/* Runs one query, its parameter bound to name unless NULL, and gives every row to fn. */
static int each_row(struct sqlite_schema_reader *r, const char *sql, const char *name, int table, row_fn *fn,
                    struct error *err)
{
    sqlite3_stmt *stmt = NULL;
    const char *what = name ? name : "schema";
    int rc = -1, step;

    if (sqlite3_prepare_v2(r->db, sql, -1, &stmt, NULL) != SQLITE_OK ||
        (name && sqlite3_bind_text(stmt, 1, name, -1, SQLITE_STATIC) != SQLITE_OK)) {
        sqlite_failed(r, what, err);
        goto out;
    }
    while ((step = sqlite3_step(stmt)) == SQLITE_ROW)
        if (fn(r, stmt, table, err))
            goto out;
    if (step != SQLITE_DONE)
        sqlite_failed(r, what, err);
    else
        rc = 0;
out:
    sqlite3_finalize(stmt);
    return rc;
}

static int look(struct sqlite_schema_reader *r, sqlite3_stmt *row, int table, struct error *err)
{
    (void)r, (void)row, (void)table, (void)err;
    return 0;
}

/* Whether SQLite knows what columns it has: a view may name what is not there, a virtual table a missing module. */
static bool resolves(struct sqlite_schema_reader *r, const char *name, struct error *why)
{
    return each_row(r, "SELECT name FROM pragma_table_xinfo(?)", name, 0, look, why) == 0;
}

static int add_table(struct sqlite_schema_reader *r, sqlite3_stmt *row, int unused, struct error *err)
{
    const char *name = row_text(r, row, 0, err), *type = (const char *)sqlite3_column_text(row, 2);
    enum table_form form = strcmp(type, "view") == 0      ? TABLE_VIEW
                           : strcmp(type, "virtual") == 0 ? TABLE_VIRTUAL
                           : sqlite3_column_int(row, 1)   ? TABLE_WITHOUT_ROWID
                                                          : TABLE_PLAIN;
    struct error why = { 0 };

    (void)unused;
    if (!name)
        return -1;
    if (form >= TABLE_VIEW && !resolves(r, name, &why)) {
        log_warn("%s; it is left out", why.text);
        return 0;
    }
    GROW(r->tables, r->build.n_tables, r->tables_cap);
    r->tables[r->build.n_tables] = xstrdup(name);
    schema_build_form(&r->build, schema_build_table(&r->build, name, NULL), form);
    return 0;
}

static int add_column(struct sqlite_schema_reader *r, sqlite3_stmt *row, int table, struct error *err)
{
    const char *name = row_text(r, row, 0, err), *type = name ? row_text(r, row, 1, err) : NULL;

    if (!type)
        return -1;
    GROW(r->columns, r->build.n_columns, r->columns_cap);
    GROW(r->column_tables, r->build.n_columns, r->column_tables_cap);
    r->columns[r->build.n_columns] = xstrdup(name);
    r->column_tables[r->build.n_columns] = table;
    int c = schema_build_column(&r->build, table, name, NULL, column_type_of(type));
    if (sqlite3_column_int(row, 2))
        schema_build_primary(&r->build, c);
    return 0;
}

static int find_column(const struct sqlite_schema_reader *r, int table, const char *name)
{
    for (int c = 0; c < r->build.n_columns; c++)
        if (r->column_tables[c] == table && strcasecmp(r->columns[c], name) == 0)
            return c;
    return -1;
}

/* A key to a table or column that does not exist is legal in SQLite and means nothing here. */
static int add_foreign_key(struct sqlite_schema_reader *r, sqlite3_stmt *row, int table, struct error *err)
{
    const char *parent = row_text(r, row, 0, err), *from = parent ? row_text(r, row, 1, err) : NULL;
    const char *to = (const char *)sqlite3_column_text(row, 2); /* NULL: the parent's primary key has no such part */

    if (!from)
        return -1;
    for (int t = 0; to && t < r->build.n_tables; t++)
        if (strcasecmp(r->tables[t], parent) == 0) {
            int a = find_column(r, table, from), b = find_column(r, t, to);
            if (a >= 0 && b >= 0)
                schema_build_foreign_key(&r->build, a, b);
        }
    return 0;
}

static int read_database(struct sqlite_schema_reader *r, struct error *err)
{
    static const char tables[] =
        "SELECT s.name, l.wr, l.type FROM sqlite_schema AS s JOIN pragma_table_list(s.name) AS l "
        "WHERE s.type IN ('table', 'view') AND l.schema = 'main' AND l.type <> 'shadow' "
        "AND s.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY s.rowid";
    static const char columns[] = "SELECT name, type, pk FROM pragma_table_xinfo(?) WHERE hidden <> 1 ORDER BY cid";
    /* a reference without columns means the parent's primary key, part by part */
    static const char keys[] =
        "SELECT f.\"table\", f.\"from\", coalesce(f.\"to\", (SELECT p.name FROM pragma_table_xinfo(f.\"table\") AS p "
        "WHERE p.pk = f.seq + 1)) FROM pragma_foreign_key_list(?) AS f ORDER BY f.id DESC, f.seq";

    if (each_row(r, tables, NULL, 0, add_table, err))
        return -1;
    for (int t = 0; t < r->build.n_tables; t++)
        if (each_row(r, columns, r->tables[t], t, add_column, err))
            return -1;
    for (int t = 0; t < r->build.n_tables; t++)
        if (each_row(r, keys, r->tables[t], t, add_foreign_key, err))
            return -1;
    return 0;
}

static void reading_release(struct sqlite_schema_reader *r)
{
    for (int t = 0; t < r->build.n_tables; t++)
        free(r->tables[t]);
    for (int c = 0; c < r->build.n_columns; c++)
        free(r->columns[c]);
    free(r->tables);
    free(r->columns);
    free(r->column_tables);
}

char *schema_db_id(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *id = xstrdup(slash ? slash + 1 : path), *dot = strrchr(id, '.');
    if (dot && dot > id)
        *dot = 0;
    return id;
}

int schema_set_open_sqlite(struct schema_set *s, const char *path, struct error *err)
{
    struct sqlite_schema_reader r = { .path = path };
    struct schema built;
    char *db_id = schema_db_id(path);
    int steps = MAX_STEPS;

    *s = (struct schema_set){ 0 };
    schema_build_init(&r.build, db_id);
    int rc = open_database(&r.db, path, &steps, err);
    if (rc == 0)
        rc = read_database(&r, err);
    if (rc == 0 && !r.build.n_tables)
        rc = error_set(err, EXIT_CODE_DATA, "%s: holds no table", path);
    reading_release(&r);
    if (rc == 0) {
        schema_build_finish(&r.build, &built);
        rc = schema_set_add(s, &built, err);
    }
    schema_build_release(&r.build);
    sqlite3_close(r.db);
    free(db_id);
    return rc;
}
