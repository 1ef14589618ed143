/* Part of perturb.h: tables by their definitions, which a database in memory without rows tells the rules of. */
#include "data/perturb/perturb_impl.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const struct exec_limits limits = { .steps = 20000000, .rows = 100000, .bytes = 16 << 20, .seconds = 5 };

static bool begins(const char *sql, const char *words)
{
    return strncasecmp(sql, words, strlen(words)) == 0;
}

static bool is(const struct cell *c, const char *word)
{
    return strcmp(c->bytes, word) == 0;
}

/* A row: type, name, the table's name, SQL.  Virtual tables have no rows to change. */
static void add_definition(struct perturb *p, const struct cell *row)
{
    const char *sql = strings_keep(&p->pool, row[3].bytes);

    if (begins(row[2].bytes, "sqlite_") || begins(sql, "CREATE VIRTUAL"))
        return;
    if (is(&row[0], "index") && begins(sql, "CREATE UNIQUE")) {
        value_list_add(&p->indexes, sql);
        value_list_add(&p->indexed, strings_keep(&p->pool, row[2].bytes));
    }
    if (!is(&row[0], "table") && !is(&row[0], "view"))
        return;
    GROW(p->tables, p->n_tables, p->tables_cap);
    p->tables[p->n_tables++] =
        (struct perturb_table){ .name = strings_keep(&p->pool, row[1].bytes), .sql = sql, .view = is(&row[0], "view") };
}

int perturb_read_definitions(struct perturb *p, struct error *err)
{
    enum { COLUMNS = 4 };
    static const char query[] = "SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE typeof(type) = 'text' AND "
                                "typeof(name) = 'text' AND typeof(tbl_name) = 'text' AND typeof(sql) = 'text' "
                                "ORDER BY rowid";
    struct exec_result r = exec_run(p->db, query);
    int rc = r.status == EXEC_OK ? 0 : error_set(err, EXIT_CODE_DATA, "its tables: %s", r.message);

    for (int64_t i = 0; i < r.n; i++)
        add_definition(p, &r.cells[COLUMNS * i]);
    exec_result_release(&r);
    return rc;
}

void perturb_define(const struct perturb *p, FILE *out)
{
    for (int t = 0; t < p->n_tables; t++)
        if (p->tables[t].wanted && !p->tables[t].view)
            fprintf(out, "%s;\n", p->tables[t].sql);
    for (int i = 0; i < p->indexes.n; i++) {
        int table = perturb_find_table(p, p->indexed.items[i]);
        if (table >= 0 && p->tables[table].wanted)
            fprintf(out, "%s;\n", p->indexes.items[i]);
    }
}

typedef void rule_fn(struct perturb *p, int table, const struct cell *row);

/* Gives each row of a query to fn; the first column names the table. */
static int each_rule(struct perturb *p, struct exec_db *db, const char *sql, rule_fn *fn, struct error *err)
{
    struct exec_result r = exec_run(db, sql);
    int rc = r.status == EXEC_OK ? 0 : error_set(err, EXIT_CODE_DATA, "its columns: %s", r.message);

    for (int64_t i = 0; i < r.n; i++) {
        const struct cell *row = &r.cells[i * r.columns];
        int table = row->type == CELL_TEXT ? perturb_find_table(p, row->bytes) : -1;
        if (table >= 0)
            fn(p, table, row);
    }
    exec_result_release(&r);
    return rc;
}

static const char *text_of(struct perturb *p, const struct cell *c)
{
    return strings_keep(&p->pool, c->type == CELL_TEXT ? c->bytes : "");
}

/* A part of a primary key may be NULL in SQLite; nobody means that. */
static const char columns_sql[] =
    "SELECT s.name, x.name, x.type, x.\"notnull\" OR x.pk > 0, x.hidden FROM sqlite_schema AS s JOIN "
    "pragma_table_xinfo(s.name) AS x WHERE s.type = 'table' AND x.hidden <> 1 ORDER BY s.rowid, x.cid";

static void add_column(struct perturb *p, int table, const struct cell *row)
{
    enum { NAME = 1, TYPE, REQUIRED, HIDDEN };
    struct perturb_table *t = &p->tables[table];

    if (!t->n_columns)
        t->first_column = p->n_columns;
    GROW(p->columns, p->n_columns, p->columns_cap);
    p->columns[p->n_columns] = (struct perturb_column){ .name = text_of(p, &row[NAME]),
                                                        .type = text_of(p, &row[TYPE]),
                                                        .required = row[REQUIRED].integer,
                                                        .generated = row[HIDDEN].integer >= 2,
                                                        .domain = p->n_columns };
    p->n_columns++;
    t->n_columns++;
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

static const char unique_sql[] =
    "SELECT s.name, max(i.name) FROM sqlite_schema AS s JOIN pragma_index_list(s.name) AS l JOIN "
    "pragma_index_info(l.name) AS i WHERE s.type = 'table' AND l.\"unique\" AND NOT l.partial "
    "GROUP BY s.name, l.name HAVING count(*) = 1 "
    "UNION ALL SELECT s.name, max(x.name) FROM sqlite_schema AS s JOIN pragma_table_xinfo(s.name) AS x "
    "WHERE s.type = 'table' AND x.pk > 0 GROUP BY s.name HAVING count(*) = 1";

static void add_unique(struct perturb *p, int table, const struct cell *row)
{
    int c = find_column(p, table, text_of(p, &row[1]));
    if (c >= 0)
        p->columns[c].unique = true;
}

/* a reference without columns means the parent's primary key, part by part */
static const char references_sql[] =
    "SELECT s.name, f.seq, f.\"table\", f.\"from\", coalesce(f.\"to\", (SELECT x.name FROM "
    "pragma_table_xinfo(f.\"table\") AS x WHERE x.pk = f.seq + 1)) FROM sqlite_schema AS s JOIN "
    "pragma_foreign_key_list(s.name) AS f WHERE s.type = 'table' ORDER BY s.rowid, f.id DESC, f.seq";

/* A row is a column of a reference; the first of each has number 0. */
static void add_reference(struct perturb *p, int table, const struct cell *row)
{
    enum { NUMBER = 1, PARENT, FROM, TO };
    int parent = perturb_find_table(p, text_of(p, &row[PARENT]));
    struct perturb_reference *last = p->n_references ? &p->references[p->n_references - 1] : NULL;

    if (parent < 0 || !p->tables[parent].n_columns)
        return;
    if (row[NUMBER].integer == 0 || !last || last->child != table) {
        GROW(p->references, p->n_references, p->references_cap);
        last = &p->references[p->n_references++];
        *last = (struct perturb_reference){ .child = table, .parent = parent };
    }
    if (last->n == REFERENCE_COLUMNS)
        return;
    last->from[last->n] = find_column(p, table, text_of(p, &row[FROM]));
    last->to[last->n] = find_column(p, parent, text_of(p, &row[TO]));
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

int perturb_read_rules(struct perturb *p, struct error *err)
{
    char *script = NULL;
    size_t size;
    FILE *f = open_memstream(&script, &size);

    CHECK(f, "cannot write to memory");
    perturb_define(p, f);
    CHECK(fclose(f) == 0, "cannot write to memory");
    struct exec_db *db = exec_open_script_schema(script, &limits, err);
    free(script);
    int rc = db && each_rule(p, db, columns_sql, add_column, err) == 0 &&
                     each_rule(p, db, unique_sql, add_unique, err) == 0 &&
                     each_rule(p, db, references_sql, add_reference, err) == 0
                 ? 0
                 : -1;
    exec_close(db);
    drop_broken_references(p);
    return rc;
}
