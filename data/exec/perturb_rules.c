/* Part of perturb.h: tables by their definitions, which a database in memory without rows tells the rules of. */
#include "data/exec/perturb_impl.h"
#include "data/util/sqlite_open.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MAX_DEFINITION = 1 << 20 };

/* Definitions only define: there is no SELECT in them. */
static int authorize(void *unused, int action, const char *a, const char *b, const char *db, const char *trigger)
{
    (void)unused, (void)b, (void)db, (void)trigger;
    bool schema = a && strncasecmp(a, "sqlite_", 7) == 0;
    bool defines = action == SQLITE_CREATE_TABLE || action == SQLITE_CREATE_INDEX || action == SQLITE_REINDEX ||
                   action == SQLITE_FUNCTION || action == SQLITE_READ;
    bool notes = (action == SQLITE_INSERT || action == SQLITE_UPDATE) && schema;
    return defines || notes ? SQLITE_OK : SQLITE_DENY;
}

static bool begins(const char *sql, const char *words)
{
    return strncasecmp(sql, words, strlen(words)) == 0;
}

static void add_definition(struct perturb *p, const char *kind, const char *name, const char *sql)
{
    bool view = strcmp(kind, "view") == 0;

    if (strcmp(kind, "index") == 0 && begins(sql, "CREATE UNIQUE"))
        value_list_add(&p->indexes, strings_keep(&p->pool, sql));
    if (strncasecmp(name, "sqlite_", 7) == 0 || begins(sql, "CREATE VIRTUAL") || (!view && strcmp(kind, "table") != 0))
        return;
    GROW(p->tables, p->n_tables, p->tables_cap);
    p->tables[p->n_tables++] = (struct perturb_table){ .name = strings_keep(&p->pool, name),
                                                       .sql = strings_keep(&p->pool, sql),
                                                       .view = view };
}

int perturb_read_definitions(struct perturb *p, struct error *err)
{
    struct exec_result r = exec_run(p->db, "SELECT type, name, sql FROM sqlite_schema WHERE typeof(sql) = 'text' "
                                           "AND typeof(name) = 'text' ORDER BY rowid");
    int rc = 0;

    if (r.status != EXEC_OK)
        rc = error_set(err, EXIT_CODE_DATA, "its tables: %s", r.message);
    for (int64_t i = 0; i < r.n && rc == 0; i++)
        add_definition(p, r.cells[3 * i].bytes, r.cells[3 * i + 1].bytes, r.cells[3 * i + 2].bytes);
    exec_result_release(&r);
    return rc;
}

/* What the reading of rules needs in every step. */
struct rule_reader {
    struct perturb *p;
    sqlite3 *db;
    int table;
};

typedef void rule_fn(struct rule_reader *r, sqlite3_stmt *row);

/* Gives each row of a query about the table to fn. */
static int each_rule(struct rule_reader *r, const char *sql, rule_fn *fn, struct error *err)
{
    sqlite3_stmt *stmt = NULL;
    const char *name = r->p->tables[r->table].name;
    int rc = sqlite3_prepare_v2(r->db, sql, -1, &stmt, NULL);

    if (rc == SQLITE_OK)
        rc = sqlite3_bind_text(stmt, 1, name, -1, SQLITE_STATIC);
    if (rc == SQLITE_OK)
        while ((rc = sqlite3_step(stmt)) == SQLITE_ROW)
            fn(r, stmt);
    sqlite3_finalize(stmt);
    if (rc != SQLITE_DONE)
        return error_set(err, EXIT_CODE_DATA, "table %s: %s", name, sqlite3_errmsg(r->db));
    return 0;
}

static const char *text_of(struct rule_reader *r, sqlite3_stmt *row, int i)
{
    const char *text = (const char *)sqlite3_column_text(row, i);
    return strings_keep(&r->p->pool, text ? text : "");
}

static void add_column(struct rule_reader *r, sqlite3_stmt *row)
{
    struct perturb *p = r->p;
    int hidden = sqlite3_column_int(row, 3);

    GROW(p->columns, p->n_columns, p->columns_cap);
    p->columns[p->n_columns] = (struct perturb_column){ .name = text_of(r, row, 0),
                                                        .type = text_of(r, row, 1),
                                                        .required = sqlite3_column_int(row, 2),
                                                        .generated = hidden == 2 || hidden == 3,
                                                        .domain = p->n_columns };
    p->n_columns++;
    p->tables[r->table].n_columns++;
}

/* -1 where the table has none of that name. */
static int find_column(const struct perturb *p, int table, const char *name)
{
    const struct perturb_table *t = &p->tables[table];

    for (int c = t->first_column; c < t->first_column + t->n_columns; c++)
        if (strcasecmp(p->columns[c].name, name) == 0)
            return c;
    return -1;
}

static void add_unique(struct rule_reader *r, sqlite3_stmt *row)
{
    int c = find_column(r->p, r->table, text_of(r, row, 0));
    if (c >= 0)
        r->p->columns[c].unique = true;
}

/* A row is a column of a reference; the first of each has number 0. */
static void add_reference(struct rule_reader *r, sqlite3_stmt *row)
{
    struct perturb *p = r->p;
    int parent = perturb_find_table(p, text_of(r, row, 1));
    struct perturb_reference *last = p->n_references ? &p->references[p->n_references - 1] : NULL;

    if (parent < 0 || !p->tables[parent].wanted || p->tables[parent].view)
        return;
    if (sqlite3_column_int(row, 0) == 0 || !last || last->child != r->table) {
        GROW(p->references, p->n_references, p->references_cap);
        last = &p->references[p->n_references++];
        *last = (struct perturb_reference){ .child = r->table, .parent = parent };
    }
    if (last->n == REFERENCE_COLUMNS)
        return;
    last->from[last->n] = find_column(p, r->table, text_of(r, row, 2));
    last->to[last->n] = find_column(p, parent, text_of(r, row, 3));
    last->n++;
}

/* Those whose columns are all there. */
static void drop_broken_references(struct perturb *p)
{
    int kept = 0;

    for (int k = 0; k < p->n_references; k++) {
        const struct perturb_reference *r = &p->references[k];
        bool whole = true;
        for (int i = 0; i < r->n; i++)
            whole = whole && r->from[i] >= 0 && r->to[i] >= 0;
        if (whole)
            p->references[kept++] = *r;
    }
    p->n_references = kept;
}

/* A part of a primary key may be NULL in SQLite; nobody means that. */
static const char columns_sql[] = "SELECT name, type, \"notnull\" OR pk > 0, hidden FROM pragma_table_xinfo(?) "
                                  "WHERE hidden <> 1 ORDER BY cid";
static const char unique_sql[] =
    "SELECT max(i.name) FROM pragma_index_list(?1) AS l, pragma_index_info(l.name) AS i WHERE l.\"unique\" AND NOT "
    "l.partial GROUP BY l.name HAVING count(*) = 1 "
    "UNION SELECT max(name) FROM pragma_table_xinfo(?1) WHERE pk > 0 HAVING count(*) = 1";
/* a reference without columns means the parent's primary key, part by part */
static const char references_sql[] =
    "SELECT f.seq, f.\"table\", f.\"from\", coalesce(f.\"to\", (SELECT x.name FROM pragma_table_xinfo(f.\"table\") AS "
    "x WHERE x.pk = f.seq + 1)) FROM pragma_foreign_key_list(?) AS f ORDER BY f.id DESC, f.seq";

static int read_all(struct rule_reader *r, struct error *err)
{
    struct perturb *p = r->p;
    int rc = 0;

    for (int step = 0; step < 2; step++)
        for (r->table = 0; r->table < p->n_tables && rc == 0; r->table++) {
            struct perturb_table *t = &p->tables[r->table];
            if (!t->wanted || t->view)
                continue;
            if (step == 0) {
                t->first_column = p->n_columns;
                rc = each_rule(r, columns_sql, add_column, err) || each_rule(r, unique_sql, add_unique, err) ? -1 : 0;
            } else {
                rc = each_rule(r, references_sql, add_reference, err);
            }
        }
    drop_broken_references(p);
    return rc;
}

/* Unique indexes of tables that are there; the others cannot be made. */
static void define_indexes(struct rule_reader *r)
{
    struct value_list *list = &r->p->indexes;
    int kept = 0;

    for (int i = 0; i < list->n; i++)
        if (sqlite3_exec(r->db, list->items[i], NULL, NULL, NULL) == SQLITE_OK)
            list->items[kept++] = list->items[i];
    list->n = kept;
}

static int define_tables(struct rule_reader *r, struct error *err)
{
    for (int t = 0; t < r->p->n_tables; t++) {
        const struct perturb_table *table = &r->p->tables[t];
        if (table->wanted && !table->view && sqlite3_exec(r->db, table->sql, NULL, NULL, NULL) != SQLITE_OK)
            return error_set(err, EXIT_CODE_DATA, "table %s: %s", table->name, sqlite3_errmsg(r->db));
    }
    define_indexes(r);
    return 0;
}

int perturb_read_rules(struct perturb *p, struct error *err)
{
    struct rule_reader r = { .p = p };
    int rc = sqlite_open_memory(&r.db, MAX_DEFINITION, err);

    if (rc == 0) {
        sqlite3_set_authorizer(r.db, authorize, NULL);
        rc = define_tables(&r, err);
        sqlite3_set_authorizer(r.db, NULL, NULL);
    }
    if (rc == 0)
        rc = read_all(&r, err);
    sqlite3_close(r.db);
    return rc;
}
