#include "data/sql/sql_lex.h"
#include "data/sql/sql_scope.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const char *sql_clause_name(enum sql_clause c)
{
    static const char *const names[] = { "select", "from", "on", "where", "group", "having", "order", "limit" };
    return names[c];
}

void *sql_take(struct sql_resolver *r, size_t count, size_t size)
{
    size_t bytes = (count ? count : 1) * size, left = r->arena->size - r->arena->used;

    if (bytes + ARENA_ALIGN > left) {
        error_set(r->err, EXIT_CODE_MEMORY, "SQL wants %zu bytes of its arena, %zu are left", bytes, left);
        return NULL;
    }
    return memset(arena_alloc(r->arena, bytes), 0, bytes);
}

int sql_fail(struct sql_resolver *r, struct sql_span at, const char *fmt, ...)
{
    char what[900];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    return sql_error(r->err, r->text, at.begin, ": %s", what);
}

int sql_deeper(struct sql_resolver *r, int by, struct sql_span at)
{
    r->depth += by;
    return r->depth > SQL_MAX_DEPTH ? sql_fail(r, at, "nested too deeply") : 0;
}

int sql_work(struct sql_resolver *r, int n, struct sql_span at)
{
    r->work += n;
    return r->work > SQL_MAX_WORK ? sql_fail(r, at, "too many names to compare") : 0;
}

int sql_use_add(struct sql_resolver *r, struct sql_use use)
{
    if (r->n_uses == SQL_MAX_USES)
        return sql_error(r->err, r->text, use.begin, ": more than %d uses of tables and columns", SQL_MAX_USES);
    GROW(r->uses, r->n_uses, r->uses_cap);
    r->uses[r->n_uses++] = use;
    return 0;
}

int sql_use_column(struct sql_resolver *r, int column, enum sql_clause clause, int level, struct sql_span at)
{
    if (column < 0)
        return 0;
    int table = r->schema->columns[column].table;
    return sql_use_add(r, (struct sql_use){ table, column, clause, level, at.begin, at.end });
}

int sql_use_again(struct sql_resolver *r, const struct sql_result *result, enum sql_clause clause, int level,
                  struct sql_span at)
{
    for (int i = 0; i < result->n_uses; i++) {
        struct sql_use use = r->uses[result->first_use + i];
        use.depth += level - result->level;
        use.clause = use.depth == level ? clause : use.clause;
        use.begin = at.begin;
        use.end = at.end;
        if (sql_use_add(r, use))
            return -1;
    }
    return 0;
}

/* Whether a column is its table's rowid, by one of its own names or as the only primary key, a number. */
static bool is_row_number(const struct sql_resolver *r, const struct sql_expr *e)
{
    if (e->column < 0)
        return sql_is_rowid(e->name.text);
    const struct schema_column *own = &r->schema->columns[e->column];
    const struct schema_table *t = &r->schema->tables[own->table];
    int keys = 0;
    for (int c = t->first_column; c < t->first_column + t->n_columns; c++)
        keys += r->schema->columns[c].primary;
    return own->primary && keys == 1 && own->type == COLUMN_NUMBER;
}

/* Where an ORDER BY term of a set operation stands among one core's results, counted from 1; 0 when nowhere. */
static long find_in_core(struct sql_resolver *r, const struct sql_scope *s, const struct sql_outputs *outputs,
                         const struct sql_expr *e)
{
    struct sql_match m = { 0 };
    long i = 1;

    for (int o = 0; o < outputs->n && !e->table; o++)
        if (strcasecmp(outputs->list[o].name, e->name.text) == 0)
            return o + 1;
    sql_find_column(r, s->core->from, e->schema, e->table, e->name.text, &m);
    const struct sql_source *rows = m.count ? NULL : sql_find_rowid(r, s, e);
    for (const struct sql_result *result = s->core->results; result && result->expr; result = result->next, i++) {
        const struct sql_expr *x = result->expr;
        if (x->kind != SQL_EXPR_COLUMN || !x->source)
            continue;
        if (rows ? x->source == rows && is_row_number(r, x)
                 : m.count == 1 && x->source == m.source && strcasecmp(x->name.text, m.column.name) == 0)
            return i;
    }
    return 0;
}

/* A SELECT while its cores are resolved. */
struct compound {
    struct sql_resolver *r;
    struct sql_scope *scopes; /* of each core */
    struct sql_outputs *outputs;
    int n;
};

/* An expression must resolve in one of the cores; the first one's complaint is the one told. */
static int resolve_compound_expr(const struct compound *c, struct sql_expr *e)
{
    struct error *err = c->r->err, ignored = { 0 };
    int depth = c->r->depth, rc = -1;

    for (int i = 0; i < c->n && rc; i++) {
        struct sql_scope own = c->scopes[i];
        own.outer = NULL;
        c->r->err = i ? &ignored : err;
        c->r->depth = depth;
        rc = sql_resolve_expr(c->r, &own, e, SQL_ORDER);
    }
    c->r->err = err;
    return rc;
}

static int resolve_compound_term(struct compound *c, struct sql_expr *e)
{
    struct sql_expr *inner = e;
    long n = sql_ordinal(e);

    while (inner->kind == SQL_EXPR_COLLATE)
        inner = inner->left;
    if (n < 0 && inner->kind != SQL_EXPR_COLUMN)
        return resolve_compound_expr(c, e);
    for (int i = 0; i < c->n && n < 0; i++) {
        if (sql_work(c->r, c->outputs[i].n, inner->span))
            return -1;
        long found = find_in_core(c->r, &c->scopes[i], &c->outputs[i], inner);
        if (found && !inner->table)
            sql_settle_name(&inner->name, c->outputs[i].list[found - 1].printed);
        n = found ? found : n;
    }
    if (n < 0)
        return sql_fail(c->r, inner->span, "%s is no column of the set operation", inner->name.text);
    for (int i = 0; i < c->n; i++)
        if (sql_use_ordinal(c->r, &c->scopes[i], &c->outputs[i], n, inner, SQL_ORDER))
            return -1;
    return 0;
}

/* No column can be seen from LIMIT. */
static int resolve_limit(struct sql_resolver *r, const struct sql_scope *s, const struct sql_tail *t)
{
    struct sql_core nothing = { 0 };
    struct sql_scope alone = { .core = &nothing, .with = s->with, .level = s->level };

    if (t->limit && sql_resolve_expr(r, &alone, t->limit, SQL_LIMIT))
        return -1;
    return t->offset ? sql_resolve_expr(r, &alone, t->offset, SQL_LIMIT) : 0;
}

static int resolve_tail(struct compound *c, const struct sql_tail *t)
{
    if (c->n == 1 && sql_resolve_order(c->r, c->scopes, c->outputs, t->order))
        return -1;
    for (struct sql_order *o = t->order; o && c->n > 1; o = o->next)
        if (resolve_compound_term(c, o->expr))
            return -1;
    return resolve_limit(c->r, c->scopes, t);
}

static int resolve_one_core(struct compound *c, int i, struct sql_cte *cte)
{
    struct sql_scope *s = &c->scopes[i];
    struct compound alone = { c->r, s, &c->outputs[i], 1 };

    if (sql_resolve_core(c->r, s, &c->outputs[i]))
        return -1;
    if (c->outputs[i].n != c->outputs[0].n)
        return sql_fail(c->r, s->core->span, "a SELECT of %d columns joined to one of %d", c->outputs[i].n,
                        c->outputs[0].n);
    if (i == 0 && cte && sql_publish_cte(c->r, cte, c->outputs))
        return -1;
    return resolve_tail(&alone, &s->core->tail);
}

static int resolve_cores(struct sql_resolver *r, struct sql_select *select, const struct sql_scope *model,
                         struct sql_cte *cte, struct sql_outputs *outputs)
{
    struct compound c = { .r = r };
    struct sql_core *core;
    int n = 0;

    for (core = select->cores; core; core = core->next)
        n++;
    c.scopes = sql_take(r, (size_t)n, sizeof *c.scopes);
    c.outputs = c.scopes ? sql_take(r, (size_t)n, sizeof *c.outputs) : NULL;
    if (!c.outputs)
        return -1;
    for (core = select->cores; core; core = core->next, c.n++) {
        c.scopes[c.n] = *model;
        c.scopes[c.n].core = core;
        if (resolve_one_core(&c, c.n, cte))
            return -1;
    }
    *outputs = c.outputs[0];
    return resolve_tail(&c, &select->tail);
}

void sql_attempt(struct sql_resolver *r, sql_attempt_fn *fn, void *context)
{
    struct error *err = r->err, ignored = { 0 };
    int depth = r->depth, n_uses = r->n_uses;

    r->err = &ignored;
    if (fn(r, context)) {
        r->depth = depth;
        r->n_uses = n_uses;
    }
    r->err = err;
}

struct unused_cte {
    const struct sql_with *with;
    struct sql_cte *cte;
};

static int resolve_unused(struct sql_resolver *r, void *context)
{
    const struct unused_cte *u = context;
    return sql_resolve_cte(r, u->with, u->cte);
}

int sql_resolve_select(struct sql_resolver *r, struct sql_select *select, struct sql_scope *outer,
                       const struct sql_with *with, int level, struct sql_cte *cte, struct sql_outputs *outputs)
{
    const struct sql_with own = { select->ctes, with, outer, level };
    const struct sql_scope model = { .outer = outer, .with = &own, .level = level };

    if (sql_deeper(r, SQL_SELECT_DEPTH, select->span))
        return -1;
    if (resolve_cores(r, select, &model, cte, outputs))
        return -1;
    /* SQLite looks at a common table expression when something reads it and not before, so one in which nothing makes
     * sense may stand unused.  Those that make sense are resolved for the sake of their canonical names. */
    for (struct sql_cte *c = select->ctes; c; c = c->next)
        sql_attempt(r, resolve_unused, &(struct unused_cte){ &own, c });
    r->depth -= SQL_SELECT_DEPTH;
    return 0;
}

static int compare_uses(const void *left, const void *right)
{
    const struct sql_use *a = left, *b = right;
    const int keys[][2] = { { a->begin, b->begin }, { a->end, b->end },       { a->depth, b->depth },
                            { a->table, b->table }, { a->column, b->column }, { (int)a->clause, (int)b->clause } };
    for (int i = 0; i < ARRAY_LEN(keys); i++)
        if (keys[i][0] != keys[i][1])
            return keys[i][0] < keys[i][1] ? -1 : 1;
    return 0;
}

/* In order of the text, none twice. */
static int keep_uses(struct sql_resolver *r, struct sql_uses *uses)
{
    int n = 0;

    if (r->n_uses)
        qsort(r->uses, (size_t)r->n_uses, sizeof *r->uses, compare_uses);
    for (int i = 0; i < r->n_uses; i++)
        if (n == 0 || compare_uses(&r->uses[i], &r->uses[n - 1]) != 0)
            r->uses[n++] = r->uses[i];
    uses->list = sql_take(r, (size_t)n, sizeof *uses->list);
    if (!uses->list)
        return -1;
    if (n)
        memcpy(uses->list, r->uses, (size_t)n * sizeof *r->uses);
    uses->n = n;
    return 0;
}

int sql_resolve(struct arena *a, struct sql_query *q, const struct schema *s, struct sql_uses *uses, struct error *err)
{
    struct error ignored = { 0 };
    struct sql_resolver r = { .arena = a, .text = q->text, .schema = s, .err = err ? err : &ignored };
    struct sql_outputs outputs = { 0 };

    *uses = (struct sql_uses){ 0 };
    int rc = sql_resolve_select(&r, q->select, NULL, NULL, 0, NULL, &outputs);
    if (rc == 0)
        rc = keep_uses(&r, uses);
    free(r.uses);
    return rc;
}
