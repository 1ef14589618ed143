#include "data/schema/schema_pairs.h"

#include "data/schema/schema_pairs_impl.h"
#include "data/schema/schema_similar.h"

#include <stdlib.h>
#include <string.h>

enum {
    FEW_NEIGHBOURS = 24, /* of a table, beyond which it does not bring its neighbours together */
    MANY_TABLES = 512,   /* beyond which only tables that keys join are compared */
    SMALL_TABLE = 3,     /* columns of a table that looks split off: the key, the column, perhaps one more */
    MANY_NAMESAKES = 8   /* elements of one name beyond which a candidate needs a related table, too */
};

struct draft_pair {
    int u, v;
    enum sia_kind kind;
    bool across; /* elements of two tables */
};

struct drafts {
    struct draft_pair *list;
    int n, cap;
};

static void add(struct drafts *d, int u, int v, enum sia_kind kind)
{
    GROW(d->list, d->n, d->cap);
    d->list[d->n++] =
        (struct draft_pair){ u < v || kind > SIA_TABLE ? u : v, u < v || kind > SIA_TABLE ? v : u, kind, false };
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

/* Every word of b, glue apart, is among those of a from the first-th on. */
static bool holds_words(const struct element_name *a, int first, int end, const struct element_name *b)
{
    uint32_t of = word_hash("of");

    for (int i = 0; i < b->n_words; i++) {
        bool found = b->words[i] == of;
        for (int k = first; k < end; k++)
            found |= a->words[k] == b->words[i];
        if (!found)
            return false;
    }
    return b->n_words > 0;
}

/* A column that is named as the number of a table's rows (number of orders, order count). */
static bool counts_rows(const struct pair_view *v, int column, int table)
{
    const struct element_name *c = &v->names[SPELLED_TEXT][column], *t = &v->names[SPELLED_TEXT][table];
    bool first = v->bases[SPELLED_TEXT][column] && (is_counting_word(c->words[0]) || c->words[0] == word_hash("no"));
    bool last = v->bases[SPELLED_TEXT][column] && is_counting_word(c->words[c->n_words - 1]);

    return (first && holds_words(c, 1, c->n_words, t)) || (!first && last && holds_words(c, 0, c->n_words - 1, t));
}

/* The rows that a stored number counts stand for themselves in keys of their table. */
static void add_counts(struct drafts *d, const struct pair_view *v, const struct table_reach *r)
{
    const struct schema *s = v->schema;

    for (int b = s->n_tables; b < v->n; b++)
        for (int t = 0; v->bases[SPELLED_TEXT][b] && t < s->n_tables; t++) {
            if (t == schema_table_of(s, b) || !counts_rows(v, b, t))
                continue;
            int first = s->tables[t].first_column;
            for (int c = first; c < first + s->tables[t].n_columns; c++)
                if (c == first || s->columns[c].primary || r->target[c] >= 0)
                    add(d, s->n_tables + c, b, SIA_AGGREGATE);
        }
}

/* Whether a question may mean either table: they are alike by their columns, share a word, mean persons or the like
 * both, or a key joins them. */
static bool could_be_tables(const struct pair_view *v, const struct table_reach *r, int a, int b)
{
    const struct element_name *x = &v->names[SPELLED_TEXT][a], *y = &v->names[SPELLED_TEXT][b];

    return (v->meanings[a] & v->meanings[b]) || element_name_shares_word(x, y) || table_reach(r, a, b) <= 1 ||
           like_tables(v, a, b);
}

/* Tables that have half of the smaller one's columns in common, key columns and all, and those beside. */
static void add_tables(struct drafts *d, const struct pair_view *v, const struct table_reach *r)
{
    const struct schema_table *t = v->schema->tables;

    for (int a = 0; a < v->schema->n_tables; a++)
        for (int b = a + 1; b < v->schema->n_tables; b++) {
            int both = shared_columns(v, a, b), any = t[a].n_columns + t[b].n_columns - both;
            bool like = both && 2 * both >= any;
            if (like || (v->schema->n_tables <= MANY_TABLES && could_be_tables(v, r, a, b)))
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

/* Two columns of one table that could hold the same thing: one type or meaning, and both or neither a key, unless
 * their names have a word in common. */
static bool could_be_twins(const struct pair_view *v, int a, int b)
{
    const struct schema *s = v->schema;
    const struct schema_column *x = &s->columns[a], *y = &s->columns[b];

    if (element_name_shares_word(&v->names[SPELLED_TEXT][s->n_tables + a], &v->names[SPELLED_TEXT][s->n_tables + b]))
        return true;
    if (x->type != y->type && !(v->meanings[s->n_tables + a] & v->meanings[s->n_tables + b]))
        return false;
    return x->primary == y->primary && v->foreign[a] == v->foreign[b];
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

/* Two columns of different tables that a question may mean alike.  Keys are alike that refer to one table under
 * different names; of other columns it takes the less the fewer joins lie between their tables. */
static bool could_be_meant(const struct pair_view *v, const struct table_reach *r, int a, int b, bool near, bool like)
{
    const struct schema *s = v->schema;
    int x = a - s->n_tables, y = b - s->n_tables;
    bool key = s->columns[x].primary || r->target[x] >= 0, other = s->columns[y].primary || r->target[y] >= 0;

    if (same_name(v, a, b))
        return !key && !other;
    if (key || other)
        return r->target[x] >= 0 && r->target[x] == r->target[y];
    struct name_similarity n = element_name_compare_words(&v->names[SPELLED_TEXT][a], &v->names[SPELLED_TEXT][b]);
    if (n.head > 0 || n.contains > 0)
        return true;
    return (near || like) && (n.words > 0 || (v->meanings[a] & v->meanings[b]));
}

static void add_between(struct drafts *d, const struct pair_view *v, const struct table_reach *r, int a, int b)
{
    const struct schema *s = v->schema;
    const struct schema_table *x = &s->tables[a], *y = &s->tables[b];
    bool near = table_reach(r, a, b) <= 1, like = like_tables(v, a, b);

    if (x->n_columns > PAIR_WIDE_TABLE || y->n_columns > PAIR_WIDE_TABLE)
        return;
    for (int i = x->first_column; i < x->first_column + x->n_columns; i++)
        for (int k = y->first_column; k < y->first_column + y->n_columns; k++)
            if (could_be_meant(v, r, s->n_tables + i, s->n_tables + k, near, like))
                add(d, s->n_tables + i, s->n_tables + k, SIA_COLUMN);
}

static bool brought_together(const struct pair_view *v, const struct table_reach *r, int a, int b)
{
    int reach = table_reach(r, a, b);
    bool hub = r->start[a + 1] - r->start[a] > FEW_NEIGHBOURS || r->start[b + 1] - r->start[b] > FEW_NEIGHBOURS;

    return reach <= (hub ? 1 : 2) || (v->schema->n_tables <= MANY_TABLES && like_tables(v, a, b));
}

/* Columns of one name that are no keys, in any two tables. */
static void add_namesakes(struct drafts *d, const struct pair_view *v, const struct table_reach *r)
{
    struct element_key *list = columns_by_key(v, SPELLED_TEXT);
    int n = v->schema->n_columns;

    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n && j <= i + MANY_NAMESAKES && list[j].key == list[i].key; j++) {
            int a = schema_table_of(v->schema, list[i].element), b = schema_table_of(v->schema, list[j].element);
            if (a != b && could_be_meant(v, r, list[i].element, list[j].element, false, false))
                add(d, list[i].element, list[j].element, SIA_COLUMN);
        }
    free(list);
}

static void add_across(struct drafts *d, const struct pair_view *v, const struct table_reach *r)
{
    add_namesakes(d, v, r);
    for (int a = 0; a < v->schema->n_tables; a++)
        for (int b = a + 1; b < v->schema->n_tables; b++)
            if (brought_together(v, r, a, b))
                add_between(d, v, r, a, b);
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

/* The order of the list: kind C last, and of it columns of two tables, so that the bound cuts there. */
static int by_rank(const void *x, const void *y)
{
    const struct draft_pair *a = x, *b = y;
    int ka = (a->kind + SIA_KINDS - 1) % SIA_KINDS, kb = (b->kind + SIA_KINDS - 1) % SIA_KINDS;

    if (ka != kb)
        return (ka > kb) - (ka < kb);
    if (a->across != b->across)
        return a->across - b->across;
    return a->u != b->u ? (a->u > b->u) - (a->u < b->u) : (a->v > b->v) - (a->v < b->v);
}

static int keep_best(struct drafts *d, const struct schema *s)
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
    for (int i = 0; i < n; i++)
        d->list[i].across = schema_table_of(s, d->list[i].u) != schema_table_of(s, d->list[i].v);
    qsort(d->list, (size_t)n, sizeof *d->list, by_rank);
    return n < SCHEMA_PAIRS_MAX ? n : SCHEMA_PAIRS_MAX;
}

struct schema_pair *schema_pairs(const struct schema *s, int *n)
{
    struct drafts d = { 0 };
    struct pair_view v;
    struct table_reach r;

    pair_view_open(&v, s);
    table_reach_open(&r, &v);
    add_joins(&d, &v);
    add_aggregates(&d, &v);
    add_counts(&d, &v, &r);
    add_tables(&d, &v, &r);
    add_columns(&d, &v);
    add_across(&d, &v, &r);
    *n = keep_best(&d, s);
    struct schema_pair *out = xmalloc((size_t)*n * sizeof *out);
    for (int i = 0; i < *n; i++)
        out[i] = (struct schema_pair){ .u = d.list[i].u, .v = d.list[i].v, .kind = d.list[i].kind };
    pair_features(&v, &r, out, *n);
    table_reach_close(&r);
    pair_view_close(&v);
    free(d.list);
    return out;
}
