/* Part of template_constraint.h: which tables may stand in a FROM together. */
#include "data/plan/template_constraint_impl.h"

#include "data/schema/element_name.h"

#include <stdlib.h>
#include <strings.h>

enum { MAX_CHOICES = 4096 };

/* The first of the columns that foreign keys tie together with this one. */
static int root_of(const int *parent, int c)
{
    while (parent[c] != c)
        c = parent[c];
    return c;
}

static void add_pair(struct key_pairs *k, const struct schema *s, int from, int to, bool declared)
{
    uint8_t *link = k->links + (size_t)s->columns[from].table * (size_t)s->n_tables + s->columns[to].table;

    GROW(k->items, k->n, k->cap);
    k->items[k->n++] = (struct key_pair){ from, to, declared, -1 };
    *link = declared ? 2 : *link ? *link : 1;
}

static uint64_t words_key(const char *text)
{
    struct element_name n;
    element_name_read(&n, text);
    return element_name_key(&n, 0, n.n_words);
}

/* "singer" in a table of concerts and the primary key of singers, whatever it is called.  words: a key of the words of
 * each table's name, then of each column's. */
static bool names_table(const struct schema *s, const uint64_t *words, int column, int key)
{
    int table = s->columns[key].table;
    return s->columns[key].primary && words[s->n_tables + column] == words[table];
}

static bool are_alike(const struct schema *s, const uint64_t *words, int a, int b)
{
    return s->columns[a].table != s->columns[b].table && (strcasecmp(s->columns[a].name, s->columns[b].name) == 0 ||
                                                          names_table(s, words, a, b) || names_table(s, words, b, a));
}

/* Pairs that foreign keys do not tie: root has one number for all columns that they tie together. */
static void add_alike(struct key_pairs *k, const struct schema *s, const int *root)
{
    uint64_t *words = xcalloc((size_t)s->n_tables + (size_t)s->n_columns + 1, sizeof *words);

    for (int t = 0; t < s->n_tables; t++)
        words[t] = words_key(s->tables[t].text);
    for (int c = 0; c < s->n_columns; c++)
        words[s->n_tables + c] = words_key(s->columns[c].text);
    for (int a = 0; a < s->n_columns; a++)
        for (int b = 0; b < s->n_columns; b++)
            if (root[a] != root[b] && are_alike(s, words, a, b))
                add_pair(k, s, a, b, false);
    free(words);
}

/* Whether exactly one column of a table is tied to this one. */
static bool has_tied(const struct schema *s, const int *root, int table, int column)
{
    const struct schema_table *t = &s->tables[table];
    int n = 0;

    for (int c = t->first_column; c < t->first_column + t->n_columns; c++)
        n += root[c] == root[column];
    return n == 1;
}

/* Whether both tables refer to the whole primary key of a third, or to that of one of them, and it has several
 * columns. */
static bool share_key(const struct schema *s, const int *root, int a, int b, int key)
{
    const struct schema_table *t = &s->tables[key];
    int n = 0;

    for (int c = t->first_column; c < t->first_column + t->n_columns; c++) {
        if (s->columns[c].primary && !(has_tied(s, root, a, c) && has_tied(s, root, b, c)))
            return false;
        n += s->columns[c].primary;
    }
    return n > 1;
}

/* The table whose key a declared pair is a part of; -1 where it joins alone. */
static int key_of(const struct schema *s, const int *root, int from, int to)
{
    int a = s->columns[from].table, b = s->columns[to].table;

    if (a == b || !has_tied(s, root, a, from) || !has_tied(s, root, b, to))
        return -1;
    for (int c = 0; c < s->n_columns; c++)
        if (s->columns[c].primary && root[c] == root[from] && share_key(s, root, a, b, s->columns[c].table))
            return s->columns[c].table;
    return -1;
}

void key_pairs_find(struct key_pairs *k, const struct schema *s)
{
    int *parent = xcalloc((size_t)s->n_columns + 1, sizeof *parent);

    *k = (struct key_pairs){ .links = xcalloc((size_t)s->n_tables + 1, (size_t)s->n_tables + 1) };
    for (int c = 0; c < s->n_columns; c++)
        parent[c] = c;
    for (int i = 0; i < s->n_foreign_keys; i++)
        parent[root_of(parent, s->foreign_keys[i].from)] = root_of(parent, s->foreign_keys[i].to);
    for (int c = 0; c < s->n_columns; c++)
        parent[c] = root_of(parent, c);
    for (int a = 0; a < s->n_columns; a++)
        for (int b = 0; b < s->n_columns; b++)
            if (a != b && parent[a] == parent[b])
                add_pair(k, s, a, b, true);
    for (int i = 0; i < k->n; i++)
        k->items[i].key = key_of(s, parent, k->items[i].from, k->items[i].to);
    add_alike(k, s, parent);
    free(parent);
}

void key_pairs_release(struct key_pairs *k)
{
    free(k->items);
    free(k->links);
    *k = (struct key_pairs){ 0 };
}

/* A search over the places of one FROM. */
struct from_search {
    const struct template_block *block;
    const struct schema *schema;
    const struct key_pairs *keys;
    const double *told;
    struct from_choices *out;
    struct from_choice now;
};

/* How well a table joins those before it: 0 not at all. */
static double link_of(const struct from_search *f, int place, int table)
{
    int best = 0;

    for (int p = 0; p < place; p++) {
        int link = f->keys->links[(size_t)f->now.tables[p] * (size_t)f->schema->n_tables + (size_t)table];
        best = link > best ? link : best;
    }
    return best / 2.0;
}

/* The last place before this one that the table stands at, or -1. */
static int find_again(const struct from_search *f, int place, int table)
{
    while (--place >= 0 && f->now.tables[place] != table)
        ;
    return place;
}

static void search(struct from_search *f, int place)
{
    if (f->out->n >= MAX_CHOICES)
        return;
    if (place == f->block->n_tables) {
        GROW(f->out->items, f->out->n, f->out->cap);
        f->out->items[f->out->n++] = f->now;
        return;
    }
    double score = f->now.score;
    for (int t = 0; t < f->schema->n_tables; t++) {
        double link = place ? link_of(f, place, t) : 1;
        int again = find_again(f, place, t);
        bool told_apart = again < 0 || (f->block->alias[again][0] && f->block->alias[place][0]);
        if ((link == 0 && f->block->joined[place]) || !told_apart)
            continue;
        f->now.tables[place] = t;
        f->now.score = score + link + (again < 0 ? f->told[t] : -1);
        search(f, place + 1);
    }
    f->now.score = score;
}

static bool has_named(const struct from_choice *c, int n, const struct template_shape *p, int block)
{
    for (int i = 0; i < p->n_pieces; i++) {
        bool found = p->pieces[i].kind != PIECE_NAME || p->pieces[i].block != block || p->pieces[i].table < 0;
        for (int k = 0; k < n && !found; k++)
            found = c->tables[k] == p->pieces[i].table;
        if (!found)
            return false;
    }
    return true;
}

static int by_score(const void *a, const void *b)
{
    const struct from_choice *x = a, *y = b;

    for (int i = 0; x->score == y->score && i < SHAPE_MAX_TABLES; i++)
        if (x->tables[i] != y->tables[i])
            return x->tables[i] - y->tables[i];
    return (x->score < y->score) - (x->score > y->score);
}

void from_choices_find(struct from_choices *out, const struct template_shape *p, int block, const struct schema *s,
                       const struct key_pairs *keys, const double *told)
{
    struct from_search f = { .block = p->blocks + block, .schema = s, .keys = keys, .told = told, .out = out };
    int kept = 0;

    *out = (struct from_choices){ 0 };
    search(&f, 0);
    for (int i = 0; i < out->n; i++)
        if (has_named(out->items + i, p->blocks[block].n_tables, p, block))
            out->items[kept++] = out->items[i];
    out->n = kept;
    if (kept)
        qsort(out->items, (size_t)kept, sizeof *out->items, by_score);
}
