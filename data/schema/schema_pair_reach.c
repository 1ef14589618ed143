/* Part of schema_pairs.h: which tables lie how many joins apart, by foreign keys or by names of columns like them. */
#include "data/schema/schema_pairs_impl.h"

#include <stdlib.h>
#include <string.h>

struct table_link {
    int from, to;
};

static int by_tables(const void *x, const void *y)
{
    const struct table_link *a = x, *b = y;

    return a->from != b->from ? (a->from > b->from) - (a->from < b->from) : (a->to > b->to) - (a->to < b->to);
}

struct link_list {
    struct table_link *list;
    int n, cap;
};

static void add(struct link_list *l, int from, int to)
{
    if (from == to)
        return;
    GROW(l->list, l->n, l->cap);
    l->list[l->n++] = (struct table_link){ from, to };
    GROW(l->list, l->n, l->cap);
    l->list[l->n++] = (struct table_link){ to, from };
}

static int find(const struct element_key *list, int n, uint64_t key)
{
    int low = 0, high = n;

    while (low < high) {
        int mid = low + (high - low) / 2;
        if (list[mid].key < key)
            low = mid + 1;
        else
            high = mid;
    }
    return low < n && list[low].key == key ? list[low].element : -1;
}

static bool is_key_word(uint32_t word)
{
    static const char *const list[] = { "id", "code", "no", "key", "number", "nr", "ref", "fk", "uid", "uuid" };

    for (int i = 0; i < ARRAY_LEN(list); i++)
        if (word == word_hash(list[i]))
            return true;
    return false;
}

/* Names that undeclared keys refer to: those of primary keys of two words or more, and those of tables. */
struct key_names {
    struct element_key *keys, *tables;
    int n_keys, n_tables;
};

static void key_names_init(struct key_names *k, const struct pair_view *v)
{
    const struct schema *s = v->schema;

    *k = (struct key_names){ .keys = xmalloc(((size_t)s->n_columns + 1) * sizeof *k->keys),
                             .tables = xmalloc(((size_t)s->n_tables + 1) * sizeof *k->tables),
                             .n_tables = s->n_tables };
    for (int c = 0; c < s->n_columns; c++)
        if (s->columns[c].primary && v->names[SPELLED_TEXT][s->n_tables + c].n_words > 1)
            k->keys[k->n_keys++] = (struct element_key){ v->keys[SPELLED_TEXT][s->n_tables + c], s->columns[c].table };
    for (int t = 0; t < s->n_tables; t++)
        k->tables[t] = (struct element_key){ v->keys[SPELLED_TEXT][t], t };
    qsort(k->keys, (size_t)k->n_keys, sizeof *k->keys, element_key_compare);
    qsort(k->tables, (size_t)k->n_tables, sizeof *k->tables, element_key_compare);
}

/* The table that a column's name refers to, -1 for none: customer_id to a table that has that key, or is a customer. */
static int referred(const struct key_names *k, const struct pair_view *v, int column)
{
    const struct schema *s = v->schema;
    const struct element_name *n = &v->names[SPELLED_TEXT][s->n_tables + column];
    int last = n->n_words - 1, table = -1;

    if (last < 1)
        return -1;
    if (is_key_word(n->words[last]))
        table = find(k->tables, k->n_tables, element_name_key(n, 0, last));
    if (table < 0 || table == s->columns[column].table)
        table = find(k->keys, k->n_keys, v->keys[SPELLED_TEXT][s->n_tables + column]);
    return table == s->columns[column].table ? -1 : table;
}

static void refer(struct table_reach *r, struct link_list *l, const struct pair_view *v)
{
    const struct schema *s = v->schema;
    struct key_names names;

    key_names_init(&names, v);
    for (int c = 0; c < s->n_columns; c++)
        r->target[c] = referred(&names, v, c);
    for (int i = 0; i < s->n_foreign_keys; i++)
        r->target[s->foreign_keys[i].from] = s->columns[s->foreign_keys[i].to].table;
    for (int c = 0; c < s->n_columns; c++)
        if (r->target[c] >= 0)
            add(l, s->columns[c].table, r->target[c]);
    for (int i = 0; i < s->n_foreign_keys; i++)
        add(l, s->columns[s->foreign_keys[i].from].table, s->columns[s->foreign_keys[i].to].table);
    free(names.keys);
    free(names.tables);
}

void table_reach_open(struct table_reach *r, const struct pair_view *v)
{
    int tables = v->schema->n_tables, n = 0;
    struct link_list l = { 0 };

    *r = (struct table_reach){ .start = xcalloc((size_t)tables + 1, sizeof *r->start),
                               .target = xmalloc(((size_t)v->schema->n_columns + 1) * sizeof *r->target) };
    refer(r, &l, v);
    if (l.n)
        qsort(l.list, (size_t)l.n, sizeof *l.list, by_tables);
    r->to = xmalloc(((size_t)l.n + 1) * sizeof *r->to);
    for (int i = 0; i < l.n; i++)
        if (!i || by_tables(&l.list[i], &l.list[i - 1]) != 0) {
            r->to[n++] = l.list[i].to;
            r->start[l.list[i].from + 1] = n;
        }
    for (int t = 0; t < tables; t++)
        r->start[t + 1] = r->start[t + 1] > r->start[t] ? r->start[t + 1] : r->start[t];
    free(l.list);
}

void table_reach_close(struct table_reach *r)
{
    free(r->start);
    free(r->to);
    free(r->target);
    *r = (struct table_reach){ 0 };
}

int table_reach(const struct table_reach *r, int a, int b)
{
    int i = r->start[a], k = r->start[b];
    bool common = false;

    if (a == b)
        return 0;
    for (int j = r->start[a]; j < r->start[a + 1]; j++)
        if (r->to[j] == b)
            return 1;
    while (i < r->start[a + 1] && k < r->start[b + 1]) {
        int x = r->to[i], y = r->to[k];
        common |= x == y;
        i += x <= y;
        k += y <= x;
    }
    return common ? 2 : REACH_FAR;
}
