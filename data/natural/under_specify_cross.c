/* Part of under_specify.h: the examples of shortened questions. */
#include "data/natural/under_specify_impl.h"

#include "data/natural/schema_store.h"
#include "data/stats/pairing.h"

#include <stdlib.h>
#include <string.h>

/* Items of one database, which are paired. */
struct group {
    struct natural *n;
    const struct natural_corpus *c;
    const struct under_item **items;
    int count, cap;
};

static const struct schema *schema_of(const struct group *g, const struct under_item *i)
{
    return &g->c->schemas.schemas[i->db];
}

static bool uses(const struct under_item *i, int column)
{
    return i->touched[column] || column == i->columns[0] || column == i->columns[1];
}

/* Neither question needs, or is about, a column that goes for the other's sake. */
static bool items_fit(const void *group, int a, int b)
{
    const struct group *g = group;
    const struct under_item *x = g->items[a], *y = g->items[b];

    for (int k = 0; k < 2; k++)
        if (uses(x, y->columns[k]) || uses(y, x->columns[k]))
            return false;
    for (int c = 0; c < schema_of(g, x)->n_columns; c++)
        if ((x->dropped[c] && uses(y, c)) || (y->dropped[c] && uses(x, c)))
            return false;
    return strcmp(x->text, y->text) != 0;
}

/* One of the two columns, which stays where only one does: not one whose key would go with it. */
static int draw_kept(struct natural *n, const struct schema *s, const struct under_item *i)
{
    for (int k = 0; k < 2; k++)
        if (s->columns[i->columns[k]].primary)
            return k;
    return (int)rng_below(&n->rng, 2);
}

static const char *alternative(struct strings *text, const struct schema *s, int column)
{
    return strings_printf(text, "%s.%s", s->tables[s->columns[column].table].name, s->columns[column].name);
}

/* which: the only column that stands there; -1: both do, and the question is ambiguous. */
static void emit(const struct group *g, const struct under_item *i, const char *db_id, int which)
{
    const struct schema *s = schema_of(g, i);
    enum fold fold = g->c->fold[i->db];
    struct example e = { .db_id = db_id,
                         .source_db = s->db_id,
                         .question = i->text,
                         .slice = EXAMPLE_CROSSED,
                         .kind = SIA_COLUMN,
                         .ambiguous = which < 0,
                         .source = g->c->name,
                         .reason = "under-specified" };

    for (int k = 0; k < 2; k++)
        if (which < 0 || which == k)
            e.sql[e.n_sql++] = i->sql[k];
    for (int k = 0; k < 2 && which < 0; k++)
        e.alternatives[k] = alternative(&g->n->out->folds[fold].text, s, i->columns[k]);
    natural_add(g->n, fold, &e);
}

/* The question as it was, which names its column. */
static void emit_named(const struct group *g, const struct under_item *i, const char *db_id)
{
    const struct spider_question *q = &g->c->questions.items[i->question];
    enum fold fold = g->c->fold[i->db];
    const struct example e = { .db_id = db_id,
                               .source_db = q->db_id,
                               .question = q->question,
                               .sql = { q->query },
                               .n_sql = 1,
                               .slice = EXAMPLE_PRESENCE,
                               .kind = SIA_COLUMN,
                               .source = g->c->name,
                               .reason = "named" };

    if (natural_claim(g->n, q->question, fold))
        natural_add(g->n, fold, &e);
}

/* The schema without what x and y (may be NULL) drop, and without column `gone` (-1: none). */
static const char *schema_for(const struct group *g, const struct under_item *x, const struct under_item *y, int gone)
{
    const struct schema *s = schema_of(g, x);
    bool *dropped = xcalloc((size_t)s->n_columns, sizeof *dropped);

    for (int c = 0; c < s->n_columns; c++)
        dropped[c] = x->dropped[c] || (y && y->dropped[c]) || c == gone;
    const char *db_id = schema_store_get(g->n, s, dropped);
    free(dropped);
    return db_id;
}

static void emit_pair(const struct group *g, const struct under_item *x, const struct under_item *y)
{
    int kept_x = draw_kept(g->n, schema_of(g, x), x), kept_y = draw_kept(g->n, schema_of(g, y), y);
    const char *both_x = schema_for(g, x, y, y->columns[1 - kept_y]);
    const char *both_y = schema_for(g, x, y, x->columns[1 - kept_x]);

    emit(g, x, both_x, -1);
    emit(g, x, both_y, kept_x);
    emit(g, y, both_y, -1);
    emit(g, y, both_x, kept_y);
    emit_named(g, x, both_x);
    emit_named(g, y, both_y);
}

static void emit_alone(const struct group *g, const struct under_item *x)
{
    int kept = draw_kept(g->n, schema_of(g, x), x);
    const char *both = schema_for(g, x, NULL, -1);

    emit(g, x, both, -1);
    emit(g, x, schema_for(g, x, NULL, x->columns[1 - kept]), kept);
    emit_named(g, x, both);
}

static void emit_group(struct group *g)
{
    struct pair *pairs = xmalloc(((size_t)g->count / 2 + 1) * sizeof *pairs);
    bool *paired = xcalloc((size_t)g->count, sizeof *paired);
    int n = pairing_match(pairs, g->count, items_fit, g, &g->n->rng);

    for (int i = 0; i < n; i++) {
        emit_pair(g, g->items[pairs[i].a], g->items[pairs[i].b]);
        paired[pairs[i].a] = paired[pairs[i].b] = true;
    }
    for (int i = 0; i < g->count; i++)
        if (!paired[i])
            emit_alone(g, g->items[i]);
    free(paired);
    free(pairs);
}

void under_specify_cross(struct natural *n, const struct natural_corpus *c, const struct under_items *items)
{
    for (int db = 0; db < c->schemas.n; db++) {
        struct group g = { .n = n, .c = c };
        for (int i = 0; i < items->n; i++)
            if (items->list[i].db == db && natural_claim(n, items->list[i].text, c->fold[db])) {
                GROW(g.items, g.count, g.cap);
                g.items[g.count++] = &items->list[i];
            }
        if (g.count)
            emit_group(&g);
        free(g.items);
    }
}
