#include "data/sql/sql_check.h"

#include "data/sql/sql_function.h"
#include "data/sql/sql_lex.h"
#include "data/sql/sql_resolve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct sql_checker {
    const char *text;
    const struct schema *schema;
    const struct sql_cte **seen; /* CTEs whose bodies have been checked */
    int n_seen, seen_cap;
    bool unused; /* inside the body of an unused CTE: only errors that SQLite reports while parsing count */
    struct error *err;
};

/* The place of an expression, and the constructs that are allowed there. */
struct sql_place {
    const struct sql_core *core;   /* NULL for LIMIT */
    const struct sql_place *outer; /* place of the enclosing SELECT */
    const char *clause;
    bool aggregates; /* of this SELECT */
    bool foreign;    /* aggregates of an enclosing SELECT, whose arguments are columns of that SELECT */
    bool windows;
    bool idle; /* SQLite never evaluates the place, and does not count its columns */
};

static int refuse(const struct sql_checker *c, struct sql_span at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static int check_value(struct sql_checker *c, const struct sql_expr *e, const struct sql_place *at);
static int check_values(struct sql_checker *c, const struct sql_expr *list, const struct sql_place *at);
static int check_parts(struct sql_checker *c, const struct sql_expr *e, const struct sql_place *at);
static int check_order(struct sql_checker *c, const struct sql_order *order, const struct sql_place *at);
static int check_select(struct sql_checker *c, const struct sql_select *select, const struct sql_place *outer);

static int refuse(const struct sql_checker *c, struct sql_span at, const char *fmt, ...)
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

/* Refuses a statement even if the place is in an unused CTE. */
static int refuse_always(struct sql_checker *c, struct sql_span at, const char *what)
{
    c->unused = false;
    return refuse(c, at, "%s", what);
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

/* The number of result columns. */
static int select_width(const struct sql_select *select)
{
    return core_width(select->cores);
}

/* Returns whether fn holds for a call in e. Looks into the results of sub-queries only if `deep`. */
typedef bool call_fn(const struct sql_expr *call);

/* --- Functions, aggregates and windows --- */

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

/* Return whether e contains an aggregate, or a window function, of its own SELECT. `deep` also searches the results of
 * sub-queries, whose aggregates may belong to the enclosing SELECT. */
static bool has_aggregate(const struct sql_expr *e, bool deep)
{
    return any_call(e, is_aggregate, deep);
}

static bool has_window(const struct sql_expr *e)
{
    return any_call(e, is_window, false);
}

static int check_alias(struct sql_checker *c, const struct sql_expr *e, const struct sql_place *at)
{
    const struct sql_result *r = at->core ? sql_find_alias(at->core, e->name.text) : NULL;

    if (!r || !r->expr)
        return 0;
    if (!at->windows && has_window(r->expr))
        return refuse(c, e->span, "%s: expected no window function, got the alias %s of one", at->clause, e->name.text);
    if (!at->aggregates && has_aggregate(r->expr, false))
        return refuse(c, e->span, "%s: expected no aggregate, got the alias %s of one", at->clause, e->name.text);
    return 0;
}

static int check_arguments(struct sql_checker *c, const struct sql_expr *e, const struct sql_function *f)
{
    int n = sql_count_list(e->list);
    const char *name = e->name.text;

    if (!f)
        return refuse(c, e->span, "SQLite has no function %s", name);
    if (n >= f->min_arguments && n <= f->max_arguments)
        return 0;
    if (f->min_arguments == f->max_arguments)
        return refuse(c, e->span, "%s: expected %d argument%s, got %d", name, f->min_arguments,
                      f->min_arguments == 1 ? "" : "s", n);
    return refuse(c, e->span, "%s: expected %d to %d arguments, got %d", name, f->min_arguments, f->max_arguments, n);
}

static int check_kind(struct sql_checker *c, const struct sql_expr *e, const struct sql_function *f)
{
    const char *name = e->name.text;

    if (f->kind == SQL_FUNCTION_SCALAR && e->over)
        return refuse(c, e->span, "%s with OVER: expected an aggregate or a window function", name);
    if (f->kind == SQL_FUNCTION_SCALAR && e->filter)
        return refuse(c, e->span, "%s with FILTER: expected an aggregate", name);
    if (f->kind == SQL_FUNCTION_WINDOW && !e->over)
        return refuse(c, e->span, "%s: expected OVER after it", name);
    if (f->kind == SQL_FUNCTION_WINDOW && e->filter)
        return refuse(c, e->filter->span, "%s with FILTER: expected an aggregate", name);
    if (e->over && e->distinct)
        return refuse_always(c, e->span, "window function: expected no DISTINCT");
    if (f->kind != SQL_FUNCTION_SCALAR && e->distinct && sql_count_list(e->list) != 1)
        return refuse(c, e->span, "%s with DISTINCT: expected one argument", name);
    return 0;
}

static bool has_source(const struct sql_source *list, const struct sql_source *s)
{
    for (; list; list = list->next)
        if (list == s || (list->group && has_source(list->group, s)))
            return true;
    return false;
}

/* Counts the columns in e of this SELECT, and those of other SELECTs. */
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

/* An aggregate belongs to the innermost SELECT that owns a column in its arguments. */
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
        return refuse(c, e->span, "%s: expected no window function, got %s", at->clause, e->name.text);
    if (!e->over && (of == at ? !at->aggregates : !at->foreign || !of->aggregates))
        return refuse(c, e->span, "%s: expected no aggregate, got %s", of->clause, e->name.text);
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
        return refuse_always(c, e->span, "expected a frame that does not end before it starts");
    if (w->unit == SQL_RANGE && offset && !w->base.text && (!w->order || w->order->next))
        return refuse(c, e->span, "RANGE with an offset: expected ORDER BY one expression");
    return 0;
}

/* A window may not repeat parts of the window that it extends. */
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
    return twice ? refuse(c, w->base.span, "expected no %s in a window based on %s", twice, w->base.text) : 0;
}

static int check_window(struct sql_checker *c, const struct sql_window *w, const struct sql_place *at)
{
    if (check_base(c, w, at) || check_values(c, w->partition, at) || check_order(c, w->order, at))
        return -1;
    if (w->start.expr && check_value(c, w->start.expr, at))
        return -1;
    return w->end.expr ? check_value(c, w->end.expr, at) : 0;
}

/* The arguments of an aggregate contain neither aggregates nor window functions. Those of a window function contain no
 * window functions. */
static int check_inside(struct sql_checker *c, const struct sql_expr *e, const struct sql_place *at)
{
    struct sql_place inside = *at;

    inside.clause = e->name.text;
    inside.windows = false;
    inside.aggregates = inside.aggregates && e->over;
    inside.foreign = inside.foreign && e->over;
    if (check_values(c, e->list, &inside) || (e->filter && check_value(c, e->filter, &inside)))
        return -1;
    return e->over ? check_window(c, e->over, &inside) || check_frame(c, e) ? -1 : 0 : 0;
}

static int check_likelihood(struct sql_checker *c, const struct sql_expr *e)
{
    const struct sql_expr *p = e->list->next;
    char *end = NULL;
    double x = p->kind == SQL_EXPR_LITERAL ? strtod(p->text, &end) : -1;

    return end && !*end && strpbrk(p->text, ".eE") && x >= 0 && x <= 1
               ? 0
               : refuse(c, p->span, "%s: expected a number with a point, from 0.0 to 1.0", e->name.text);
}

static int check_call(struct sql_checker *c, const struct sql_expr *e, const struct sql_place *at)
{
    const struct sql_function *f = sql_function_of(e);
    bool grouping = f && f->kind != SQL_FUNCTION_SCALAR;

    if (check_arguments(c, e, f) || (f && check_kind(c, e, f)))
        return -1;
    if (!f) /* in an unused CTE */
        return check_values(c, e->list, at);
    if (strcasecmp(f->name, "likelihood") == 0 && check_likelihood(c, e))
        return -1;
    if (!grouping)
        return check_values(c, e->list, at);
    return check_standing(c, e, at) || check_inside(c, e, at) ? -1 : 0;
}

/* --- Expressions and their number of columns --- */

static int width(const struct sql_expr *e)
{
    if (e->kind == SQL_EXPR_SELECT)
        return select_width(e->select);
    return e->kind == SQL_EXPR_ROW ? sql_count_list(e->list) : 1;
}

static int refuse_width(const struct sql_checker *c, const struct sql_expr *e, int wanted)
{
    const char *what = e->kind == SQL_EXPR_SELECT ? "a sub-query with" : e->kind == SQL_EXPR_ROW ? "a row of" : "";
    return refuse(c, e->span, "expected %d column%s, got %s %d", wanted, wanted > 1 ? "s" : "", what, width(e));
}

/* Checks an expression that must have `wanted` columns. */
static int check_width(struct sql_checker *c, const struct sql_expr *e, int wanted, const struct sql_place *at)
{
    if (width(e) != wanted)
        return refuse_width(c, e, wanted);
    return e->kind == SQL_EXPR_ROW ? check_values(c, e->list, at) : check_parts(c, e, at);
}

/* Check one value, or each value of a list. */
static int check_value(struct sql_checker *c, const struct sql_expr *e, const struct sql_place *at)
{
    return check_width(c, e, at->idle ? width(e) : 1, at);
}

static int check_values(struct sql_checker *c, const struct sql_expr *list, const struct sql_place *at)
{
    for (const struct sql_expr *e = list; e; e = e->next)
        if (check_value(c, e, at))
            return -1;
    return 0;
}

/* Comparisons also compare rows. */
static int check_binary(struct sql_checker *c, const struct sql_expr *e, const struct sql_place *at)
{
    bool compares =
        (e->op >= SQL_EQUAL && e->op <= SQL_IS_NOT_DISTINCT) || (e->op >= SQL_LESS && e->op <= SQL_GREATER_EQUAL);
    int n = compares ? width(e->left) : 1;

    if (e->op == SQL_REGEXP)
        return refuse(c, e->span, "SQLite has no REGEXP");
    if (check_width(c, e->left, n, at) || check_width(c, e->right, n, at))
        return -1;
    return e->third ? check_value(c, e->third, at) : 0;
}

static int check_between(struct sql_checker *c, const struct sql_expr *e, const struct sql_place *at)
{
    int n = width(e->left);

    if (check_width(c, e->left, n, at) || check_width(c, e->right, n, at))
        return -1;
    return check_width(c, e->third, n, at);
}

static int check_in(struct sql_checker *c, const struct sql_expr *e, const struct sql_place *at)
{
    int n = width(e->left);
    const struct sql_source *table = e->source;

    if (check_width(c, e->left, n, at))
        return -1;
    if (e->select && select_width(e->select) != n && !at->idle)
        return refuse(c, e->select->span, "expected %d column%s, got a sub-query with %d", n, n > 1 ? "s" : "",
                      select_width(e->select));
    if (e->select)
        return check_select(c, e->select, at);
    int columns = !table ? n : table->table >= 0 ? c->schema->tables[table->table].n_columns : table->n_outputs;
    if (columns != n && !at->idle)
        return refuse(c, table->span, "expected %d column%s, got a table with %d", n, n > 1 ? "s" : "", columns);
    for (const struct sql_expr *item = e->list; item; item = item->next) {
        bool rows = e->left->kind == SQL_EXPR_ROW && item->kind == SQL_EXPR_ROW && width(item) == n;
        if (e->left->kind == SQL_EXPR_ROW && !rows)
            return refuse_always(c, item->span, "IN: expected a row with as many values as the left operand");
        if (e->left->kind == SQL_EXPR_SELECT && n > 1)
            return refuse(c, item->span, "IN: expected a row on the left, got a sub-query");
        if (check_width(c, item, n, at))
            return -1;
    }
    return 0;
}

static int check_case(struct sql_checker *c, const struct sql_expr *e, const struct sql_place *at)
{
    int n = e->left ? width(e->left) : 1;

    if (e->left && check_width(c, e->left, n, at))
        return -1;
    for (const struct sql_expr *when = e->list; when; when = when->next->next)
        if (check_width(c, when, n, at) || check_value(c, when->next, at))
            return -1;
    return e->third ? check_value(c, e->third, at) : 0;
}

/* SQLite never evaluates the results of EXISTS, although GROUP BY inspects them. */
static int check_exists(struct sql_checker *c, const struct sql_expr *e, const struct sql_place *at)
{
    struct sql_place around = *at;

    around.aggregates = around.aggregates || strcmp(at->clause, "GROUP BY") != 0;
    return check_select(c, e->select, &around);
}

/* A hexadecimal number has 64 bits. */
static int check_literal(const struct sql_checker *c, const struct sql_expr *e, const struct sql_place *at)
{
    const char *digits = e->text;

    if (at->idle || strncasecmp(digits, "0x", 2) != 0)
        return 0;
    digits += 2 + strspn(digits + 2, "0_");
    size_t n = strspn(digits, "0123456789abcdefABCDEF");
    return n > 16 ? refuse(c, e->span, "expected at most 16 hexadecimal digits, got %zu", n) : 0;
}

static int check_parts(struct sql_checker *c, const struct sql_expr *e, const struct sql_place *at)
{
    switch (e->kind) {
    case SQL_EXPR_LITERAL:
        return check_literal(c, e, at);
    case SQL_EXPR_COLUMN:
        return e->source ? 0 : check_alias(c, e, at);
    case SQL_EXPR_UNARY:
    case SQL_EXPR_CAST:
    case SQL_EXPR_COLLATE:
        return check_value(c, e->left, at);
    case SQL_EXPR_BINARY:
        return check_binary(c, e, at);
    case SQL_EXPR_BETWEEN:
        return check_between(c, e, at);
    case SQL_EXPR_IN:
        return check_in(c, e, at);
    case SQL_EXPR_CASE:
        return check_case(c, e, at);
    case SQL_EXPR_CALL:
        return check_call(c, e, at);
    case SQL_EXPR_EXISTS:
        return check_exists(c, e, at);
    case SQL_EXPR_SELECT:
        return check_select(c, e->select, at);
    default:
        return 0;
    }
}

/* --- SELECT and set operations --- */

/* Returns whether a SELECT has GROUP BY or an aggregate in its results. */
static bool groups(const struct sql_core *core)
{
    for (const struct sql_result *r = core->results; r; r = r->next)
        if (r->expr && has_aggregate(r->expr, true))
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
    return check_select(c, cte->select, outer);
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

/* Checks the sub-queries and conditions of FROM. */
static int check_sources(struct sql_checker *c, const struct sql_source *list, const struct sql_place *at)
{
    for (const struct sql_source *s = list; s; s = s->next) {
        if (s->cte && check_cte(c, s->cte, NULL))
            return -1;
        if (s->select && check_select(c, s->select, at->outer))
            return -1;
        if (s->group && check_sources(c, s->group, at))
            return -1;
        if (check_values(c, s->arguments, at) || (s->on && check_value(c, s->on, at)))
            return -1;
        if (s->kind == SQL_SOURCE_FUNCTION && sql_count_list(s->arguments) > 2 &&
            strncasecmp(s->name.text, "json_", 5) == 0)
            return refuse(c, s->span, "%s: expected at most 2 arguments, got %d", s->name.text,
                          sql_count_list(s->arguments));
        if (s->natural && (s->on || s->columns))
            return refuse(c, s->span, "NATURAL cannot be used with ON or USING");
    }
    return 0;
}

/* Returns the result that a number in GROUP BY stands for, else the expression itself. */
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
        if (meant != e && (has_aggregate(meant, false) || has_window(meant)))
            return refuse(c, e->span, "expected no aggregate or window in GROUP BY");
        if (meant == e && check_value(c, e, at))
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
            return refuse(c, row->span, "expected %d values as in the first row, got %d", n, own);
        if (check_values(c, row->list, at))
            return -1;
    }
    return 0;
}

static int check_results(struct sql_checker *c, const struct sql_core *core, const struct sql_place *at)
{
    for (const struct sql_result *r = core->results; r; r = r->next)
        if (r->expr && check_value(c, r->expr, at))
            return -1;
    return 0;
}

static int check_limit(struct sql_checker *c, const struct sql_tail *t, const struct sql_place *outer)
{
    const struct sql_place at = { .outer = outer, .clause = "LIMIT" };

    if (t->limit && check_value(c, t->limit, &at))
        return -1;
    return t->offset ? check_value(c, t->offset, &at) : 0;
}

static int check_order(struct sql_checker *c, const struct sql_order *order, const struct sql_place *at)
{
    for (const struct sql_order *o = order; o; o = o->next)
        if (check_value(c, o->expr, at))
            return -1;
    return 0;
}

/* The order of these checks is SQLite's, so that the same error is reported first. */
static int check_core(struct sql_checker *c, const struct sql_core *core, const struct sql_place *outer,
                      const struct sql_order *order)
{
    bool aggregate = groups(core);
    struct sql_place at = { core, outer, "SELECT", true, true, true, false };
    struct sql_place where = { core, outer, "WHERE", false, aggregate, false, false };

    if (check_rows(c, core, &at) || check_results(c, core, &at))
        return -1;
    at = (struct sql_place){ core, outer, "HAVING", aggregate, aggregate, false, false };
    if (core->having && !aggregate)
        return refuse(c, core->having->span, "HAVING: expected GROUP BY, or an aggregate among the results");
    if (core->having && check_value(c, core->having, &at))
        return -1;
    if (core->where && check_value(c, core->where, &where))
        return -1;
    where.clause = "ON";
    if (check_sources(c, core->from, &where))
        return -1;
    where.clause = "GROUP BY";
    if (check_groups(c, core, &where))
        return -1;
    at = (struct sql_place){ core, outer, "ORDER BY", aggregate, aggregate, true, aggregate && !core->group };
    return check_order(c, order, &at);
}

static int check_place_of_tail(struct sql_checker *c, const struct sql_core *core)
{
    const struct sql_tail *t = &core->tail;

    if (t->order)
        return refuse_always(c, t->order->expr->span, "expected ORDER BY after the set operation");
    return t->limit ? refuse_always(c, t->limit->span, "expected LIMIT after the set operation") : 0;
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcasecmp(a, b) == 0);
}

/* Compares two expressions, ignoring the tables of their columns. */
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

/* ORDER BY of a set operation must name a result: by number, by name or by its expression. */
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
            return refuse(c, e->span, "ORDER BY of a set operation: expected a column of its result");
    }
    return 0;
}

static int check_select(struct sql_checker *c, const struct sql_select *select, const struct sql_place *outer)
{
    bool alone = !select->cores->next;

    for (const struct sql_core *core = select->cores; core; core = core->next)
        if (check_place_of_tail(c, core) || check_core(c, core, outer, alone ? select->tail.order : NULL))
            return -1;
    if (alone && select->cores->rows && (select->tail.order || select->tail.limit))
        return refuse_always(c, select->tail.order ? select->tail.order->expr->span : select->tail.limit->span,
                             "expected the end after VALUES, got ORDER BY or LIMIT");
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
    int rc = check_select(&c, q->select, NULL);

    free(c.seen);
    return rc;
}
