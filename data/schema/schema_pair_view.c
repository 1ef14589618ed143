/* Part of schema_pairs.h: names and keys of all elements, taken apart once. */
#include "data/schema/schema_pairs_impl.h"

#include <stdlib.h>
#include <string.h>

static int by_value(const void *x, const void *y)
{
    uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
    return (a > b) - (a < b);
}

int element_key_compare(const void *x, const void *y)
{
    const struct element_key *a = x, *b = y;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return (a->element > b->element) - (a->element < b->element);
}

bool is_counting_word(uint32_t word)
{
    return word == word_hash("count") || word == word_hash("number") || word == word_hash("num") ||
           word == word_hash("total") || word == word_hash("cnt");
}

static bool is_aggregate_word(uint32_t word)
{
    static const char *const list[] = { "avg",    "average", "mean", "max",   "maximum", "highest", "min", "minimum",
                                        "lowest", "total",   "sum",  "count", "number",  "num",     "cnt" };
    for (int i = 0; i < ARRAY_LEN(list); i++)
        if (word == word_hash(list[i]))
            return true;
    return false;
}

static uint64_t base_key(const struct element_name *n)
{
    int last = n->n_words - 1;

    if (last < 1)
        return 0;
    if (is_aggregate_word(n->words[0]) || n->words[0] == word_hash("no"))
        return element_name_key(n, 1, n->n_words);
    return is_aggregate_word(n->words[last]) ? element_name_key(n, 0, last) : 0;
}

static void read_names(struct pair_view *v, enum spelling k)
{
    const struct schema *s = v->schema;

    v->names[k] = xmalloc((size_t)v->n * sizeof *v->names[k]);
    v->keys[k] = xmalloc((size_t)v->n * sizeof *v->keys[k]);
    v->bases[k] = xmalloc((size_t)v->n * sizeof *v->bases[k]);
    for (int i = 0; i < v->n; i++) {
        struct element_name *name = &v->names[k][i];
        if (i < s->n_tables)
            element_name_read(name, k == SPELLED_NAME ? s->tables[i].name : s->tables[i].text);
        else
            element_name_read(name,
                              k == SPELLED_NAME ? s->columns[i - s->n_tables].name : s->columns[i - s->n_tables].text);
        v->keys[k][i] = element_name_key(name, 0, name->n_words);
        v->bases[k][i] = base_key(name);
    }
}

static void read_meanings(struct pair_view *v)
{
    const struct schema *s = v->schema;

    v->meanings = xmalloc((size_t)v->n * sizeof *v->meanings + 1);
    for (int i = 0; i < v->n; i++)
        v->meanings[i] = name_meaning(&v->names[SPELLED_TEXT][i]);
    for (int c = 0; c < s->n_columns; c++)
        if (s->columns[c].type == COLUMN_TIME)
            v->meanings[s->n_tables + c] |= MEANS_TIME;
}

void pair_view_open(struct pair_view *v, const struct schema *s)
{
    *v = (struct pair_view){ .schema = s, .n = s->n_tables + s->n_columns };
    for (int k = 0; k < SPELLINGS; k++)
        read_names(v, (enum spelling)k);
    read_meanings(v);
    v->sets = xmalloc((size_t)s->n_columns * sizeof *v->sets);
    v->foreign = xcalloc((size_t)s->n_columns, sizeof *v->foreign);
    if (s->n_columns)
        memcpy(v->sets, v->keys[SPELLED_NAME] + s->n_tables, (size_t)s->n_columns * sizeof *v->sets);
    for (int t = 0; t < s->n_tables; t++)
        if (s->tables[t].n_columns)
            qsort(v->sets + s->tables[t].first_column, (size_t)s->tables[t].n_columns, sizeof *v->sets, by_value);
    for (int i = 0; i < s->n_foreign_keys; i++)
        v->foreign[s->foreign_keys[i].from] = v->foreign[s->foreign_keys[i].to] = true;
}

void pair_view_close(struct pair_view *v)
{
    for (int k = 0; k < SPELLINGS; k++) {
        free(v->names[k]);
        free(v->keys[k]);
        free(v->bases[k]);
    }
    free(v->sets);
    free(v->foreign);
    free(v->meanings);
    *v = (struct pair_view){ 0 };
}

bool same_name(const struct pair_view *v, int a, int b)
{
    return v->keys[SPELLED_NAME][a] == v->keys[SPELLED_NAME][b] || v->keys[SPELLED_TEXT][a] == v->keys[SPELLED_TEXT][b];
}

bool name_extends(const struct pair_view *v, int b, int a, int column)
{
    for (int k = 0; k < SPELLINGS; k++) {
        const struct element_name *whole = &v->names[k][b], *head = &v->names[k][a], *tail = &v->names[k][column];
        if (whole->n_words == head->n_words + tail->n_words && head->n_words && tail->n_words &&
            memcmp(whole->words, head->words, (size_t)head->n_words * sizeof *head->words) == 0 &&
            memcmp(whole->words + head->n_words, tail->words, (size_t)tail->n_words * sizeof *tail->words) == 0)
            return true;
    }
    return false;
}

bool is_aggregate_of(const struct pair_view *v, int b, int a)
{
    for (int k = 0; k < SPELLINGS; k++)
        if (v->bases[k][b] && v->bases[k][b] == v->keys[k][a])
            return true;
    return false;
}

int shared_columns(const struct pair_view *v, int a, int b)
{
    const struct schema_table *x = &v->schema->tables[a], *y = &v->schema->tables[b];
    int i = x->first_column, k = y->first_column, both = 0;

    while (i < x->first_column + x->n_columns && k < y->first_column + y->n_columns) {
        uint64_t p = v->sets[i], q = v->sets[k];
        both += p == q;
        i += p <= q;
        k += q <= p;
    }
    return both;
}

static bool key_found(const struct pair_view *v, int a, int b)
{
    const struct schema *s = v->schema;
    const struct schema_table *x = &s->tables[a], *y = &s->tables[b];

    for (int c = x->first_column; c < x->first_column + x->n_columns; c++)
        for (int d = y->first_column; s->columns[c].primary && d < y->first_column + y->n_columns; d++)
            if (same_name(v, s->n_tables + c, s->n_tables + d))
                return true;
    return false;
}

bool key_shared(const struct pair_view *v, int a, int b)
{
    return key_found(v, a, b) || key_found(v, b, a);
}

static bool contains_words(const struct element_name *a, const struct element_name *b)
{
    return element_name_compare_words(a, b).contains > 0;
}

bool like_tables(const struct pair_view *v, int a, int b)
{
    const struct schema_table *x = &v->schema->tables[a], *y = &v->schema->tables[b];
    int fewer = x->n_columns < y->n_columns ? x->n_columns : y->n_columns, both = shared_columns(v, a, b);

    return (both >= 2 && 2 * both >= fewer) || contains_words(&v->names[SPELLED_TEXT][a], &v->names[SPELLED_TEXT][b]);
}
