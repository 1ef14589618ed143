#include "data/rewrite/sql_walk.h"

static void walk_exprs(const struct sql_walker *w, struct sql_expr *e, struct sql_core *core);

static void walk_order(const struct sql_walker *w, struct sql_order *o, struct sql_core *core)
{
    for (; o; o = o->next)
        walk_exprs(w, o->expr, core);
}

static void walk_window(const struct sql_walker *w, struct sql_window *v, struct sql_core *core)
{
    walk_exprs(w, v->partition, core);
    walk_order(w, v->order, core);
    walk_exprs(w, v->start.expr, core);
    walk_exprs(w, v->end.expr, core);
}

static void walk_sources(const struct sql_walker *w, struct sql_source *s, struct sql_core *core)
{
    for (; s; s = s->next) {
        if (w->source)
            w->source(w->context, s, core);
        walk_sources(w, s->group, core);
        walk_exprs(w, s->arguments, core);
        walk_exprs(w, s->on, core);
        if (s->select)
            sql_walk(w, s->select);
    }
}

static void walk_exprs(const struct sql_walker *w, struct sql_expr *e, struct sql_core *core)
{
    for (; e; e = e->next) {
        walk_exprs(w, e->left, core);
        walk_exprs(w, e->right, core);
        walk_exprs(w, e->third, core);
        walk_exprs(w, e->list, core);
        walk_exprs(w, e->filter, core);
        if (e->over)
            walk_window(w, e->over, core);
        if (e->kind == SQL_EXPR_IN && e->source) /* of a column it is where the column comes from */
            walk_sources(w, e->source, core);
        if (e->select)
            sql_walk(w, e->select);
        if (w->expr)
            w->expr(w->context, e, core);
    }
}

static void walk_tail(const struct sql_walker *w, const struct sql_tail *t, struct sql_core *core)
{
    walk_order(w, t->order, core);
    walk_exprs(w, t->limit, core);
    walk_exprs(w, t->offset, core);
}

static void walk_core(const struct sql_walker *w, struct sql_core *c)
{
    for (struct sql_result *r = c->results; r; r = r->next)
        walk_exprs(w, r->expr, c);
    walk_sources(w, c->from, c);
    walk_exprs(w, c->rows, c);
    walk_exprs(w, c->where, c);
    walk_exprs(w, c->group, c);
    walk_exprs(w, c->having, c);
    for (struct sql_window *v = c->windows; v; v = v->next)
        walk_window(w, v, c);
    walk_tail(w, &c->tail, c);
}

void sql_walk_core(const struct sql_walker *w, struct sql_core *core, struct sql_select *select)
{
    if (w->core)
        w->core(w->context, core, select);
    walk_core(w, core);
    if (!select->cores->next)
        walk_tail(w, &select->tail, core);
}

void sql_walk(const struct sql_walker *w, struct sql_select *select)
{
    for (struct sql_cte *c = select->ctes; c; c = c->next) {
        if (w->cte)
            w->cte(w->context, c);
        sql_walk(w, c->select);
    }
    for (struct sql_core *c = select->cores; c; c = c->next)
        sql_walk_core(w, c, select);
    if (select->cores->next)
        walk_tail(w, &select->tail, NULL);
}
