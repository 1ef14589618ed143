#include "data/sql/sql_scope.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static int resolve_group(struct sql_resolver *r, struct sql_scope *s, struct sql_source *group);

/* --- Lookup --- */

const char *sql_source_name(const struct sql_source *s)
{
    return s->alias.text ? s->alias.text : s->name.text ? s->name.text : "";
}

int sql_source_size(const struct sql_resolver *r, const struct sql_source *s)
{
    return s->table >= 0 ? r->schema->tables[s->table].n_columns : s->n_outputs;
}

struct sql_output sql_source_output(const struct sql_resolver *r, const struct sql_source *s, int i)
{
    if (s->table < 0)
        return s->outputs[i];
    int column = r->schema->tables[s->table].first_column + i;
    const char *name = r->schema->columns[column].name;
    return (struct sql_output){ .name = name, .printed = name, .column = column };
}

static bool has_name(const struct sql_name *names, const char *name)
{
    for (const struct sql_name *n = names; n; n = n->next)
        if (strcasecmp(n->text, name) == 0)
            return true;
    return false;
}

/* Returns whether a qualifier names that source. An alias hides the table's own name. */
static bool is_qualified(const struct sql_source *s, const struct sql_name *schema, const struct sql_name *table)
{
    if (schema && (s->alias.text || s->kind != SQL_SOURCE_TABLE || strcasecmp(schema->text, "main") != 0))
        return false;
    return strcasecmp(sql_source_name(s), table->text) == 0;
}

static void find_in_source(struct sql_resolver *r, struct sql_source *s, const struct sql_name *schema,
                           const struct sql_name *table, const char *name, struct sql_match *m)
{
    int n = sql_source_size(r, s);

    if (table && !is_qualified(s, schema, table))
        return;
    r->work += n;
    for (int i = 0; i < n; i++) {
        struct sql_output column = sql_source_output(r, s, i);
        if (strcasecmp(column.name, name) == 0) {
            *m = (struct sql_match){ .source = s, .column = column, .count = 1 };
            return;
        }
    }
    const char *hidden = s->table >= 0 ? schema_hidden_column(r->schema, s->table, name) : NULL;
    if (hidden)
        *m = (struct sql_match){ s, { hidden, hidden, .column = -1, .hidden = true }, 1, NULL };
}

/* The tables of a group can be named. The alias of the group is the fallback. */
static void find_in_group(struct sql_resolver *r, struct sql_source *s, const struct sql_name *schema,
                          const struct sql_name *table, const char *name, struct sql_match *m)
{
    sql_find_column(r, s->group, schema, table, name, m);
    if (m->count == 0 && table && s->alias.text)
        find_in_source(r, s, schema, table, name, m);
}

/* A column joined by USING counts once: the left one, or the right one of a RIGHT JOIN. */
void sql_find_column(struct sql_resolver *r, struct sql_source *list, const struct sql_name *schema,
                     const struct sql_name *table, const char *name, struct sql_match *m)
{
    *m = (struct sql_match){ 0 };
    for (struct sql_source *s = list; s; s = s->next) {
        struct sql_match found = { 0 };
        if (s->kind == SQL_SOURCE_GROUP)
            find_in_group(r, s, schema, table, name, &found);
        else
            find_in_source(r, s, schema, table, name, &found);
        if (found.count == 0)
            continue;
        if (m->count == 0 || (s->join == SQL_JOIN_RIGHT && has_name(s->joined, name))) {
            *m = found;
        } else if (!has_name(s->joined, name)) {
            m->second = found.source;
            m->count += found.count;
        }
    }
}

struct sql_source *sql_find_source(struct sql_source *list, const char *table, struct sql_source *after)
{
    int behind = after ? after->span.begin : -1;

    for (struct sql_source *s = list; s; s = s->next) {
        struct sql_source *inner = s->kind == SQL_SOURCE_GROUP ? sql_find_source(s->group, table, after) : NULL;
        if (inner)
            return inner;
        if (s->kind != SQL_SOURCE_GROUP && s->span.begin > behind && strcasecmp(sql_source_name(s), table) == 0)
            return s;
    }
    return NULL;
}

static int each_of(struct sql_resolver *r, const struct sql_source *s, bool all, sql_column_fn *fn, void *context)
{
    int n = sql_source_size(r, s);

    r->work += n;
    for (int i = 0; i < n; i++) {
        struct sql_output column = sql_source_output(r, s, i);
        if (!column.hidden && (all || !has_name(s->joined, column.name)) && fn(context, column))
            return -1;
    }
    return 0;
}

int sql_each_column(struct sql_resolver *r, struct sql_source *list, const char *table, sql_column_fn *fn,
                    void *context)
{
    int sources = 0;

    for (struct sql_source *s = table ? sql_find_source(list, table, NULL) : list; s; sources++) {
        if (each_of(r, s, table, fn, context))
            return -1;
        s = table ? sql_find_source(list, table, s) : s->next;
    }
    return sources;
}

void sql_list_sources(char *text, size_t size, const struct sql_source *list)
{
    size_t n = strlen(text);

    for (const struct sql_source *s = list; s && n < size - 1; s = s->next, n = strlen(text)) {
        if (n)
            n += (size_t)snprintf(text + n, size - n, ", ");
        if (n >= size - 1)
            return;
        if (s->kind == SQL_SOURCE_GROUP)
            sql_list_sources(text, size, s->group);
        else if (s->alias.text && s->name.text)
            snprintf(text + n, size - n, "%s (%s)", s->alias.text, s->name.text);
        else
            snprintf(text + n, size - n, "%s",
                     s->kind == SQL_SOURCE_SELECT && !s->alias.text ? "(SELECT ...)" : sql_source_name(s));
    }
}

#define JSON_COLUMNS "key", "value", "type", "atom", "id", "parent", "fullkey", "path", "json", "root"

/* --- Resolution of sources and joins --- */

/* Tables and table-valued functions that every SQLite database has. */
static const struct builtin {
    const char *name;
    bool function;
    int visible; /* columns that * shows; the rest are function arguments */
    const char *columns[11];
} builtins[] = {
    { "json_each", true, 8, { JSON_COLUMNS } },
    { "json_tree", true, 8, { JSON_COLUMNS } },
    { "generate_series", true, 1, { "value", "start", "stop", "step" } },
    { "sqlite_schema", false, 5, { "type", "name", "tbl_name", "rootpage", "sql" } },
    { "sqlite_master", false, 5, { "type", "name", "tbl_name", "rootpage", "sql" } },
    { "sqlite_sequence", false, 2, { "name", "seq" } },
    { "sqlite_stat1", false, 3, { "tbl", "idx", "stat" } },
};

static int use_builtin(struct sql_resolver *r, struct sql_source *s, const struct builtin *b)
{
    int n = 0;

    while (b->columns[n])
        n++;
    s->outputs = sql_take(r, (size_t)n, sizeof *s->outputs);
    if (!s->outputs)
        return -1;
    for (int i = 0; i < n; i++)
        s->outputs[i] = (struct sql_output){ b->columns[i], b->columns[i], -1, false, i >= b->visible };
    s->n_outputs = n;
    return 0;
}

static int unknown_table(struct sql_resolver *r, const struct sql_source *s)
{
    char tables[700] = "";

    for (int t = 0; t < r->schema->n_tables && strlen(tables) < sizeof tables - 1; t++)
        snprintf(tables + strlen(tables), sizeof tables - strlen(tables), "%s%s", t ? ", " : "",
                 r->schema->tables[t].name);
    return sql_fail(r, s->span, "no table %s; database %s has %s", s->name.text, r->schema->db_id,
                    tables[0] ? tables : "none");
}

static int resolve_base_table(struct sql_resolver *r, struct sql_source *s, enum sql_clause clause, int level)
{
    bool function = s->kind == SQL_SOURCE_FUNCTION;

    if (s->schema.text && strcasecmp(s->schema.text, "main") != 0)
        return sql_fail(r, s->schema.span, "no database %s; there is main", s->schema.text);
    s->table = schema_table_find(r->schema, s->name.text);
    if (function && s->table >= 0 && r->schema->tables[s->table].form < TABLE_FTS4)
        s->table = -1; /* only tables with hidden columns take arguments */
    if (s->table >= 0) {
        s->name.text = r->schema->tables[s->table].name;
        struct sql_span at = s->name.span;
        return sql_use_add(r, (struct sql_use){ s->table, -1, clause, level, at.begin, at.end });
    }
    for (int i = 0; i < ARRAY_LEN(builtins); i++)
        if (strcasecmp(builtins[i].name, s->name.text) == 0 && (builtins[i].function || !function))
            return use_builtin(r, s, &builtins[i]);
    return function ? sql_fail(r, s->span, "no table-valued function %s", s->name.text) : unknown_table(r, s);
}

static bool is_truth(const char *name)
{
    return strcasecmp(name, "true") == 0 || strcasecmp(name, "false") == 0;
}

/* Outside a sub-query, SQLite (sqlite3ColumnsFromExprList) names an output TRUE or FALSE columnN, counted from 1. */
static int rename_truths(struct sql_resolver *r, struct sql_output *list, int n, struct sql_span at)
{
    for (int i = 0; i < n; i++) {
        if (!is_truth(list[i].name))
            continue;
        char *name = sql_take(r, 24, 1);
        if (!name)
            return -1;
        snprintf(name, 24, "column%d", i + 1);
        for (int k = 0; k < n; k++)
            if (strcasecmp(list[k].name, name) == 0)
                return sql_fail(r, at, "SQLite calls column %s %s, and another column has that name: add an alias",
                                list[i].name, name);
        list[i].name = list[i].printed = name;
    }
    return 0;
}

/* Names the outputs of a CTE by its column list, if it has one. */
static int name_outputs(struct sql_resolver *r, struct sql_cte *c, const struct sql_outputs *outputs)
{
    const struct sql_name *name = c->columns;
    int names = 0;

    for (const struct sql_name *n = name; n; n = n->next)
        names++;
    if (names && names != outputs->n)
        return sql_fail(r, c->name.span, "%s: expected %d columns in the SELECT, got %d", c->name.text, names,
                        outputs->n);
    c->outputs = sql_take(r, (size_t)outputs->n, sizeof *c->outputs);
    if (!c->outputs)
        return -1;
    for (int i = 0; i < outputs->n; i++) {
        c->outputs[i] = outputs->list[i];
        if (name) {
            c->outputs[i].name = c->outputs[i].printed = name->text;
            name = name->next;
        }
    }
    c->n_outputs = outputs->n;
    return rename_truths(r, c->outputs, c->n_outputs, c->name.span);
}

int sql_publish_cte(struct sql_resolver *r, struct sql_cte *c, const struct sql_outputs *outputs)
{
    if (name_outputs(r, c, outputs))
        return -1;
    c->state = SQL_CTE_RECURSIVE;
    return 0;
}

int sql_resolve_cte(struct sql_resolver *r, const struct sql_with *with, struct sql_cte *c)
{
    struct sql_outputs outputs = { 0 };

    if (c->state == SQL_CTE_OPEN)
        return sql_fail(r, c->name.span, "%s refers to itself", c->name.text);
    if (c->state != SQL_CTE_NEW)
        return 0;
    c->state = SQL_CTE_OPEN;
    int rc = sql_resolve_select(r, c->select, with->scope, with, with->level + 1, c, &outputs);
    c->state = rc ? SQL_CTE_NEW : SQL_CTE_DONE;
    return rc;
}

/* Returns 1 if the name is a CTE, 0 if not, or -1 with an error. */
static int resolve_cte_name(struct sql_resolver *r, const struct sql_with *with, struct sql_source *s)
{
    if (s->schema.text || s->kind != SQL_SOURCE_TABLE)
        return 0;
    for (const struct sql_with *w = with; w; w = w->outer)
        for (struct sql_cte *c = w->ctes; c; c = c->next) {
            if (sql_work(r, 1, s->span))
                return -1;
            if (strcasecmp(c->name.text, s->name.text) != 0)
                continue;
            if (sql_resolve_cte(r, w, c))
                return -1;
            s->cte = c;
            s->name.text = c->name.text;
            s->outputs = c->outputs;
            s->n_outputs = c->n_outputs;
            return 1;
        }
    return 0;
}

int sql_resolve_source(struct sql_resolver *r, struct sql_scope *s, struct sql_source *source, enum sql_clause clause,
                       int level)
{
    struct sql_outputs outputs = { 0 };
    int rc;

    switch (source->kind) {
    case SQL_SOURCE_GROUP:
        return resolve_group(r, s, source);
    case SQL_SOURCE_SELECT:
        /* a derived table sees the enclosing scopes, but not its neighbours in FROM */
        if (sql_resolve_select(r, source->select, s->outer, s->with, level + 1, NULL, &outputs))
            return -1;
        source->outputs = outputs.list;
        source->n_outputs = outputs.n;
        return rename_truths(r, outputs.list, outputs.n, source->span);
    default:
        rc = resolve_cte_name(r, s->with, source);
        return rc ? (rc < 0 ? -1 : 0) : resolve_base_table(r, source, clause, level);
    }
}

struct collected {
    struct sql_resolver *r;
    struct sql_outputs outputs;
    int cap;
};

static int collect(void *context, struct sql_output column)
{
    struct collected *c = context;

    if (c->outputs.n == c->cap)
        return -1;
    c->outputs.list[c->outputs.n++] = column;
    return 0;
}

static int count(void *context, struct sql_output column)
{
    (void)column;
    return ++*(int *)context > SQL_MAX_OUTPUTS;
}

/* Collects all columns that * shows, in the arena. */
static int collect_columns(struct sql_resolver *r, struct sql_source *list, struct sql_span at, struct sql_outputs *out)
{
    struct collected c = { .r = r };

    if (sql_each_column(r, list, NULL, count, &c.cap) < 0)
        return sql_fail(r, at, "more than %d columns", SQL_MAX_OUTPUTS);
    c.outputs.list = sql_take(r, (size_t)c.cap, sizeof *c.outputs.list);
    if (!c.outputs.list)
        return -1;
    sql_each_column(r, list, NULL, collect, &c);
    *out = c.outputs;
    return 0;
}

/* Collects the columns of this source alone. */
static int own_columns(struct sql_resolver *r, struct sql_source *s, struct sql_outputs *out)
{
    struct sql_source alone = *s;
    alone.next = NULL;
    alone.joined = NULL;
    return collect_columns(r, &alone, s->span, out);
}

/* Cuts the list before `end` and returns the last source before it. The caller restores the link. */
static struct sql_source *cut_before(struct sql_source *list, const struct sql_source *end)
{
    struct sql_source *s = list;
    while (s->next != end)
        s = s->next;
    s->next = NULL;
    return s;
}

/* A NATURAL join is USING with every name that both sides share. */
static int natural_columns(struct sql_resolver *r, struct sql_source *before, struct sql_source *s)
{
    struct sql_outputs own = { 0 };
    struct sql_name **end = &s->joined;

    if (own_columns(r, s, &own))
        return -1;
    for (int i = 0; i < own.n; i++) {
        struct sql_match m;
        sql_find_column(r, before, NULL, NULL, own.list[i].name, &m);
        if (m.count == 0 || m.column.hidden)
            continue;
        *end = sql_take(r, 1, sizeof **end);
        if (!*end)
            return -1;
        **end = (struct sql_name){ .text = own.list[i].name, .span = s->span };
        end = &(*end)->next;
    }
    return 0;
}

/* Every USING name must exist on both sides, and counts as used on both. */
static int join_columns(struct sql_resolver *r, const struct sql_scope *scope, struct sql_source *before,
                        struct sql_source *s)
{
    for (struct sql_name *n = s->joined; n; n = n->next) {
        struct sql_match left, right;
        struct sql_source alone = *s;
        alone.next = NULL;
        sql_find_column(r, before, NULL, NULL, n->text, &left);
        sql_find_column(r, &alone, NULL, NULL, n->text, &right);
        if (!left.count || !right.count)
            return sql_fail(r, n->span, "USING (%s): expected the column on both sides of the join", n->text);
        n->text = left.column.printed;
        if (sql_use_column(r, left.column.column, SQL_ON, scope->level, n->span) ||
            sql_use_column(r, right.column.column, SQL_ON, scope->level, n->span))
            return -1;
    }
    return 0;
}

static int resolve_join(struct sql_resolver *r, const struct sql_scope *scope, struct sql_source *before,
                        struct sql_source *s)
{
    if (s->natural && (s->on || s->columns))
        return sql_fail(r, s->span, "NATURAL cannot be used with ON or USING");
    s->joined = s->columns;
    if (s->natural && natural_columns(r, before, s))
        return -1;
    return join_columns(r, scope, before, s);
}

static int resolve_joins(struct sql_resolver *r, const struct sql_scope *scope, struct sql_source *list)
{
    int rc = 0;

    for (struct sql_source *s = list->next; s && rc == 0; s = s->next) {
        if (!s->natural && !s->columns)
            continue;
        struct sql_source *last = cut_before(list, s);
        rc = resolve_join(r, scope, list, s);
        last->next = s;
    }
    return rc;
}

static int resolve_list(struct sql_resolver *r, struct sql_scope *scope, struct sql_source *list)
{
    int n = 0;

    for (struct sql_source *s = list; s; s = s->next) {
        if (++n > SQL_MAX_SOURCES)
            return sql_fail(r, s->span, "more than %d tables in one FROM", SQL_MAX_SOURCES);
        if (sql_resolve_source(r, scope, s, SQL_FROM, scope->level))
            return -1;
    }
    return resolve_joins(r, scope, list);
}

/* ON and function arguments see the whole clause; within a group they see only the group. */
static int resolve_conditions(struct sql_resolver *r, struct sql_scope *scope, struct sql_source *list)
{
    for (struct sql_source *s = list; s; s = s->next)
        if (sql_resolve_list(r, scope, s->arguments, SQL_FROM) || (s->on && sql_resolve_expr(r, scope, s->on, SQL_ON)))
            return -1;
    return 0;
}

/* ( a JOIN b ) is resolved as a sub-query at the same level, but its tables stay visible. */
static int resolve_group(struct sql_resolver *r, struct sql_scope *s, struct sql_source *group)
{
    struct sql_outputs outputs = { 0 };
    struct sql_core core = { .from = group->group };
    struct sql_scope inner = { .core = &core, .outer = s->outer, .with = s->with, .level = s->level };

    if (sql_deeper(r, SQL_SELECT_DEPTH, group->span) || resolve_list(r, &inner, group->group) ||
        resolve_conditions(r, &inner, group->group))
        return -1;
    r->depth -= SQL_SELECT_DEPTH;
    if (collect_columns(r, group->group, group->span, &outputs))
        return -1;
    group->outputs = outputs.list;
    group->n_outputs = outputs.n;
    return 0;
}

int sql_resolve_tables(struct sql_resolver *r, struct sql_scope *s)
{
    return s->core->from ? resolve_list(r, s, s->core->from) : 0;
}

int sql_resolve_conditions(struct sql_resolver *r, struct sql_scope *s)
{
    return resolve_conditions(r, s, s->core->from);
}
