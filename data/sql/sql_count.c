#include "data/sql/sql_count.h"

#include "data/sql/sql_tree.h"

static void count_select(struct sql_counts *n, const struct sql_select *s);
static void count_source(struct sql_counts *n, const struct sql_source *s);

static void count_order(struct sql_counts *n, const struct sql_order *o);

/* Counts in the expressions of a list. */
static void count_expr(struct sql_counts *n, const struct sql_expr *e)
{
    for (; e; e = e->next) {
        n->functions += e->kind == SQL_EXPR_CALL;
        count_expr(n, e->left);
        count_expr(n, e->right);
        count_expr(n, e->third);
        count_expr(n, e->list);
        count_expr(n, e->filter);
        if (e->kind == SQL_EXPR_IN) /* a resolved column has a source that is counted where it stands */
            count_source(n, e->source);
        if (e->select)
            count_select(n, e->select);
        if (e->over) {
            count_expr(n, e->over->partition);
            count_order(n, e->over->order);
        }
    }
}

static void count_order(struct sql_counts *n, const struct sql_order *o)
{
    for (; o; o = o->next)
        count_expr(n, o->expr);
}

/* Counts in the sources of a list, which are joined. */
static void count_source(struct sql_counts *n, const struct sql_source *s)
{
    for (; s; s = s->next) {
        n->joins += s->next != NULL;
        count_expr(n, s->arguments);
        count_expr(n, s->on);
        count_source(n, s->group);
        if (s->select)
            count_select(n, s->select);
    }
}

static void count_tail(struct sql_counts *n, const struct sql_tail *t)
{
    count_order(n, t->order);
    count_expr(n, t->limit);
    count_expr(n, t->offset);
}

static void count_core(struct sql_counts *n, const struct sql_core *c)
{
    for (const struct sql_result *r = c->results; r; r = r->next)
        count_expr(n, r->expr);
    for (const struct sql_window *w = c->windows; w; w = w->next) {
        count_expr(n, w->partition);
        count_order(n, w->order);
    }
    count_expr(n, c->rows);
    count_source(n, c->from);
    count_expr(n, c->where);
    count_expr(n, c->group);
    count_expr(n, c->having);
    count_tail(n, &c->tail);
}

static void count_select(struct sql_counts *n, const struct sql_select *s)
{
    for (const struct sql_cte *c = s->ctes; c; c = c->next)
        count_select(n, c->select);
    for (const struct sql_core *c = s->cores; c; c = c->next)
        count_core(n, c);
    count_tail(n, &s->tail);
}

struct sql_counts sql_count(const struct sql_query *q)
{
    struct sql_counts n = { 0 };

    count_select(&n, q->select);
    return n;
}
