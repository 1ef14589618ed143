/* Part of under_specify.h: the examples of shortened questions. */
#include "data/natural/under_specify_impl.h"

#include "data/natural/schema_store.h"
#include "data/stats/pairing.h"
#include "data/util/log.h"

#include <stdlib.h>
#include <string.h>

enum { GROUP_MAX = 40 }; /* questions of one database */

/* Items of one database, which are paired. */
struct group {
    struct natural *n;
    const struct natural_corpus *c;
    const struct under_item **items;
    int count, cap;
};

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
    for (int c = 0; c < x->s->n_columns; c++)
        if ((x->dropped[c] && uses(y, c)) || (y->dropped[c] && uses(x, c)))
            return false;
    return strcmp(x->text, y->text) != 0;
}

static const char *alternative(struct strings *text, const struct schema *s, int column)
{
    return strings_printf(text, "%s.%s", s->tables[s->columns[column].table].name, s->columns[column].name);
}

static enum sia_kind kind_of(const struct under_item *i)
{
    return i->s->columns[i->columns[0]].table == i->s->columns[i->columns[1]].table ? SIA_COLUMN : SIA_JOIN;
}

/* one: the only column that fits; NULL: both do, and the question is ambiguous. */
static void emit(const struct group *g, const struct under_item *i, const char *db_id, const struct under_one *one)
{
    enum fold fold = g->c->fold[i->db];
    struct example e = { .db_id = db_id,
                         .source_db = g->c->schemas.schemas[i->db].db_id,
                         .question = i->text,
                         .sql = { one ? one->sql : i->sql[0], one ? NULL : i->sql[1] },
                         .n_sql = one ? 1 : 2,
                         .slice = EXAMPLE_CROSSED,
                         .kind = kind_of(i),
                         .ambiguous = !one,
                         .source = g->c->name,
                         .reason = one && one->gone < 0 ? "whole name" : i->reason };

    for (int k = 0; k < 2 && !one; k++)
        e.alternatives[k] = alternative(&g->n->out->folds[fold].text, i->s, i->columns[k]);
    natural_add(g->n, fold, &e);
}

/* The question that names its column. */
static void emit_named(const struct group *g, const struct under_item *i, const char *db_id)
{
    enum fold fold = g->c->fold[i->db];
    const struct example e = { .db_id = db_id,
                               .source_db = g->c->schemas.schemas[i->db].db_id,
                               .question = i->full,
                               .sql = { i->full_sql },
                               .n_sql = 1,
                               .slice = EXAMPLE_PRESENCE,
                               .kind = kind_of(i),
                               .source = g->c->name,
                               .reason = i->full_reason };

    if (natural_claim(g->n, i->full, fold))
        natural_add(g->n, fold, &e);
}

/* The schema of `one` without what x and y drop, and without the column that is gone there. */
static const char *schema_for(const struct group *g, const struct under_item *x, const struct under_item *y,
                              const struct under_one *one)
{
    bool *dropped = xcalloc((size_t)one->s->n_columns, sizeof *dropped);

    for (int c = 0; c < one->s->n_columns; c++)
        dropped[c] = x->dropped[c] || y->dropped[c] || c == one->gone;
    const char *db_id = schema_store_get(g->n, one->s, dropped);
    free(dropped);
    return db_id;
}

/* Both short questions on both schemas, and both questions that name their column. */
static void emit_pair(const struct group *g, const struct under_item *x, const struct under_item *y)
{
    struct strings *text = &g->n->out->folds[g->c->fold[x->db]].text;
    struct under_one one_x = under_one_draw(g->n, text, x, x->s), one_y = under_one_draw(g->n, text, y, x->s);
    const char *both_x = schema_for(g, x, y, &one_y), *both_y = schema_for(g, x, y, &one_x);

    emit(g, x, both_x, NULL);
    emit(g, x, both_y, &one_x);
    emit(g, y, both_y, NULL);
    emit(g, y, both_x, &one_y);
    emit_named(g, x, both_x);
    emit_named(g, y, both_y);
}

/* The items of one database; marks those that have a partner. */
static void emit_group(struct group *g, bool *paired)
{
    struct pair *pairs = xmalloc(((size_t)g->count / 2 + 1) * sizeof *pairs);
    int n = pairing_match(pairs, g->count, items_fit, g, &g->n->rng);

    for (int i = 0; i < n; i++) {
        emit_pair(g, g->items[pairs[i].a], g->items[pairs[i].b]);
        paired[pairs[i].a] = paired[pairs[i].b] = true;
    }
    free(pairs);
}

/* No column of the schema goes by what the short question says, so that it stays as clear or ambiguous as it was. */
static bool is_foreign(const struct under_item *i, const struct schema *s)
{
    for (int c = 0; c < s->n_columns; c++)
        if (column_has_words(s, c, &i->left))
            return false;
    return true;
}

/* Items of different databases of one split, which have no table of the same name. */
static bool strangers_fit(const void *group, int a, int b)
{
    const struct group *g = group;
    const struct under_item *x = g->items[a], *y = g->items[b];

    if (x->db == y->db || g->c->fold[x->db] != g->c->fold[y->db] || !is_foreign(x, y->s) || !is_foreign(y, x->s))
        return false;
    for (int t = 0; t < x->s->n_tables; t++)
        if (schema_table_find(y->s, x->s->tables[t].name) >= 0)
            return false;
    return strcmp(x->text, y->text) != 0;
}

/* The item on a schema in which its own columns begin at `first`. */
static struct under_item move(const struct under_item *of, const struct schema *s, int first)
{
    struct under_item i = *of;
    size_t own = (size_t)of->s->n_columns, all = (size_t)s->n_columns;

    i.s = s;
    i.touched = xcalloc(all, sizeof *i.touched);
    i.dropped = xcalloc(all, sizeof *i.dropped);
    memcpy(i.touched + first, of->touched, own * sizeof *i.touched);
    memcpy(i.dropped + first, of->dropped, own * sizeof *i.dropped);
    for (int k = 0; k < 2; k++)
        i.columns[k] += first;
    return i;
}

static void emit_strangers(const struct group *g, const struct under_item *x, const struct under_item *y)
{
    const struct schema *s = natural_join(g->n, x->s, y->s);
    struct under_item a = move(x, s, 0), b = move(y, s, x->s->n_columns);

    emit_pair(g, &a, &b);
    free(a.touched);
    free(a.dropped);
    free(b.touched);
    free(b.dropped);
}

/* A question of another database that fits, or NULL. */
static const struct under_item *find_stranger(const struct group *all, int alone)
{
    const struct under_item *found = NULL;
    uint32_t fit = 0;

    for (int i = 0; i < all->count; i++)
        if (strangers_fit(all, alone, i) && rng_below(&all->n->rng, ++fit) == 0)
            found = all->items[i];
    return found;
}

/* Those whose database has no other question for them are crossed with one of another database, which may have
 * examples already. */
static void emit_alone(const struct group *all, const bool *paired)
{
    int left = 0;

    for (int i = 0; i < all->count; i++) {
        const struct under_item *partner = paired[i] ? NULL : find_stranger(all, i);
        if (partner)
            emit_strangers(all, all->items[i], partner);
        left += !paired[i] && !partner;
    }
    log_info("%s: %d shortened questions, %d of them without a partner", all->c->name, all->count, left);
}

/* Appends at most GROUP_MAX questions of one database. */
static void take_items(struct group *all, const struct under_items *items, int db)
{
    int first = all->count;

    for (int i = 0; i < items->n; i++)
        if (items->list[i].db == db && natural_claim(all->n, items->list[i].text, all->c->fold[db])) {
            GROW(all->items, all->count, all->cap);
            all->items[all->count++] = &items->list[i];
        }
    int n = all->count - first;
    rng_shuffle(&all->n->rng, all->items + first, n, sizeof *all->items);
    all->count = first + (n < GROUP_MAX ? n : GROUP_MAX);
}

void under_specify_cross(struct natural *n, const struct natural_corpus *c, const struct under_items *items)
{
    struct group all = { .n = n, .c = c };
    bool *paired = xcalloc((size_t)items->n + 1, sizeof *paired);

    for (int db = 0; db < c->schemas.n; db++) {
        int first = all.count;
        take_items(&all, items, db);
        struct group own = { .n = n, .c = c, .items = all.items + first, .count = all.count - first };
        if (own.count)
            emit_group(&own, paired + first);
    }
    emit_alone(&all, paired);
    free(paired);
    free(all.items);
}
