/* Part of sql_resolve.h: names in expressions. */
#include "data/sql/sql_print.h"
#include "data/sql/sql_scope.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

bool sql_is_rowid(const char *name)
{
    return strcasecmp(name, "rowid") == 0 || strcasecmp(name, "oid") == 0 || strcasecmp(name, "_rowid_") == 0;
}

struct rowid_search {
    const struct sql_resolver *r;
    const struct sql_name *table;
    struct sql_source *found;
    int n;
};

/* A common table expression has none, nor a table WITHOUT ROWID, nor a group unless it is asked for by its alias. */
static bool may_have_rowid(const struct sql_resolver *r, const struct sql_source *s, const struct sql_name *table)
{
    if (s->cte || (s->table >= 0 && r->schema->tables[s->table].form == TABLE_WITHOUT_ROWID))
        return false;
    return table ? strcasecmp(sql_source_name(s), table->text) == 0 : s->kind != SQL_SOURCE_GROUP;
}

static void count_rowids(struct rowid_search *search, struct sql_source *list)
{
    for (struct sql_source *s = list; s; s = s->next)
        if (may_have_rowid(search->r, s, search->table)) {
            search->n++;
            search->found = s;
        }
}

/* SQLite lets even sub-queries have them. */
struct sql_source *sql_find_rowid(const struct sql_resolver *r, const struct sql_scope *s, const struct sql_expr *e)
{
    struct rowid_search search = { .r = r, .table = e->table };

    if (!sql_is_rowid(e->name.text))
        return NULL;
    count_rowids(&search, s->core->from);
    return search.n == 1 ? search.found : NULL;
}

static bool find_rowid(const struct sql_resolver *r, const struct sql_scope *s, const struct sql_expr *e,
                       struct sql_match *m)
{
    const char *name = e->name.text;
    struct sql_source *source = sql_find_rowid(r, s, e);

    *m = (struct sql_match){ .source = source, .column = { .name = name, .printed = name, .column = -1 }, .count = 1 };
    return source;
}

struct sql_result *sql_find_alias(const struct sql_core *core, const char *name)
{
    for (struct sql_result *result = core->results; result; result = result->next)
        if (result->alias.text && strcasecmp(result->alias.text, name) == 0)
            return result;
    return NULL;
}

void sql_settle_name(struct sql_name *n, const char *text)
{
    n->text = text;
    n->quote = sql_name_wants_quotes(text) ? '"' : 0;
}

static int settle_column(struct sql_resolver *r, struct sql_scope *s, struct sql_expr *e, const struct sql_match *m,
                         enum sql_clause clause)
{
    e->source = m->source;
    e->column = m->column.column;
    sql_settle_name(&e->name, m->column.printed);
    if (e->table)
        sql_settle_name(e->table, sql_source_name(m->source));
    if (e->schema)
        sql_settle_name(e->schema, "main");
    if (e->column < 0 && m->source->table >= 0) /* rowid */
        return sql_use_add(r, (struct sql_use){ m->source->table, -1, clause, s->level, e->span.begin, e->span.end });
    return sql_use_column(r, e->column, clause, s->level, e->span);
}

static int ambiguous(struct sql_resolver *r, const struct sql_expr *e, const struct sql_match *m)
{
    const char *name = e->name.text, *a = sql_source_name(m->source), *b = sql_source_name(m->second);
    return sql_fail(r, e->span, "column %s is ambiguous: %s.%s or %s.%s", name, a, name, b, name);
}

/* Names the tables that could be looked in, or the columns of the one that was. */
static int unknown_column(struct sql_resolver *r, const struct sql_scope *scope, const struct sql_expr *e)
{
    char sources[400] = "", columns[500] = "";

    for (const struct sql_scope *s = scope; s; s = s->outer)
        sql_list_sources(sources, sizeof sources, s->core->from);
    if (!e->table)
        return sql_fail(r, e->span, "no column %s in %s", e->name.text, sources[0] ? sources : "a SELECT without FROM");
    for (const struct sql_scope *s = scope; s; s = s->outer) {
        const struct sql_source *table = sql_find_source(s->core->from, e->table->text, NULL);
        if (!table || e->schema)
            continue;
        for (int i = 0; i < sql_source_size(r, table) && strlen(columns) < sizeof columns - 1; i++)
            snprintf(columns + strlen(columns), sizeof columns - strlen(columns), "%s%s", i ? ", " : "",
                     sql_source_output(r, table, i).name);
        return sql_fail(r, e->span, "%s has no column %s; it has %s", e->table->text, e->name.text, columns);
    }
    return sql_fail(r, e->span, "no table or alias %s%s%s here; there are %s", e->schema ? e->schema->text : "",
                    e->schema ? "." : "", e->table->text, sources[0] ? sources : "none");
}

/* A word that names nothing may still be a string or a truth value. */
static bool become_literal(struct sql_expr *e)
{
    bool truth = strcasecmp(e->name.text, "true") == 0;

    if (e->table)
        return false;
    if (e->name.quote == '"') {
        e->kind = SQL_EXPR_STRING;
        e->text = e->name.text;
        return true;
    }
    if (e->name.quote || (!truth && strcasecmp(e->name.text, "false") != 0))
        return false;
    e->kind = SQL_EXPR_LITERAL;
    e->text = truth ? "TRUE" : "FALSE";
    return true;
}

/* A column of the scope or of one around it, an alias, or a string; changes e to what it is. */
static int resolve_column(struct sql_resolver *r, struct sql_scope *scope, struct sql_expr *e, enum sql_clause clause)
{
    for (struct sql_scope *s = scope; s; s = s->outer) {
        struct sql_match m;
        sql_find_column(r, s->core->from, e->schema, e->table, e->name.text, &m);
        if (sql_work(r, 0, e->span))
            return -1;
        if (m.count > 1)
            return ambiguous(r, e, &m);
        if (m.count == 1 || find_rowid(r, s, e, &m))
            return settle_column(r, scope, e, &m, clause);
        struct sql_result *alias = s->aliases && !e->table ? sql_find_alias(s->core, e->name.text) : NULL;
        if (alias) {
            sql_settle_name(&e->name, alias->alias.text);
            return sql_use_again(r, alias, clause, scope->level, e->span);
        }
    }
    return become_literal(e) ? 0 : unknown_column(r, scope, e);
}

int sql_resolve_list(struct sql_resolver *r, struct sql_scope *s, struct sql_expr *list, enum sql_clause clause)
{
    for (struct sql_expr *e = list; e; e = e->next)
        if (sql_resolve_expr(r, s, e, clause))
            return -1;
    return 0;
}

struct single_column {
    struct sql_resolver *r;
    enum sql_clause clause;
    int level;
    struct sql_span span;
};

static int use_column_of(void *context, struct sql_output column)
{
    const struct single_column *c = context;
    return sql_use_column(c->r, column.column, c->clause, c->level, c->span);
}

/* x IN table reads like x IN (SELECT * FROM table). */
static int resolve_in_table(struct sql_resolver *r, struct sql_scope *s, struct sql_source *source)
{
    struct single_column c = { r, SQL_SELECT, s->level + 1, source->span };

    if (sql_resolve_source(r, s, source, SQL_FROM, s->level + 1) || sql_resolve_list(r, s, source->arguments, SQL_FROM))
        return -1;
    return sql_each_column(r, source, NULL, use_column_of, &c) < 0 ? -1 : 0;
}

static int resolve_parts(struct sql_resolver *r, struct sql_scope *s, struct sql_expr *e, enum sql_clause clause)
{
    struct sql_outputs outputs = { 0 };

    if ((e->left && sql_resolve_expr(r, s, e->left, clause)) ||
        (e->right && sql_resolve_expr(r, s, e->right, clause)) ||
        (e->third && sql_resolve_expr(r, s, e->third, clause)) || sql_resolve_list(r, s, e->list, clause))
        return -1;
    if ((e->filter && sql_resolve_expr(r, s, e->filter, clause)) ||
        (e->over && sql_resolve_over(r, s, e->over, clause)))
        return -1;
    if (e->kind == SQL_EXPR_IN && e->source)
        return resolve_in_table(r, s, e->source);
    return e->select ? sql_resolve_select(r, e->select, s, s->with, s->level + 1, NULL, &outputs) : 0;
}

int sql_resolve_expr(struct sql_resolver *r, struct sql_scope *s, struct sql_expr *e, enum sql_clause clause)
{
    if (sql_deeper(r, 1, e->span))
        return -1;
    int rc = e->kind == SQL_EXPR_COLUMN ? resolve_column(r, s, e, clause) : resolve_parts(r, s, e, clause);
    r->depth--;
    return rc;
}
