/* Part of schema_edit.h: statements in the names of an edited schema. */
#include "data/natural/schema_edit_impl.h"

#include "data/rewrite/sql_edit.h"
#include "data/sql/sql_resolve.h"

#include <string.h>
#include <strings.h>

struct renamer {
    const struct schema *from;
    const char *const *tables, *const *columns;
    bool refused;
};

static void settle_table(struct renamer *r, struct sql_name *name, int table)
{
    if (name->text && strcasecmp(name->text, r->from->tables[table].name) == 0)
        sql_settle_name(name, r->tables[table]);
}

static void rename_expr(void *context, struct sql_expr *e, struct sql_core *core)
{
    struct renamer *r = context;

    (void)core;
    if (e->kind != SQL_EXPR_COLUMN || e->column < 0)
        return;
    const struct schema_column *c = &r->from->columns[e->column];
    if (e->source && strcasecmp(e->name.text, c->name) != 0)
        return;
    sql_settle_name(&e->name, r->columns[e->column]);
    if (e->table && e->source && e->source->table >= 0 && !e->source->alias.text)
        settle_table(r, e->table, e->source->table);
}

static void rename_source(void *context, struct sql_source *s, struct sql_core *core)
{
    struct renamer *r = context;

    (void)core;
    r->refused = r->refused || s->natural || s->columns;
    if (s->kind == SQL_SOURCE_TABLE && !s->cte && s->table >= 0)
        sql_settle_name(&s->name, r->tables[s->table]);
}

static void rename_core(void *context, struct sql_core *core, struct sql_select *select)
{
    struct renamer *r = context;

    (void)select;
    for (struct sql_result *x = core->results; x; x = x->next)
        for (int t = 0; x->table.text && t < r->from->n_tables; t++)
            settle_table(r, &x->table, t);
}

const char *edit_rename_sql(struct edit_database *d, const char *sql, const char *const *tables,
                            const char *const *columns, const struct schema *to)
{
    struct renamer r = { .from = d->schema, .tables = tables, .columns = columns };
    const struct sql_walker walker = {
        .context = &r, .expr = rename_expr, .source = rename_source, .core = rename_core
    };
    struct sql_uses uses;
    const char *out = NULL;
    size_t mark = arena_mark(d->sql);

    struct sql_query *q = sql_parse(d->sql, sql, NULL);
    if (q && sql_resolve(d->sql, q, d->schema, &uses, NULL) == 0) {
        sql_walk(&walker, q->select);
        const char *text = r.refused ? NULL : sql_print(d->sql, q);
        q = text ? sql_parse(d->sql, text, NULL) : NULL;
        if (q && sql_resolve(d->sql, q, to, &uses, NULL) == 0)
            out = strings_keep(&d->text, text);
    }
    arena_reset(d->sql, mark);
    return out;
}

static void note_use(enum edit_use *use, enum sql_clause clause)
{
    enum edit_use found = clause == SQL_WHERE ? USE_COMPARED : USE_SHOWN;

    if (found > *use)
        *use = found;
}

bool edit_uses(struct edit_database *d, const char *sql, enum edit_use *uses)
{
    struct sql_uses list;
    size_t mark = arena_mark(d->sql);
    struct sql_query *q = sql_parse(d->sql, sql, NULL);
    bool ok = q && sql_resolve(d->sql, q, d->schema, &list, NULL) == 0;

    for (int i = 0; ok && i < list.n; i++) {
        if (list.list[i].table >= 0)
            note_use(&uses[list.list[i].table], list.list[i].clause);
        if (list.list[i].column >= 0)
            note_use(&uses[d->schema->n_tables + list.list[i].column], list.list[i].clause);
    }
    arena_reset(d->sql, mark);
    return ok;
}
