/* Part of sql_form.h: FROM in canonical form: a set of tables, the edges between them, and outer joins. */
#include "data/sql_form/sql_form_impl.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

const struct form_source *form_find_source(const struct form_builder *f, const struct sql_source *s)
{
    for (int i = f->n_sources - 1; i >= 0; i--)
        if (f->sources[i].source == s)
            return &f->sources[i];
    return NULL;
}

void form_add(struct form_list *l, struct form_term t)
{
    GROW(l->items, l->n, l->cap);
    l->items[l->n++] = t;
}

/* The second source of one name is "name#2", that of a query around counted too. */
static const char *distinct_name(struct form_builder *f, const char *name)
{
    size_t n = strlen(name);
    int same = 1;

    for (int i = 0; i < f->n_sources; i++) {
        const char *other = f->sources[i].name;
        same += strncmp(other, name, n) == 0 && (!other[n] || other[n] == '#');
    }
    return same > 1 ? form_printf(f, "%s#%d", name, same) : name;
}

static bool is_open(const struct form_builder *f, const struct sql_cte *cte)
{
    for (int i = 0; i < f->n_open; i++)
        if (f->open[i] == cte)
            return true;
    return false;
}

/* The body of a common table expression is read wherever it is named; one that names itself stops there. */
static struct form *derived(struct form_builder *f, const struct sql_source *s)
{
    f->recursive = f->recursive || (s->cte && is_open(f, s->cte));
    if (!s->cte || is_open(f, s->cte) || f->n_open == FORM_MAX_DEPTH)
        return s->select ? form_select(f, s->select) : NULL;
    f->open[f->n_open++] = s->cte;
    struct form *sub = form_select(f, s->cte->select);
    f->n_open--;
    return sub;
}

/* What stands in FROM; of a function with its number, since what it is given may name others. */
static const char *source_text(struct form_builder *f, const struct form_source *s)
{
    if (s->sub)
        return form_printf(f, "(%s)", s->sub->text);
    if (s->source->kind != SQL_SOURCE_FUNCTION)
        return s->name;
    const char *text = form_printf(f, "%s(", s->name);
    for (const struct sql_expr *e = s->source->arguments; e; e = e->next)
        text = form_printf(f, "%s%s,", text, form_expr(f, e));
    return form_printf(f, "%s)", text);
}

/* A source that has no name yet. */
struct unnamed_source {
    const struct sql_source *source;
    struct form *sub;
    const char *text;
    int place;
};

struct unnamed_list {
    struct unnamed_source *items;
    int n, cap;
};

static void collect_sources(struct form_builder *f, struct unnamed_list *l, const struct sql_source *list)
{
    for (const struct sql_source *s = list; s && !f->full; s = s->next) {
        if (s->kind == SQL_SOURCE_GROUP) {
            collect_sources(f, l, s->group);
            continue;
        }
        struct form *sub = derived(f, s);
        const char *text = sub ? sub->text : s->name.text ? form_name(f, s->name.text) : "";
        GROW(l->items, l->n, l->cap);
        l->items[l->n] = (struct unnamed_source){ s, sub, text, l->n };
        l->n++;
    }
}

static int compare_unnamed(const void *a, const void *b)
{
    const struct unnamed_source *x = a, *y = b;
    bool functions[] = { x->source->kind == SQL_SOURCE_FUNCTION, y->source->kind == SQL_SOURCE_FUNCTION };

    if (functions[0] || functions[1])
        return functions[0] != functions[1] ? functions[0] - functions[1] : x->place - y->place;
    int way = strcmp(x->text, y->text);
    return way ? way : x->place - y->place;
}

static int compare_places(const void *a, const void *b)
{
    const struct unnamed_source *x = a, *y = b;
    return x->place - y->place;
}

/* Names are given in order of the texts, so that the same derived tables have the same ones however they stand. */
static void name_sources(struct form_builder *f, struct form *form, const struct sql_source *list)
{
    struct unnamed_list l = { 0 };

    collect_sources(f, &l, list);
    if (l.n)
        qsort(l.items, (size_t)l.n, sizeof *l.items, compare_unnamed);
    for (int i = 0; i < l.n && !f->full; i++) {
        const struct unnamed_source *u = &l.items[i];
        const struct form_source named = { u->source, distinct_name(f, u->sub ? "query" : u->text), u->sub };
        GROW(f->sources, f->n_sources, f->sources_cap);
        f->sources[f->n_sources++] = named;
    }
    if (l.n)
        qsort(l.items, (size_t)l.n, sizeof *l.items, compare_places);
    for (int i = 0; i < l.n && !f->full; i++) {
        const struct sql_source *s = l.items[i].source;
        const char *text = source_text(f, form_find_source(f, s));
        form_add(&form->lists[FORM_FROM], (struct form_term){ text, text, "", "", "", -1, -1, s->cte ? -1 : s->table,
                                                              false, l.items[i].sub, NULL, NULL });
    }
    free(l.items);
}

bool form_is_flat(const struct sql_source *list)
{
    for (const struct sql_source *s = list; s; s = s->next) {
        bool outer = s->join == SQL_JOIN_LEFT;
        if (s->join == SQL_JOIN_RIGHT || s->join == SQL_JOIN_FULL)
            return false;
        if (s->kind == SQL_SOURCE_GROUP && (outer || !form_is_flat(s->group)))
            return false;
    }
    return true;
}

static bool is_in(const struct sql_source *list, const struct sql_source *wanted)
{
    for (const struct sql_source *s = list; s; s = s->next)
        if (s == wanted || is_in(s->group, wanted))
            return true;
    return false;
}

static bool joins_by(const struct sql_source *list, const char *column)
{
    for (const struct sql_source *s = list; s; s = s->next) {
        for (const struct sql_name *n = s->joined; n; n = n->next)
            if (strcasecmp(n->text, column) == 0)
                return true;
        if (joins_by(s->group, column))
            return true;
    }
    return false;
}

bool form_is_joined(const struct form_builder *f, const struct sql_expr *e)
{
    const struct form_frame *frame = e->source && !e->table ? f->frame : NULL;

    while (frame && !is_in(frame->core->from, e->source))
        frame = frame->outer;
    return frame && !form_is_flat(frame->core->from) && joins_by(frame->core->from, e->name.text);
}

/* What qualifies a column of the source. */
struct sql_name *form_qualifier(const struct sql_source *s)
{
    return (struct sql_name *)(uintptr_t)(s->alias.text ? &s->alias : &s->name);
}

static const struct sql_source *source_with(const struct form_builder *f, const struct sql_source *list,
                                            const struct sql_source *end, const char *column)
{
    for (const struct sql_source *s = list; s && s != end; s = s->next)
        for (int i = 0; i < sql_source_size(&f->r, s); i++)
            if (strcasecmp(sql_source_output(&f->r, s, i).name, column) == 0)
                return s;
    return NULL;
}

static struct sql_expr *column_of(struct form_builder *f, const struct sql_source *s, const char *name)
{
    struct sql_expr e = { .kind = SQL_EXPR_COLUMN, .column = -1, .name = { .text = name } };

    e.table = form_qualifier(s);
    for (int i = 0; i < sql_source_size(&f->r, s); i++) {
        struct sql_output o = sql_source_output(&f->r, s, i);
        if (strcasecmp(o.name, name) == 0) {
            e.column = o.column;
            e.name.text = o.name;
            break;
        }
    }
    struct sql_expr *copy = form_copy(f, &e);
    copy->source = (struct sql_source *)(uintptr_t)s;
    return copy;
}

/* ON, USING and NATURAL as one list of conditions. */
static void join_conditions(struct form_builder *f, struct form_conditions *c, const struct sql_source *list,
                            const struct sql_source *s)
{
    if (s->on)
        form_flatten(f, c, s->on, SQL_AND);
    for (const struct sql_name *n = s->joined; n; n = n->next) {
        const struct sql_source *left = source_with(f, list, s, n->text);
        if (!left)
            continue;
        struct sql_expr e = { .kind = SQL_EXPR_BINARY, .op = SQL_EQUAL, .column = -1 };
        e.left = column_of(f, left, n->text);
        e.right = column_of(f, s, n->text);
        form_flatten(f, c, &e, SQL_AND);
    }
}

/* The conditions as one expression; NULL for none. */
static const struct sql_expr *conjunction(struct form_builder *f, const struct form_conditions *c)
{
    struct sql_expr *all = NULL;

    for (int i = 0; i < c->n; i++) {
        struct sql_expr *one = form_copy(f, &c->list[i]);
        struct sql_expr both = { .kind = SQL_EXPR_BINARY, .op = SQL_AND, .left = all, .right = one, .column = -1 };
        all = all ? form_copy(f, &both) : one;
    }
    return all;
}

static struct form_term outer_join(struct form_builder *f, const struct sql_source *list, const struct sql_source *s,
                                   const char *op)
{
    struct form_conditions c = { 0 };
    const struct form_source *named = form_find_source(f, s);
    struct form_term t = { .function = "", .op = op, .column = -1, .other = -1, .table = s->table };

    join_conditions(f, &c, list, s);
    const char **texts = xmalloc((size_t)c.n * sizeof *texts + 1), *name = named ? named->name : "";
    t.head = name;
    for (int i = 0; i < c.n; i++) {
        struct form_term on = form_condition(f, &c.list[i]);
        texts[i] = on.text;
        t.head = strcmp(on.op, "inner") == 0 ? on.head : t.head;
    }
    t.value = form_join(f, texts, c.n, " and ", true);
    t.text = form_printf(f, "%s %s on %s", op, name, t.value);
    t.expr = conjunction(f, &c);
    t.core = f->frame->core;
    free(texts);
    free(c.list);
    return t;
}

/* In order of the text, as one term: what RIGHT and FULL joins mean depends on it. */
static const char *chain_text(struct form_builder *f, const struct sql_source *list)
{
    static const char *const joins[] = { "inner", "inner", "inner", "left", "right", "full" };
    const char *text = "";

    for (const struct sql_source *s = list; s && !f->full; s = s->next) {
        const char *inner = s->kind == SQL_SOURCE_GROUP ? chain_text(f, s->group) : "";
        struct form_term t = outer_join(f, list, s, joins[s->join]);
        text = form_printf(f, "%s [%s%s", text, inner, t.text);
        for (const struct sql_name *n = s->joined; n; n = n->next)
            text = form_printf(f, "%s using(%s)", text, form_name(f, n->text));
        text = form_printf(f, "%s]", text);
    }
    return text;
}

static void flat_joins(struct form_builder *f, struct form *form, const struct sql_source *list,
                       struct form_conditions *c)
{
    for (const struct sql_source *s = list; s && !f->full; s = s->next) {
        if (s->kind == SQL_SOURCE_GROUP)
            flat_joins(f, form, s->group, c);
        if (s->join == SQL_JOIN_LEFT)
            form_add(&form->lists[FORM_JOIN], outer_join(f, list, s, "left"));
        else
            join_conditions(f, c, list, s);
    }
}

void form_sources(struct form_builder *f, struct form *form, const struct sql_source *list, struct form_conditions *c)
{
    name_sources(f, form, list);
    if (form_is_flat(list)) {
        flat_joins(f, form, list, c);
        return;
    }
    struct form_term t = { .head = "", .function = "", .op = "chain", .column = -1, .other = -1, .table = -1 };
    t.text = t.value = chain_text(f, list);
    form_add(&form->lists[FORM_JOIN], t);
}
