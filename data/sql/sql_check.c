#include "data/sql/sql_check_impl.h"

#include "data/sql/sql_function.h"
#include "data/sql/sql_lex.h"
#include "data/sql/sql_resolve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

int sql_refuse(const struct sql_checker *c, struct sql_span at, const char *fmt, ...)
{
    char what[800];
    va_list ap;

    if (c->unused)
        return 0;
    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    return sql_error(c->err, c->text, at.begin, ": %s", what);
}

int sql_refuse_always(struct sql_checker *c, struct sql_span at, const char *what)
{
    c->unused = false;
    return sql_refuse(c, at, "%s", what);
}

static int core_width(const struct sql_core *core)
{
    int n = 0;

    for (const struct sql_expr *e = core->rows ? core->rows->list : NULL; e; e = e->next)
        n++;
    for (const struct sql_result *r = core->results; r; r = r->next)
        n += r->expr ? 1 : r->n_outputs;
    return n;
}

int sql_select_width(const struct sql_select *select)
{
    return core_width(select->cores);
}

/* Grouped, or an aggregate among its results. */
static bool is_aggregate(const struct sql_core *core)
{
    for (const struct sql_result *r = core->results; r; r = r->next)
        if (r->expr && sql_has_aggregate(r->expr, true))
            return true;
    return core->group != NULL;
}

static int check_cte(struct sql_checker *c, const struct sql_cte *cte, const struct sql_place *outer)
{
    for (int i = 0; i < c->n_seen; i++)
        if (c->seen[i] == cte)
            return 0;
    GROW(c->seen, c->n_seen, c->seen_cap);
    c->seen[c->n_seen++] = cte;
    return sql_check_select(c, cte->select, outer);
}

static int check_unused(struct sql_checker *c, const struct sql_cte *cte, const struct sql_place *outer)
{
    bool before = c->unused;

    c->unused = true;
    if (check_cte(c, cte, outer))
        return -1;
    c->unused = before;
    return 0;
}

/* The sub-queries of FROM, and its conditions. */
static int check_sources(struct sql_checker *c, const struct sql_source *list, const struct sql_place *at)
{
    for (const struct sql_source *s = list; s; s = s->next) {
        if (s->cte && check_cte(c, s->cte, NULL))
            return -1;
        if (s->select && sql_check_select(c, s->select, at->outer))
            return -1;
        if (s->group && check_sources(c, s->group, at))
            return -1;
        if (sql_check_values(c, s->arguments, at) || (s->on && sql_check_value(c, s->on, at)))
            return -1;
        if (s->kind == SQL_SOURCE_FUNCTION && sql_count_list(s->arguments) > 2 &&
            strncasecmp(s->name.text, "json_", 5) == 0)
            return sql_refuse(c, s->span, "%s: expected at most 2 arguments, got %d", s->name.text,
                              sql_count_list(s->arguments));
        if (s->natural && (s->on || s->columns))
            return sql_refuse(c, s->span, "a NATURAL join takes neither ON nor USING");
    }
    return 0;
}

/* A number is that result. */
static const struct sql_expr *grouped(const struct sql_core *core, const struct sql_expr *e)
{
    long n = sql_ordinal(e);
    const struct sql_result *r = n < 1 ? NULL : core->results;

    for (; r && n > (r->expr ? 1 : r->n_outputs); r = r->next)
        n -= r->expr ? 1 : r->n_outputs;
    return r && r->expr ? r->expr : e;
}

static int check_groups(struct sql_checker *c, const struct sql_core *core, const struct sql_place *at)
{
    for (const struct sql_expr *e = core->group; e; e = e->next) {
        const struct sql_expr *meant = grouped(core, e);
        if (meant != e && (sql_has_aggregate(meant, false) || sql_has_window(meant)))
            return sql_refuse(c, e->span, "expected no aggregate or window in GROUP BY");
        if (meant == e && sql_check_value(c, e, at))
            return -1;
    }
    return 0;
}

static int check_rows(struct sql_checker *c, const struct sql_core *core, const struct sql_place *at)
{
    int n = core_width(core);

    for (const struct sql_expr *row = core->rows; row; row = row->next) {
        int own = 0;
        for (const struct sql_expr *e = row->list; e; e = e->next)
            own++;
        if (own != n)
            return sql_refuse(c, row->span, "expected %d values as in the first row, got %d", n, own);
        if (sql_check_values(c, row->list, at))
            return -1;
    }
    return 0;
}

static int check_results(struct sql_checker *c, const struct sql_core *core, const struct sql_place *at)
{
    for (const struct sql_result *r = core->results; r; r = r->next)
        if (r->expr && sql_check_value(c, r->expr, at))
            return -1;
    return 0;
}

static int check_limit(struct sql_checker *c, const struct sql_tail *t, const struct sql_place *outer)
{
    const struct sql_place at = { .outer = outer, .clause = "LIMIT" };

    if (t->limit && sql_check_value(c, t->limit, &at))
        return -1;
    return t->offset ? sql_check_value(c, t->offset, &at) : 0;
}

int sql_check_order(struct sql_checker *c, const struct sql_order *order, const struct sql_place *at)
{
    for (const struct sql_order *o = order; o; o = o->next)
        if (sql_check_value(c, o->expr, at))
            return -1;
    return 0;
}

/* In the order in which SQLite looks at them. */
static int check_core(struct sql_checker *c, const struct sql_core *core, const struct sql_place *outer,
                      const struct sql_order *order)
{
    bool aggregate = is_aggregate(core);
    struct sql_place at = { core, outer, "SELECT", true, true, true, false };
    struct sql_place where = { core, outer, "WHERE", false, aggregate, false, false };

    if (check_rows(c, core, &at) || check_results(c, core, &at))
        return -1;
    at = (struct sql_place){ core, outer, "HAVING", aggregate, aggregate, false, false };
    if (core->having && !aggregate)
        return sql_refuse(c, core->having->span, "HAVING: expected GROUP BY, or an aggregate among the results");
    if (core->having && sql_check_value(c, core->having, &at))
        return -1;
    if (core->where && sql_check_value(c, core->where, &where))
        return -1;
    where.clause = "ON";
    if (check_sources(c, core->from, &where))
        return -1;
    where.clause = "GROUP BY";
    if (check_groups(c, core, &where))
        return -1;
    at = (struct sql_place){ core, outer, "ORDER BY", aggregate, aggregate, true, aggregate && !core->group };
    return sql_check_order(c, order, &at);
}

static int check_place_of_tail(struct sql_checker *c, const struct sql_core *core)
{
    const struct sql_tail *t = &core->tail;

    if (t->order)
        return sql_refuse_always(c, t->order->expr->span, "expected ORDER BY behind the set operation, not before it");
    return t->limit ? sql_refuse_always(c, t->limit->span, "expected LIMIT behind the set operation, not before it")
                    : 0;
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcasecmp(a, b) == 0);
}

/* The same expression, whichever tables its columns are of. */
static bool alike(const struct sql_expr *a, const struct sql_expr *b)
{
    if (!a || !b)
        return a == b;
    if (a->kind != b->kind || a->op != b->op || a->negated != b->negated || a->distinct != b->distinct ||
        !same_text(a->text, b->text) || !same_text(a->name.text, b->name.text) || !a->select != !b->select ||
        !a->over != !b->over || !a->filter != !b->filter)
        return false;
    const struct sql_expr *x = a->list, *y = b->list;
    for (; x && y && alike(x, y); x = x->next)
        y = y->next;
    return !x && !y && alike(a->left, b->left) && alike(a->right, b->right) && alike(a->third, b->third);
}

/* Rows of a set operation are sorted by what it gives: by number, by name, or by an expression of a result. */
static int check_sorted(struct sql_checker *c, const struct sql_select *select)
{
    for (const struct sql_order *o = select->tail.order; o; o = o->next) {
        const struct sql_expr *e = o->expr;
        while (e->kind == SQL_EXPR_COLLATE)
            e = e->left;
        bool found = e->kind == SQL_EXPR_COLUMN || sql_ordinal(e) >= 0;
        for (const struct sql_core *core = select->cores; core && !found; core = core->next)
            for (const struct sql_result *r = core->results; r && !found; r = r->next)
                found = r->expr && alike(r->expr, e);
        if (!found)
            return sql_refuse(c, e->span, "ORDER BY of a set operation: expected a column of its result");
    }
    return 0;
}

int sql_check_select(struct sql_checker *c, const struct sql_select *select, const struct sql_place *outer)
{
    bool alone = !select->cores->next;

    for (const struct sql_core *core = select->cores; core; core = core->next)
        if (check_place_of_tail(c, core) || check_core(c, core, outer, alone ? select->tail.order : NULL))
            return -1;
    if (alone && select->cores->rows && (select->tail.order || select->tail.limit))
        return sql_refuse_always(c, select->tail.order ? select->tail.order->expr->span : select->tail.limit->span,
                                 "expected the end behind VALUES, not ORDER BY or LIMIT");
    if (!alone && check_sorted(c, select))
        return -1;
    if (check_limit(c, &select->tail, outer))
        return -1;
    for (const struct sql_cte *cte = select->ctes; cte; cte = cte->next)
        if (check_unused(c, cte, outer))
            return -1;
    return 0;
}

int sql_check(const struct sql_query *q, const struct schema *s, struct error *err)
{
    struct sql_checker c = { .text = q->text, .schema = s, .err = err };
    int rc = sql_check_select(&c, q->select, NULL);

    free(c.seen);
    return rc;
}
