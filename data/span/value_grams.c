/* Part of value_index.h: what is alike, by the runs of four letters that texts share. */
#include "data/span/spoken.h"
#include "data/span/value_index.h"

#include <stdlib.h>
#include <string.h>

/* Fewer hashes than this are not worth a table of their own. */
enum { MIN_GRAMS = 256, MAX_GRAMS = 1 << 20 };

/* Runs of four letters of " words  ", one for each letter; to has room for n. */
static void hash_grams(uint32_t *to, const struct value_index *x, const char *words, int n)
{
    uint32_t run = ' ' << 8 | (unsigned char)words[0];

    run = run << 8 | (n > 1 ? (unsigned char)words[1] : ' ');
    for (int i = 0; i < n; i++) {
        run = run << 8 | (i + 2 < n ? (unsigned char)words[i + 2] : ' ');
        to[i] = (run * 2654435761u >> 12) & (uint32_t)(x->n_grams - 1);
    }
}

/* Of each entry in turn: how many a hash has go to next[hash + 1], or where they belong into grams. */
static void each_gram(struct value_index *x, uint32_t *next, bool store)
{
    char words[VALUE_BYTES + 1];
    uint32_t hashes[VALUE_BYTES];

    for (int i = 0; i < x->n; i++) {
        int n = value_index_words(words, x, (uint32_t)i);
        hash_grams(hashes, x, words, n);
        for (int k = 0; k < n; k++)
            if (store)
                x->grams[next[hashes[k]]++] = (uint32_t)i;
            else
                next[hashes[k] + 1]++;
    }
}

void value_index_finish(struct value_index *x)
{
    for (x->n_grams = MIN_GRAMS; x->n_grams < MAX_GRAMS && x->n_grams < x->n_letters / 4;)
        x->n_grams *= 2;
    x->first = xcalloc((size_t)x->n_grams + 1, sizeof *x->first);
    x->grams = xmalloc((size_t)(x->n_letters + 1) * sizeof *x->grams);
    x->shared = xcalloc((size_t)x->n + 1, sizeof *x->shared);
    each_gram(x, x->first, false);
    for (int i = 0; i < x->n_grams; i++)
        x->first[i + 1] += x->first[i];
    uint32_t *next = xmalloc((size_t)x->n_grams * sizeof *next);
    memcpy(next, x->first, (size_t)x->n_grams * sizeof *next);
    each_gram(x, next, true);
    free(next);
}

/* The entries of a hash. */
struct gram_list {
    const uint32_t *entries;
    uint32_t n;
};

static int shorter(const void *a, const void *b)
{
    uint32_t x = ((const struct gram_list *)a)->n, y = ((const struct gram_list *)b)->n;
    return (x > y) - (x < y);
}

static void find_lists(struct gram_list *to, const struct value_index *x, const char *words, int n)
{
    uint32_t hashes[VALUE_BYTES];

    hash_grams(hashes, x, words, n);
    for (int i = 0; i < n; i++)
        to[i] = (struct gram_list){ x->grams + x->first[hashes[i]], x->first[hashes[i] + 1] - x->first[hashes[i]] };
    qsort(to, (size_t)n, sizeof *to, shorter);
}

/* What is looked for. */
struct gram_search {
    struct value_index *index;
    int shortest, longest; /* letters of what can be alike */
    uint32_t *found;
    int n_found, cap;
};

/* Entries that share `least` runs among the lists, whose counts are put back to 0. */
static void gather(struct gram_search *s, const struct gram_list *lists, int n, int least)
{
    struct value_index *x = s->index;

    for (int i = 0; i < n; i++)
        for (uint32_t k = 0; k < lists[i].n; k++) {
            uint32_t entry = lists[i].entries[k];
            if (x->shared[entry] == least || ++x->shared[entry] < least)
                continue;
            if (x->entries[entry].letters < s->shortest || x->entries[entry].letters > s->longest)
                continue;
            GROW(s->found, s->n_found, s->cap);
            s->found[s->n_found++] = entry;
        }
    for (int i = 0; i < n; i++)
        for (uint32_t k = 0; k < lists[i].n; k++)
            x->shared[lists[i].entries[k]] = 0;
}

void value_index_alike(struct value_index *x, const char *words, int n, double least, value_found_fn *found, void *user)
{
    /* A slip changes four runs.  A quarter of them must be shared, of which the commonest are not looked for. */
    int wanted = n / 4 > 2 ? n / 4 : 2, left_out = wanted > 2 ? wanted / 2 : 0;
    double most = (2 - least) / least; /* longer, without blanks, than what is alike */
    struct gram_search s = { .index = x, .shortest = (int)(n / most) - 1, .longest = (int)(n * most) + 1 };
    struct gram_list lists[VALUE_BYTES];
    struct spoken_pattern pattern;

    if (!x->n || n <= 0)
        return;
    spoken_pattern_init(&pattern, words);
    find_lists(lists, x, words, n);
    gather(&s, lists, n - left_out, wanted - left_out);
    for (int i = 0; i < s.n_found; i++) {
        char has[VALUE_BYTES + 1];
        value_index_words(has, x, s.found[i]);
        double ratio = spoken_pattern_ratio(&pattern, has);
        if (ratio >= least)
            found(user, s.found[i], ratio);
    }
    free(s.found);
}
