/* Part of sql_check.h: functions, aggregates and windows. */
#include "data/sql/sql_check_impl.h"
#include "data/sql/sql_function.h"
#include "data/sql/sql_resolve.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Whether fn holds for a call in e; of sub-queries only their results are looked at, and only when `deep`. */
typedef bool call_fn(const struct sql_expr *call);

static bool any_call(const struct sql_expr *e, call_fn *fn, bool deep)
{
    const struct sql_expr *const parts[] = { e->left, e->right, e->third };

    if (e->kind == SQL_EXPR_CALL && fn(e))
        return true;
    for (int i = 0; i < ARRAY_LEN(parts); i++)
        if (parts[i] && any_call(parts[i], fn, deep))
            return true;
    for (const struct sql_expr *item = e->list; item; item = item->next)
        if (any_call(item, fn, deep))
            return true;
    for (const struct sql_core *core = deep && e->select ? e->select->cores : NULL; core; core = core->next)
        for (const struct sql_result *r = core->results; r; r = r->next)
            if (r->expr && any_call(r->expr, fn, deep))
                return true;
    return false;
}

static bool is_aggregate(const struct sql_expr *call)
{
    const struct sql_function *f = sql_function_of(call);
    return f && f->kind == SQL_FUNCTION_AGGREGATE && !call->over;
}

static bool is_window(const struct sql_expr *call)
{
    return call->over;
}

bool sql_has_aggregate(const struct sql_expr *e, bool deep)
{
    return any_call(e, is_aggregate, deep);
}

bool sql_has_window(const struct sql_expr *e)
{
    return any_call(e, is_window, false);
}

int sql_check_alias(struct sql_checker *c, const struct sql_expr *e, const struct sql_place *at)
{
    const struct sql_result *r = at->core ? sql_find_alias(at->core, e->name.text) : NULL;

    if (!r || !r->expr)
        return 0;
    if (!at->windows && sql_has_window(r->expr))
        return sql_refuse(c, e->span, "%s: expected no window function, which %s stands for", at->clause, e->name.text);
    if (!at->aggregates && sql_has_aggregate(r->expr, false))
        return sql_refuse(c, e->span, "%s: expected no aggregate, which %s stands for", at->clause, e->name.text);
    return 0;
}

static int check_arguments(struct sql_checker *c, const struct sql_expr *e, const struct sql_function *f)
{
    int n = sql_count_list(e->list);
    const char *name = e->name.text;

    if (!f)
        return sql_refuse(c, e->span, "SQLite has no function %s", name);
    if (n >= f->least && n <= f->most)
        return 0;
    if (f->least == f->most)
        return sql_refuse(c, e->span, "%s: expected %d argument%s, got %d", name, f->least, f->least == 1 ? "" : "s",
                          n);
    return sql_refuse(c, e->span, "%s: expected %d to %d arguments, got %d", name, f->least, f->most, n);
}

static int check_kind(struct sql_checker *c, const struct sql_expr *e, const struct sql_function *f)
{
    const char *name = e->name.text;

    if (f->kind == SQL_FUNCTION_SCALAR && e->over)
        return sql_refuse(c, e->span, "%s with OVER: expected an aggregate or a window function", name);
    if (f->kind == SQL_FUNCTION_SCALAR && e->filter)
        return sql_refuse(c, e->span, "%s with FILTER: expected an aggregate", name);
    if (f->kind == SQL_FUNCTION_WINDOW && !e->over)
        return sql_refuse(c, e->span, "%s: expected OVER behind it", name);
    if (f->kind == SQL_FUNCTION_WINDOW && e->filter)
        return sql_refuse(c, e->filter->span, "%s with FILTER: expected an aggregate", name);
    if (e->over && e->distinct)
        return sql_refuse_always(c, e->span, "a window function: expected no DISTINCT");
    if (f->kind != SQL_FUNCTION_SCALAR && e->distinct && sql_count_list(e->list) != 1)
        return sql_refuse(c, e->span, "%s with DISTINCT: expected one argument", name);
    return 0;
}

static bool has_source(const struct sql_source *list, const struct sql_source *s)
{
    for (; list; list = list->next)
        if (list == s || (list->group && has_source(list->group, s)))
            return true;
    return false;
}

/* Counts the columns in e that are of this SELECT, and the others. */
static void count_columns(const struct sql_expr *e, const struct sql_core *core, int *own, int *others)
{
    const struct sql_expr *const parts[] = { e->left, e->right, e->third };

    if (e->kind == SQL_EXPR_COLUMN && e->source)
        ++*(core && has_source(core->from, e->source) ? own : others);
    for (int i = 0; i < ARRAY_LEN(parts); i++)
        if (parts[i])
            count_columns(parts[i], core, own, others);
    for (const struct sql_expr *item = e->list; item; item = item->next)
        count_columns(item, core, own, others);
}

/* An aggregate belongs to the innermost SELECT that a column in it is of. */
static const struct sql_place *owner(const struct sql_expr *call, const struct sql_place *at)
{
    const struct sql_place *p = at;

    for (; p; p = p->outer) {
        int own = 0, others = 0;
        for (const struct sql_expr *e = call->list; e; e = e->next)
            count_columns(e, p->core, &own, &others);
        if (own || !others)
            break;
    }
    return p ? p : at;
}

static int check_standing(struct sql_checker *c, const struct sql_expr *e, const struct sql_place *at)
{
    const struct sql_place *of = e->over ? at : owner(e, at);

    if (e->over && !at->windows)
        return sql_refuse(c, e->span, "%s: expected no window function, got %s", at->clause, e->name.text);
    if (!e->over && (of == at ? !at->aggregates : !at->foreign || !of->aggregates))
        return sql_refuse(c, e->span, "%s: expected no aggregate, got %s", of->clause, e->name.text);
    return 0;
}

static int check_frame(struct sql_checker *c, const struct sql_expr *e)
{
    const struct sql_window *w = e->over;
    bool offset = w->start.expr || (w->between && w->end.expr);
    enum sql_bound_kind end = w->between ? w->end.kind : SQL_CURRENT_ROW;

    if (w->unit == SQL_NO_FRAME)
        return 0;
    if ((w->start.kind == SQL_CURRENT_ROW && end == SQL_PRECEDING) ||
        (w->start.kind == SQL_FOLLOWING && (end == SQL_PRECEDING || end == SQL_CURRENT_ROW)))
        return sql_refuse_always(c, e->span, "expected a frame that ends where it starts or behind that");
    if (w->unit == SQL_RANGE && offset && !w->base.text && (!w->order || w->order->next))
        return sql_refuse(c, e->span, "RANGE with an offset: expected ORDER BY one expression");
    return 0;
}

/* What a window adds to the one it is based on. */
static int check_base(struct sql_checker *c, const struct sql_window *w, const struct sql_place *at)
{
    const struct sql_window *base = w->base.text && at->core ? at->core->windows : NULL;
    const char *twice = NULL;

    while (base && (base == w || strcasecmp(base->name.text, w->base.text) != 0))
        base = base->next;
    if (!base || w->bare)
        return 0;
    if (w->partition)
        twice = "PARTITION BY";
    else if (base->order && w->order)
        twice = "ORDER BY";
    else if (base->unit != SQL_NO_FRAME)
        twice = "frame";
    return twice ? sql_refuse(c, w->base.span, "expected no %s where %s is built upon", twice, w->base.text) : 0;
}

int sql_check_window(struct sql_checker *c, const struct sql_window *w, const struct sql_place *at)
{
    if (check_base(c, w, at) || sql_check_values(c, w->partition, at) || sql_check_order(c, w->order, at))
        return -1;
    if (w->start.expr && sql_check_value(c, w->start.expr, at))
        return -1;
    return w->end.expr ? sql_check_value(c, w->end.expr, at) : 0;
}

/* The arguments of an aggregate hold neither aggregates nor windows, those of a window function no windows. */
static int check_inside(struct sql_checker *c, const struct sql_expr *e, const struct sql_place *at)
{
    struct sql_place inside = *at;

    inside.clause = e->name.text;
    inside.windows = false;
    inside.aggregates = inside.aggregates && e->over;
    inside.foreign = inside.foreign && e->over;
    if (sql_check_values(c, e->list, &inside) || (e->filter && sql_check_value(c, e->filter, &inside)))
        return -1;
    return e->over ? sql_check_window(c, e->over, &inside) || check_frame(c, e) ? -1 : 0 : 0;
}

static int check_likelihood(struct sql_checker *c, const struct sql_expr *e)
{
    const struct sql_expr *p = e->list->next;
    char *end = NULL;
    double x = p->kind == SQL_EXPR_LITERAL ? strtod(p->text, &end) : -1;

    return end && !*end && strpbrk(p->text, ".eE") && x >= 0 && x <= 1
               ? 0
               : sql_refuse(c, p->span, "%s: expected a number with a point, from 0.0 to 1.0", e->name.text);
}

int sql_check_call(struct sql_checker *c, const struct sql_expr *e, const struct sql_place *at)
{
    const struct sql_function *f = sql_function_of(e);
    bool grouping = f && f->kind != SQL_FUNCTION_SCALAR;

    if (check_arguments(c, e, f) || (f && check_kind(c, e, f)))
        return -1;
    if (!f) /* where nothing reads it */
        return sql_check_values(c, e->list, at);
    if (strcasecmp(f->name, "likelihood") == 0 && check_likelihood(c, e))
        return -1;
    if (!grouping)
        return sql_check_values(c, e->list, at);
    return check_standing(c, e, at) || check_inside(c, e, at) ? -1 : 0;
}
