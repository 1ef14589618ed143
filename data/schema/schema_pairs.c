#include "data/schema/schema_pairs.h"

#include "data/schema/schema_pairs_impl.h"
#include "data/schema/schema_similar.h"

#include <stdlib.h>
#include <string.h>

enum {
    SMALL_TABLE = 3,   /* columns of a table that looks split off: the key, the column, perhaps one more */
    MANY_NAMESAKES = 8 /* elements of one name beyond which a candidate needs a related table, too */
};

struct draft_pair {
    int u, v;
    enum sia_kind kind;
};

struct drafts {
    struct draft_pair *list;
    int n, cap;
};

static void add(struct drafts *d, int u, int v, enum sia_kind kind)
{
    GROW(d->list, d->n, d->cap);
    d->list[d->n++] = (struct draft_pair){ u, v, kind };
}

static struct element_key *columns_by_key(const struct pair_view *v, enum spelling k)
{
    const struct schema *s = v->schema;
    struct element_key *list = xmalloc((size_t)s->n_columns * sizeof *list);

    for (int c = 0; c < s->n_columns; c++)
        list[c] = (struct element_key){ v->keys[k][s->n_tables + c], s->n_tables + c };
    if (s->n_columns)
        qsort(list, (size_t)s->n_columns, sizeof *list, element_key_compare);
    return list;
}

/* The first position whose key is not below the given one. */
static int find_key(const struct element_key *list, int n, uint64_t key)
{
    int low = 0;

    while (low < n) {
        int mid = low + (n - low) / 2;
        if (list[mid].key < key)
            low = mid + 1;
        else
            n = mid;
    }
    return low;
}

/* Column b's table looks as if b had been moved there from a's: named after both, or small and keyed alike. */
static bool split_off(const struct pair_view *v, int a, int b)
{
    int from = schema_table_of(v->schema, a), to = schema_table_of(v->schema, b);
    const struct schema_table *t = v->schema->tables;

    if (from == to)
        return false;
    if (name_extends(v, to, from, a))
        return true;
    const struct schema_column *x = &v->schema->columns[a - v->schema->n_tables];
    const struct schema_column *y = &v->schema->columns[b - v->schema->n_tables];
    return !x->primary && !y->primary && t[to].n_columns <= SMALL_TABLE && t[from].n_columns > t[to].n_columns &&
           key_shared(v, from, to);
}

static void add_joins(struct drafts *d, const struct pair_view *v)
{
    for (int k = 0; k < SPELLINGS; k++) {
        struct element_key *list = columns_by_key(v, (enum spelling)k);
        int n = v->schema->n_columns;
        for (int i = 0; i < n; i++)
            for (int j = i + 1; j < n && j <= i + PAIR_WIDE_TABLE && list[j].key == list[i].key; j++)
                if (split_off(v, list[i].element, list[j].element))
                    add(d, list[i].element, list[j].element, SIA_JOIN);
                else if (split_off(v, list[j].element, list[i].element))
                    add(d, list[j].element, list[i].element, SIA_JOIN);
        free(list);
    }
}

static bool related(const struct pair_view *v, int a, int b)
{
    int x = schema_table_of(v->schema, a), y = schema_table_of(v->schema, b);
    return x == y || name_extends(v, y, x, a) || key_shared(v, x, y);
}

static void add_aggregates(struct drafts *d, const struct pair_view *v)
{
    for (int k = 0; k < SPELLINGS; k++) {
        struct element_key *list = columns_by_key(v, (enum spelling)k);
        int n = v->schema->n_columns;
        for (int b = v->schema->n_tables; b < v->n; b++) {
            uint64_t key = v->bases[k][b];
            int first = find_key(list, n, key), end = key ? find_key(list, n, key + 1) : first;
            for (int i = first; i < end && i < first + PAIR_WIDE_TABLE; i++)
                if (end - first <= MANY_NAMESAKES || related(v, list[i].element, b))
                    add(d, list[i].element, b, SIA_AGGREGATE);
        }
        free(list);
    }
}

/* Tables that have half of the smaller one's columns in common, key columns and all. */
static void add_tables(struct drafts *d, const struct pair_view *v)
{
    const struct schema_table *t = v->schema->tables;

    for (int a = 0; a < v->schema->n_tables; a++)
        for (int b = a + 1; b < v->schema->n_tables; b++) {
            int both = shared_columns(v, a, b), any = t[a].n_columns + t[b].n_columns - both;
            if (both && 2 * both >= any)
                add(d, a, b, SIA_TABLE);
        }
}

static void add_similar_columns(struct drafts *d, const struct pair_view *v, int first, int n)
{
    struct similar_pair *pairs = NULL;
    int n_pairs = 0, cap = 0;
    const struct schema_column *columns = v->schema->columns - v->schema->n_tables;

    similar_names(v->names[SPELLED_TEXT], first, first + n, &pairs, &n_pairs, &cap);
    for (int i = 0; i < n_pairs; i++)
        if (columns[pairs[i].a].type == columns[pairs[i].b].type)
            add(d, pairs[i].a, pairs[i].b, SIA_COLUMN);
    free(pairs);
}

/* Two columns of one table that could hold the same thing: one type, and both or neither a key, unless their names have
 * a word in common. */
static bool could_be_twins(const struct pair_view *v, int a, int b)
{
    const struct schema *s = v->schema;
    const struct schema_column *x = &s->columns[a], *y = &s->columns[b];

    if (x->type != y->type)
        return false;
    if (x->primary == y->primary && v->foreign[a] == v->foreign[b])
        return true;
    return element_name_shares_word(&v->names[SPELLED_TEXT][s->n_tables + a], &v->names[SPELLED_TEXT][s->n_tables + b]);
}

static void add_columns(struct drafts *d, const struct pair_view *v)
{
    const struct schema *s = v->schema;

    for (int t = 0; t < s->n_tables; t++) {
        int first = s->tables[t].first_column, n = s->tables[t].n_columns;
        if (n > PAIR_WIDE_TABLE) {
            add_similar_columns(d, v, s->n_tables + first, n);
            continue;
        }
        for (int a = first; a < first + n; a++)
            for (int b = a + 1; b < first + n; b++)
                if (could_be_twins(v, a, b))
                    add(d, s->n_tables + a, s->n_tables + b, SIA_COLUMN);
    }
}

/* Pairs of the same two elements stand together, the more telling kind first. */
static int by_elements(const void *x, const void *y)
{
    const struct draft_pair *a = x, *b = y;
    int la = a->u < a->v ? a->u : a->v, lb = b->u < b->v ? b->u : b->v;
    int ha = a->u + a->v - la, hb = b->u + b->v - lb;

    if (la != lb || ha != hb)
        return la != lb ? (la > lb) - (la < lb) : (ha > hb) - (ha < hb);
    return a->kind != b->kind ? (a->kind < b->kind) - (a->kind > b->kind) : (a->u > b->u) - (a->u < b->u);
}

/* The order of the list, but kind C last, so that the bound cuts there. */
static int by_rank(const void *x, const void *y)
{
    const struct draft_pair *a = x, *b = y;
    int ka = (a->kind + SIA_KINDS - 1) % SIA_KINDS, kb = (b->kind + SIA_KINDS - 1) % SIA_KINDS;

    if (ka != kb)
        return (ka > kb) - (ka < kb);
    return a->u != b->u ? (a->u > b->u) - (a->u < b->u) : (a->v > b->v) - (a->v < b->v);
}

static int keep_best(struct drafts *d)
{
    int n = 0;

    if (!d->n)
        return 0;
    qsort(d->list, (size_t)d->n, sizeof *d->list, by_elements);
    for (int i = 0; i < d->n; i++) {
        const struct draft_pair *p = &d->list[i], *q = n ? &d->list[n - 1] : NULL;
        if (!q || !((p->u == q->u && p->v == q->v) || (p->u == q->v && p->v == q->u)))
            d->list[n++] = *p;
    }
    qsort(d->list, (size_t)n, sizeof *d->list, by_rank);
    return n < SCHEMA_PAIRS_MAX ? n : SCHEMA_PAIRS_MAX;
}

struct schema_pair *schema_pairs(const struct schema *s, int *n)
{
    struct drafts d = { 0 };
    struct pair_view v;

    pair_view_open(&v, s);
    add_joins(&d, &v);
    add_aggregates(&d, &v);
    add_tables(&d, &v);
    add_columns(&d, &v);
    *n = keep_best(&d);
    struct schema_pair *out = xmalloc((size_t)*n * sizeof *out);
    for (int i = 0; i < *n; i++)
        out[i] = (struct schema_pair){ .u = d.list[i].u, .v = d.list[i].v, .kind = d.list[i].kind };
    pair_features(&v, out, *n);
    pair_view_close(&v);
    free(d.list);
    return out;
}
