#include "data/sql/sql_form.h"

#include "data/sql/sql_form_expr.h"
#include "data/sql/sql_print.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* --- FROM: a set of tables, the edges between them, and outer joins --- */

const struct form_source *form_find_source(const struct form_builder *f, const struct sql_source *s)
{
    for (int i = f->n_sources - 1; i >= 0; i--)
        if (f->sources[i].source == s)
            return &f->sources[i];
    return NULL;
}

static void add_term(struct form_list *l, struct form_term t)
{
    GROW(l->items, l->n, l->cap);
    l->items[l->n++] = t;
}

/* A second source of the same name becomes "name#2". Sources of enclosing queries count too. */
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

/* Expands a CTE at each reference. Expansion stops at a recursive reference. */
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

/* Returns the text of a FROM source. A function's text includes its number, since its arguments may refer to other
 * sources. */
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

/* A source without a name so far. */
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

/* Sources are named in the order of their texts, so that the names of derived tables do not depend on their order in
 * FROM. */
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
        add_term(&form->lists[FORM_FROM], (struct form_term){ text, text, "", "", "", -1, -1, s->cte ? -1 : s->table,
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

/* Returns the alias or name that qualifies the columns of a source. */
static struct sql_name *qualifier(const struct sql_source *s)
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

    e.table = qualifier(s);
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

/* Collects ON, USING and NATURAL into one list of conditions. */
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

/* Joins the conditions by AND; NULL if there are none. */
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

/* Writes all joins as one term in text order, because RIGHT and FULL joins depend on the order. */
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
            add_term(&form->lists[FORM_JOIN], outer_join(f, list, s, "left"));
        else
            join_conditions(f, c, list, s);
    }
}

/* Reads FROM: puts its sources in scope, its tables and outer joins into the form, and the conditions of inner joins
 * into c. */
static void read_sources(struct form_builder *f, struct form *form, const struct sql_source *list,
                         struct form_conditions *c)
{
    name_sources(f, form, list);
    if (form_is_flat(list)) {
        flat_joins(f, form, list, c);
        return;
    }
    struct form_term t = { .head = "", .function = "", .op = "chain", .column = -1, .other = -1, .table = -1 };
    t.text = t.value = chain_text(f, list);
    add_term(&form->lists[FORM_JOIN], t);
}

/* --- The clauses of one SELECT --- */

static int compare_terms(const void *a, const void *b)
{
    const struct form_term *x = a, *y = b;
    return strcmp(x->text, y->text);
}

/* Sorts a list by text and removes duplicates. */
static void sort_list(struct form_list *l)
{
    int n = 0;

    if (l->n)
        qsort(l->items, (size_t)l->n, sizeof *l->items, compare_terms);
    for (int i = 0; i < l->n; i++)
        if (n == 0 || strcmp(l->items[i].text, l->items[n - 1].text) != 0)
            l->items[n++] = l->items[i];
    l->n = n;
}

static void add_output(struct form_builder *f, struct form *form, const char *name, struct form_term t)
{
    struct form_frame *frame = f->frame;

    add_term(&form->lists[FORM_SELECT], t);
    if (frame->n == frame->cap) {
        frame->cap = frame->cap ? 2 * frame->cap : 16;
        frame->names = xrealloc(frame->names, (size_t)frame->cap * sizeof *frame->names);
        frame->texts = xrealloc(frame->texts, (size_t)frame->cap * sizeof *frame->texts);
    }
    frame->names[frame->n] = name;
    frame->texts[frame->n++] = t.text;
}

static bool joined_before(const struct sql_source *s, const char *column)
{
    for (const struct sql_name *n = s->joined; n; n = n->next)
        if (strcasecmp(n->text, column) == 0)
            return true;
    return false;
}

static void add_columns(struct form_builder *f, struct form *form, const struct sql_source *s, bool all)
{
    for (int i = 0; i < sql_source_size(&f->r, s) && !f->full; i++) {
        struct sql_output o = sql_source_output(&f->r, s, i);
        struct sql_expr e = { .kind = SQL_EXPR_COLUMN, .column = o.column, .name = { .text = o.name } };
        e.source = (struct sql_source *)(uintptr_t)s;
        e.table = all ? qualifier(s) : NULL;
        if (!o.hidden && (all || !joined_before(s, o.name)))
            add_output(f, form, o.name, form_operand(f, form_copy(f, &e)));
    }
}

/* Adds the columns of *, or of t.* if table is given. Several sources may have that name. */
static void add_star(struct form_builder *f, struct form *form, const struct sql_source *list, const char *table)
{
    for (const struct sql_source *s = list; s && !f->full; s = s->next) {
        if (s->kind == SQL_SOURCE_GROUP)
            add_star(f, form, s->group, table);
        else if (!table || strcasecmp(sql_source_name(s), table) == 0)
            add_columns(f, form, s, table);
    }
}

static void add_results(struct form_builder *f, struct form *form, const struct sql_core *core)
{
    for (const struct sql_result *r = core->results; r && !f->full; r = r->next) {
        if (!r->expr) {
            add_star(f, form, core->from, r->table.text);
            continue;
        }
        add_output(f, form, r->alias.text, form_operand(f, r->expr));
    }
    for (const struct sql_expr *row = core->rows; row && !f->full; row = row->next)
        add_output(f, form, NULL, form_operand(f, row));
}

/* Applies the COLLATE of the term that refers to an output. */
static struct form_term collated(struct form_builder *f, struct form_term output, const struct sql_expr *e)
{
    if (e->kind != SQL_EXPR_COLLATE)
        return output;
    struct form_term t = collated(f, output, e->left);
    t.text = t.head = form_printf(f, "(%s collate %s)", t.text, form_name(f, e->name.text));
    t.function = "";
    return t;
}

/* Reads a term of GROUP BY or ORDER BY. A number refers to an output. */
static struct form_term read_term(struct form_builder *f, const struct form *form, const struct sql_expr *e)
{
    long n = sql_ordinal(e);
    const char *alias = e->kind == SQL_EXPR_COLUMN && !e->source ? form_expr(f, e) : NULL;

    if (n >= 1 && n <= form->lists[FORM_SELECT].n)
        return collated(f, form->lists[FORM_SELECT].items[n - 1], e);
    for (int i = 0; alias && i < form->lists[FORM_SELECT].n; i++)
        if (strcmp(form->lists[FORM_SELECT].items[i].text, alias) == 0)
            return form->lists[FORM_SELECT].items[i];
    return form_operand(f, e);
}

static void add_condition(struct form_builder *f, struct form_list *list, struct form_term t)
{
    t.core = f->frame->core;
    add_term(list, t);
}

/* Puts conditions that join two sources into the joins, and the others into the list. Sets *any if the list is joined
 * by OR. */
static void add_conditions(struct form_builder *f, struct form *form, struct form_conditions *c,
                           enum form_clause clause, bool *any)
{
    struct form_list *list = &form->lists[clause];

    for (int i = 0; i < c->n && !f->full; i++) {
        struct form_term t = form_condition(f, &c->list[i]);
        bool edge = clause == FORM_WHERE && strcmp(t.op, "inner") == 0;
        add_condition(f, edge ? &form->lists[FORM_JOIN] : list, t);
    }
    sort_list(list);
    if (list->n != 1 || strcmp(list->items[0].op, "or") != 0)
        return;
    struct form_conditions either = { 0 };
    for (int i = 0; i < c->n; i++)
        if (form_is_or(&c->list[i]) && either.n == 0)
            form_flatten(f, &either, &c->list[i], SQL_OR);
    form_merge_equalities(f, &either);
    *any = either.n > 0;
    list->n = *any ? 0 : 1;
    for (int i = 0; i < either.n && !f->full; i++)
        add_condition(f, list, form_condition(f, &either.list[i]));
    sort_list(list);
    free(either.list);
}

/* Returns the output with that alias or from a star, counted from 1; else the output that is that column; else 0. */
static long named_output(const struct form *form, const char *name)
{
    const struct form_list *select = &form->lists[FORM_SELECT];
    long n = 0, column = 0;

    for (const struct sql_result *r = form->core->results; r && n < select->n; r = r->next)
        for (int i = 0; i < (r->expr ? 1 : r->n_outputs) && n < select->n; i++, n++) {
            const struct sql_expr *e = select->items[n].expr;
            bool same = e->kind == SQL_EXPR_COLUMN && strcasecmp(e->name.text, name) == 0;
            if (r->alias.text ? strcasecmp(r->alias.text, name) == 0 : same && !r->expr)
                return n + 1;
            column = same && !r->alias.text && !column ? n + 1 : column;
        }
    return column;
}

/* Returns the output of a compound that an ORDER BY term refers to, by number or by its name in the first SELECT. Other
 * terms include the text of the compound, so that they match no other statement. */
static struct form_term read_output(struct form_builder *f, const struct form *form, const struct sql_expr *e)
{
    const struct form_list *select = &form->lists[FORM_SELECT];
    const struct sql_expr *inner = e;

    while (inner->kind == SQL_EXPR_COLLATE)
        inner = inner->left;
    bool name = inner->kind == SQL_EXPR_COLUMN && !inner->table;
    long n = name ? named_output(form, inner->name.text) : sql_ordinal(e);
    struct form_term t = n >= 1 && n <= select->n ? select->items[n - 1] : form_operand(f, inner);
    if (n >= 1 && n <= select->n) {
        t.text = form_printf(f, "output %ld", n);
    } else {
        struct sql_printer p = { 0 };
        sql_print_select(&p, form->select);
        t.text = form_printf(f, "%s of %.*s", t.text, (int)p.n, p.text);
        free(p.text);
    }
    if (e->kind == SQL_EXPR_COLLATE)
        t.text = collated(f, (struct form_term){ .text = t.text }, e).text;
    return t;
}

/* compound: the form is the first SELECT of a compound. */
static void add_tail(struct form_builder *f, struct form *form, const struct sql_tail *tail, bool compound)
{
    static const char *const nulls[] = { "", " nulls first", " nulls last" };

    for (const struct sql_order *o = tail->order; o && !f->full; o = o->next) {
        struct form_term t = compound ? read_output(f, form, o->expr) : read_term(f, form, o->expr);
        t.op = form_printf(f, "%s%s", o->direction == SQL_DESCENDING ? "desc" : "asc", nulls[o->nulls]);
        t.text = form_printf(f, "%s %s", t.text, t.op);
        add_term(&form->lists[FORM_ORDER], t);
    }
    if (!tail->limit || f->full)
        return;
    const char *limit = form_expr(f, tail->limit), *offset = tail->offset ? form_expr(f, tail->offset) : "0";
    bool some = strcmp(offset, "0") != 0;
    bool none = limit[0] == '-' && isdigit((unsigned char)limit[1]) && limit[1] != '0';
    if (some || !none)
        form->limit = some ? form_printf(f, "%s after %s", limit, offset) : limit;
}

static struct form *new_form(struct form_store *store)
{
    struct form *form = xcalloc(1, sizeof *form);
    form->older = store->newest;
    form->text = "";
    store->newest = form;
    return form;
}

/* Records facts about the outputs for a compound, while their sources are in scope. */
static void note_outputs(struct form_builder *f, struct form *form)
{
    const struct form_list *select = &form->lists[FORM_SELECT];

    form->binary = form->exact = !form->core->rows;
    for (int i = 0; i < select->n && !f->full; i++) {
        form->binary = form->binary && form_is_binary(f, select->items[i].expr);
        form->exact = form->exact && (form_is_exact(f, select->items[i].expr) || form_is_count(select->items[i].expr));
    }
}

static struct form *read_core(struct form_builder *f, const struct sql_select *s, const struct sql_core *core)
{
    struct form_frame frame = { .core = core, .first_source = f->n_sources, .outer = f->frame };
    struct form *form = new_form(f->store);
    struct form_conditions c = { 0 }, having = { 0 };

    f->frame = &frame;
    form->core = core;
    form->select = s;
    form->op = core->op;
    form->distinct = core->distinct;
    read_sources(f, form, core->from, &c);
    add_results(f, form, core);
    if (core->where)
        form_flatten(f, &c, core->where, SQL_AND);
    add_conditions(f, form, &c, FORM_WHERE, &form->any_where);
    for (const struct sql_expr *e = core->group; e && !f->full; e = e->next)
        add_term(&form->lists[FORM_GROUP], read_term(f, form, e));
    if (core->having)
        form_flatten(f, &having, core->having, SQL_AND);
    add_conditions(f, form, &having, FORM_HAVING, &form->any_having);
    add_tail(f, form, &core->tail, false);
    if (!s->cores->next)
        add_tail(f, form, &s->tail, false);
    note_outputs(f, form);
    sort_list(&form->lists[FORM_JOIN]);
    sort_list(&form->lists[FORM_GROUP]);
    bool first_ones = s->tail.limit && !s->tail.order; /* the rows depend on the order of the tables */
    if (form->lists[FORM_FROM].n && !first_ones)       /* the same table may occur twice */
        qsort(form->lists[FORM_FROM].items, (size_t)form->lists[FORM_FROM].n, sizeof(struct form_term), compare_terms);
    f->frame = frame.outer;
    f->n_sources = frame.first_source;
    free(frame.names);
    free(frame.texts);
    free(c.list);
    free(having.list);
    return form;
}

/* --- Texts and set operations --- */

static const char *join_terms(struct form_builder *f, const struct form_list *list, const char *between)
{
    const char **texts = xmalloc((size_t)list->n * sizeof *texts + 1);

    for (int i = 0; i < list->n; i++)
        texts[i] = list->items[i].text;
    const char *text = form_join(f, texts, list->n, between, false);
    free(texts);
    return text;
}

static const char *tail_text(struct form_builder *f, const struct form *form)
{
    const struct form_list *order = &form->lists[FORM_ORDER];
    const char *text = order->n ? form_printf(f, " order %s", join_terms(f, order, ", ")) : "";
    return form->limit ? form_printf(f, "%s limit %s", text, form->limit) : text;
}

/* Returns the text of one SELECT without those after it. */
static const char *core_text(struct form_builder *f, const struct form *form)
{
    static const char *const words[] = { "", " from ", " join ", " where ", " group ", " having " };
    const char *text = form->core->rows ? "values " : form->distinct ? "distinct " : "";

    for (int clause = 0; clause < ARRAY_LEN(words); clause++) {
        bool any = (clause == FORM_WHERE && form->any_where) || (clause == FORM_HAVING && form->any_having);
        if (form->lists[clause].n)
            text =
                form_printf(f, "%s%s%s", text, words[clause], join_terms(f, &form->lists[clause], any ? " or " : ", "));
    }
    return form_printf(f, "%s%s", text, tail_text(f, form));
}

/* Returns whether the operands of a set operation can be reordered. For UNION ALL the result must be sorted by bytes or
 * unsorted. For UNION and INTERSECT it must also not matter which of two equal rows remains. */
static bool is_set(const struct form_builder *f, const struct sql_select *s, struct form *const *arms, int n)
{
    bool set = !f->recursive && arms[1]->op != SQL_EXCEPT && (s->tail.order || !s->tail.limit);

    for (int i = 0; i < n; i++) {
        bool rows = arms[1]->op == SQL_UNION_ALL ? !s->tail.order || arms[i]->binary : arms[i]->exact;
        set = set && rows && (i == 0 || arms[i]->op == arms[1]->op);
    }
    return set;
}

/* The operands of EXCEPT and of mixed operators keep their order. */
static const char *compound_text(struct form_builder *f, struct form *const *arms, int n, bool set)
{
    static const char *const ops[] = { "", " union ", " union all ", " except ", " intersect " };
    const char **texts = xmalloc((size_t)n * sizeof *texts), *text = "";

    for (int i = 0; i < n; i++)
        texts[i] = arms[i]->text;
    if (set)
        form_join(f, texts, n, "", true); /* sorts the texts */
    for (int i = 0; i < n; i++)
        text = form_printf(f, "%s%s%s", text, ops[arms[i]->op], texts[i]);
    free(texts);
    return text;
}

/* The first form holds the order and limit of the compound. */
static struct form *link_arms(struct form_builder *f, const struct sql_select *s, struct form **arms, int n)
{
    for (int i = 0; i < n; i++) {
        arms[i]->text = core_text(f, arms[i]);
        arms[i]->next = i + 1 < n ? arms[i + 1] : NULL;
    }
    if (n == 1)
        return arms[0];
    arms[0]->text = compound_text(f, arms, n, is_set(f, s, arms, n));
    add_tail(f, arms[0], &s->tail, true);
    arms[0]->text = form_printf(f, "%s, all%s", arms[0]->text, tail_text(f, arms[0]));
    return arms[0];
}

struct form *form_select(struct form_builder *f, const struct sql_select *s)
{
    struct form **arms = NULL;
    int n = 0, cap = 0;
    bool around = f->recursive;

    f->recursive = false;
    f->full = f->full || ++f->depth > FORM_MAX_DEPTH;
    for (const struct sql_core *core = s->cores; core && !f->full; core = core->next) {
        GROW(arms, n, cap);
        arms[n++] = read_core(f, s, core);
    }
    struct form *form = f->full ? new_form(f->store) : link_arms(f, s, arms, n);
    free(arms);
    f->depth--;
    f->recursive = f->recursive || around;
    return form;
}

static struct form *form_of_query(struct form_store *store, const struct sql_query *q, const struct schema *s,
                                  struct error *err)
{
    struct form_builder *f = xcalloc(1, sizeof *f);

    f->store = store;
    f->r.schema = s;
    struct form *form = form_select(f, q->select);
    bool full = f->full;
    free(f->sources);
    free(f);
    if (!full)
        return form;
    error_set(err, EXIT_CODE_DATA, "the statement is too large or too deep to compare");
    return NULL;
}

struct form *form_of_text(struct form_store *store, const char *sql, const struct schema *s, struct arena *trees,
                          struct error *err)
{
    struct sql_uses uses;

    if (!store->newest)
        arena_reset(trees, 0);
    size_t mark = arena_mark(trees);
    struct sql_query *q = sql_parse(trees, sql, err);
    if (q && sql_resolve(trees, q, s, &uses, err) == 0)
        return form_of_query(store, q, s, err);
    arena_reset(trees, mark);
    return NULL;
}

const struct form *form_find(const struct form_store *store, const struct sql_select *select)
{
    for (const struct form *form = store->newest; form; form = form->older)
        if (form->select == select && form->core == select->cores)
            return form;
    return NULL;
}

void form_store_release(struct form_store *s)
{
    for (struct form *form = s->newest, *older; form; form = older) {
        older = form->older;
        for (int clause = 0; clause < FORM_CLAUSES; clause++)
            free(form->lists[clause].items);
        free(form);
    }
    form_release_nodes(s);
    strings_release(&s->pool);
    *s = (struct form_store){ 0 };
}
