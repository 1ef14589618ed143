/* Part of sql_resolve.h: windows.  SQLite looks into one of the WINDOW clause only when something uses it. */
#include "data/sql/sql_resolve.h"

#include <strings.h>

static int resolve_bound(struct sql_resolver *r, struct sql_scope *s, struct sql_bound *b, enum sql_clause clause)
{
    return b->expr ? sql_resolve_expr(r, s, b->expr, clause) : 0;
}

/* All but the window that it is based on. */
static int resolve_parts(struct sql_resolver *r, struct sql_scope *s, struct sql_window *w, enum sql_clause clause)
{
    if (sql_resolve_list(r, s, w->partition, clause))
        return -1;
    for (struct sql_order *o = w->order; o; o = o->next)
        if (sql_resolve_expr(r, s, o->expr, clause))
            return -1;
    return resolve_bound(r, s, &w->start, clause) || resolve_bound(r, s, &w->end, clause) ? -1 : 0;
}

/* The window that w is based on, among those before `end`; NULL with an error when there is none. */
static struct sql_window *find_base(struct sql_resolver *r, const struct sql_scope *s, const struct sql_window *w,
                                    const struct sql_window *end)
{
    struct sql_window *base = s->core->windows;

    while (base != end && strcasecmp(base->name.text, w->base.text) != 0)
        base = base->next;
    if (base != end)
        return base;
    sql_fail(r, w->base.span, "no window %s", w->base.text);
    return NULL;
}

/* What the first of a WINDOW clause is based on, SQLite does not look for. */
static bool has_base(const struct sql_scope *s, const struct sql_window *w)
{
    return w->base.text && w != s->core->windows;
}

/* Each window that is used is resolved once, and so is what it is based on. */
static int use_window(struct sql_resolver *r, struct sql_scope *s, struct sql_window *w)
{
    while (w && !w->used) {
        w->used = true;
        if (resolve_parts(r, s, w, SQL_SELECT))
            return -1;
        w = has_base(s, w) ? find_base(r, s, w, w) : NULL;
    }
    return 0;
}

int sql_resolve_over(struct sql_resolver *r, struct sql_scope *s, struct sql_window *w, enum sql_clause clause)
{
    struct sql_window *base = w->base.text ? find_base(r, s, w, NULL) : NULL;

    return (w->base.text && !base) || use_window(r, s, base) ? -1 : resolve_parts(r, s, w, clause);
}

struct unused_window {
    struct sql_scope *scope;
    struct sql_window *window;
};

static int resolve_unused(struct sql_resolver *r, void *context)
{
    const struct unused_window *u = context;
    return resolve_parts(r, u->scope, u->window, SQL_SELECT);
}

/* An unused window need make no sense; one that does is resolved for the sake of its canonical names. */
int sql_resolve_windows(struct sql_resolver *r, struct sql_scope *s)
{
    for (struct sql_window *w = s->core->windows; w; w = w->next) {
        if (has_base(s, w) && !find_base(r, s, w, w))
            return -1;
        if (!w->used)
            sql_attempt(r, resolve_unused, &(struct unused_window){ s, w });
    }
    return 0;
}
