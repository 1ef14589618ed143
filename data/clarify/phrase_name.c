/* Part of phrase.h: what a name stands for: a column, an alias, what a sub-query in FROM gives. */
#include "data/clarify/phrase_impl.h"
#include "data/sql/sql_scope.h"

#include <string.h>
#include <strings.h>

static const struct phrase_words unknown = { NULL, PHRASE_ATOM };

/* The sources of one FROM that a name could mean as well as the one at hand. */
struct source_twins {
    const struct sql_source *of;
    int n, place; /* place counts from 1; 0 when it is not in that FROM */
};

static bool is_twin(const struct sql_source *a, const struct sql_source *b)
{
    if (a->cte || b->cte)
        return a->cte == b->cte;
    return a == b || (a->table >= 0 && a->table == b->table);
}

static void count_twins(struct source_twins *t, const struct sql_source *list)
{
    for (const struct sql_source *s = list; s; s = s->next) {
        if (s->kind == SQL_SOURCE_GROUP) {
            count_twins(t, s->group);
        } else if (is_twin(s, t->of)) {
            t->n++;
            t->place = s == t->of ? t->n : t->place;
        }
    }
}

static const char *numbered(const struct phrase_context *p, int place, const char *what)
{
    static const char *const words[] = { "first", "second", "third", "fourth", "fifth" };
    return place <= ARRAY_LEN(words) ? strings_printf(p->pool, "the %s %s", words[place - 1], what)
                                     : strings_printf(p->pool, "%s number %d", what, place);
}

/* Among those in sight, the innermost first; *hidden: an inner SELECT reads the same. */
static struct source_twins find_twins(const struct phrase_context *p, const struct sql_source *s, bool *hidden)
{
    struct source_twins t = { s, 0, 0 };

    *hidden = false;
    for (const struct phrase_scope *scope = p->scope; scope; scope = scope->outer) {
        t = (struct source_twins){ s, 0, 0 };
        count_twins(&t, scope->core->from);
        if (t.place)
            return t;
        *hidden = *hidden || t.n;
    }
    return t;
}

const char *phrase_source(const struct phrase_context *p, const struct sql_source *s)
{
    const char *what = s->table >= 0 && !s->cte ? p->schema->tables[s->table].text : "list";
    bool hidden;
    struct source_twins t = find_twins(p, s, &hidden);

    if (hidden)
        return strings_printf(p->pool, "the %s in question", what);
    return t.place && t.n > 1 ? numbered(p, t.place, what) : what;
}

static struct phrase_words tell_alias(const struct phrase_context *p, const struct sql_expr *e)
{
    for (const struct phrase_scope *scope = p->scope; scope; scope = scope->outer) {
        const struct sql_result *r = sql_find_alias(scope->core, e->name.text);
        struct phrase_context in = *p;
        in.scope = scope;
        if (r && r->expr)
            return phrase_expr(&in, r->expr);
    }
    return unknown;
}

static bool is_open(const struct phrase_scope *scope, const struct form *form)
{
    for (; scope; scope = scope->outer)
        for (const struct form *arm = form; arm; arm = arm->next)
            if (scope->core == arm->core)
                return true;
    return false;
}

/* What one SELECT gives as its n-th output. */
static struct phrase_words tell_output(const struct phrase_context *p, const struct form *arm, int n)
{
    const struct form_term *t = &arm->lists[FORM_SELECT].items[n];
    struct phrase_scope scope = { arm->core, p->scope };
    struct phrase_context in = *p;

    in.scope = &scope;
    in.brief = false;
    struct phrase_words w = phrase_expr(&in, t->expr);
    if (!arm->lists[FORM_GROUP].n || !phrase_is_aggregated(t->expr))
        return w;
    return (struct phrase_words){ strings_printf(p->pool, "%s for each %s", w.text, phrase_groups(&in, arm)),
                                  PHRASE_LOOSE };
}

/* Of a compound, what any of its SELECTs gives. */
struct phrase_words phrase_output(const struct phrase_context *p, const struct form *form, int n)
{
    struct strings seen = { 0 };
    struct phrase_words all = unknown;

    for (const struct form *arm = form; arm; arm = arm->next) {
        struct phrase_words one = tell_output(p, arm, n);
        if (strings_find(&seen, one.text) >= 0)
            continue;
        all = seen.n ? (struct phrase_words){ strings_printf(p->pool, "%s or %s", all.text, one.text), PHRASE_LOOSE }
                     : one;
        strings_add(&seen, one.text);
    }
    strings_release(&seen);
    return all;
}

static int output_number(const struct sql_source *s, const char *name)
{
    int i = 0;
    while (i < s->n_outputs && strcasecmp(s->outputs[i].name, name) != 0)
        i++;
    return i;
}

/* A column of a sub-query or common table expression is what stands there. */
static struct phrase_words tell_derived(const struct phrase_context *p, const struct sql_expr *e)
{
    const struct sql_select *select = e->source->cte ? e->source->cte->select : e->source->select;
    const struct form *form = select ? form_find(p->store, select) : NULL;
    int n = output_number(e->source, e->name.text);
    bool hidden;

    if (!form || n >= e->source->n_outputs || is_open(p->scope, form))
        return unknown;
    for (const struct form *arm = form; arm; arm = arm->next)
        if (arm->lists[FORM_SELECT].n != e->source->n_outputs || arm->core->rows)
            return unknown;
    struct phrase_words w = phrase_output(p, form, n);
    if (find_twins(p, e->source, &hidden).n < 2)
        return w;
    return (struct phrase_words){ strings_printf(p->pool, "%s in %s", w.text, phrase_source(p, e->source)),
                                  PHRASE_LOOSE };
}

/* Alone, such a column would read as the table. */
static bool is_tables_name(const struct schema *s, const char *name)
{
    for (int t = 0; t < s->n_tables; t++)
        if (strcasecmp(s->tables[t].text, name) == 0)
            return true;
    return false;
}

static struct phrase_words tell_column(const struct phrase_context *p, const struct sql_expr *e)
{
    const char *name = e->column >= 0 ? p->schema->columns[e->column].text : "internal row id";
    bool hidden;

    if (p->brief && !is_tables_name(p->schema, name) && find_twins(p, e->source, &hidden).n == 1 && !hidden)
        return (struct phrase_words){ name, PHRASE_ATOM };
    return (struct phrase_words){ strings_printf(p->pool, "%s of %s", name, phrase_source(p, e->source)), PHRASE_ATOM };
}

struct phrase_words phrase_name(const struct phrase_context *p, const struct sql_expr *e)
{
    if (!e->source)
        return tell_alias(p, e);
    if (e->source->table >= 0 && !e->source->cte)
        return tell_column(p, e);
    return tell_derived(p, e);
}
