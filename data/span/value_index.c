#include "data/span/value_index.h"

#include "data/base/text_fold.h"
#include "data/span/spoken.h"

#include <stdlib.h>
#include <string.h>

void value_index_init(struct value_index *x, int64_t max_bytes)
{
    *x = (struct value_index){ .max_bytes = max_bytes < UINT32_MAX ? max_bytes : UINT32_MAX };
}

void value_index_release(struct value_index *x)
{
    free(x->texts);
    free(x->entries);
    free(x->slots);
    free(x->first);
    free(x->grams);
    free(x->shared);
    *x = (struct value_index){ 0 };
}

/* The character in lower case; 0 if it is neither letter nor digit. */
static unsigned char word_letter(unsigned char c)
{
    if ((c | 32) >= 'a' && (c | 32) <= 'z')
        return c | 32;
    return c >= 0x80 || (c >= '0' && c <= '9') ? c : 0;
}

static bool is_ascii(const char *text, size_t n)
{
    size_t i = 0;

    while (i < n && (unsigned char)text[i] < 0x80)
        i++;
    return i == n;
}

static int split_words(char words[VALUE_BYTES + 1], const char *text, int n)
{
    int to = 0;
    bool gap = false;

    for (int i = 0; i < n; i++) {
        unsigned char letter = word_letter((unsigned char)text[i]);
        if (letter && to + gap >= VALUE_BYTES)
            return -1;
        if (letter && gap)
            words[to++] = ' ';
        if (letter)
            words[to++] = (char)letter;
        gap = !letter && to > 0;
    }
    words[to] = '\0';
    return to;
}

int value_words(char words[VALUE_BYTES + 1], const char *text, size_t n)
{
    char folded[TEXT_FOLD_CODES];

    if (is_ascii(text, n))
        return split_words(words, text, (int)n);
    int size = text_fold(folded, (int)sizeof folded, text, n);
    return size < 0 ? -1 : split_words(words, folded, size);
}

/* The folded words of an entry. */
static int value_index_words(char words[VALUE_BYTES + 1], const struct value_index *x, uint32_t entry)
{
    const struct value_entry *e = &x->entries[entry];
    return value_words(words, x->texts + e->text, e->bytes);
}

static uint32_t *slot_of(const struct value_index *x, const char *words)
{
    uint64_t h = hash_bytes(HASH_START, words, strlen(words));
    return &x->slots[(h ^ h >> 32) & (uint32_t)(x->n_slots - 1)];
}

static void link_entry(struct value_index *x, uint32_t entry, const char *words)
{
    uint32_t *slot = slot_of(x, words);

    x->entries[entry].next = *slot;
    *slot = entry + 1;
}

static void grow_slots(struct value_index *x)
{
    char words[VALUE_BYTES + 1];

    free(x->slots);
    x->n_slots = x->n_slots ? 2 * x->n_slots : 64;
    x->slots = xcalloc((size_t)x->n_slots, sizeof *x->slots);
    for (int i = 0; i < x->n; i++) {
        value_index_words(words, x, (uint32_t)i);
        link_entry(x, (uint32_t)i, words);
    }
}

uint32_t value_index_exact(const struct value_index *x, const char *words, uint32_t after)
{
    char has[VALUE_BYTES + 1];

    if (!x->n_slots)
        return 0;
    for (uint32_t at = after ? x->entries[after - 1].next : *slot_of(x, words); at; at = x->entries[at - 1].next) {
        value_index_words(has, x, at - 1);
        if (strcmp(has, words) == 0)
            return at;
    }
    return 0;
}

static bool has_value(const struct value_index *x, int column, const char *words)
{
    for (uint32_t at = 0; (at = value_index_exact(x, words, at));)
        if (x->entries[at - 1].column == column)
            return true;
    return false;
}

static uint32_t keep_text(struct value_index *x, const char *text, size_t n)
{
    int64_t at = x->n_texts;

    if (at + (int64_t)n + 1 > x->cap_texts) {
        x->cap_texts = 2 * x->cap_texts + (int64_t)n + 4096;
        x->texts = xrealloc(x->texts, (size_t)x->cap_texts);
    }
    memcpy(x->texts + at, text, n + 1);
    x->n_texts += (int64_t)n + 1;
    return (uint32_t)at;
}

int64_t value_index_bytes(const struct value_index *x)
{
    return x->n_texts + x->n * (int64_t)(sizeof *x->entries + sizeof *x->shared) +
           (x->n_slots + x->n_letters) * (int64_t)sizeof *x->grams + x->n_grams * (int64_t)sizeof *x->first;
}

void value_index_add(struct value_index *x, int column, const char *text)
{
    char words[VALUE_BYTES + 1];
    size_t size = strnlen(text, 2 * VALUE_BYTES);
    int n = text[size] ? -1 : value_words(words, text, size);

    if (n <= 0 || has_value(x, column, words))
        return;
    if (value_index_bytes(x) + (int64_t)size > x->max_bytes) {
        x->cut = true;
        return;
    }
    if (x->n >= x->n_slots)
        grow_slots(x);
    GROW(x->entries, x->n, x->cap);
    x->entries[x->n] = (struct value_entry){
        .text = keep_text(x, text, size), .column = column, .bytes = (uint8_t)size, .letters = (uint8_t)n
    };
    link_entry(x, (uint32_t)x->n, words);
    x->n++;
    x->n_letters += n;
}

/* Similar values by common 4-grams. */

/* Minimum size of the hash table. */
enum { MIN_GRAMS = 256, MAX_GRAMS = 1 << 20 };

/* The hashes of the 4-grams of " words ", one for each letter; `to` has room for n. */
static void hash_grams(uint32_t *to, const struct value_index *x, const char *words, int n)
{
    uint32_t run = ' ' << 8 | (unsigned char)words[0];

    run = run << 8 | (n > 1 ? (unsigned char)words[1] : ' ');
    for (int i = 0; i < n; i++) {
        run = run << 8 | (i + 2 < n ? (unsigned char)words[i + 2] : ' ');
        to[i] = (run * 2654435761u >> 12) & (uint32_t)(x->n_grams - 1);
    }
}

/* Counts the entries of each hash in next[hash + 1], or stores them in grams. */
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

/* A search. */
struct gram_search {
    struct value_index *index;
    int shortest, longest; /* lengths of similar values */
    uint32_t *found;
    int n_found, cap;
};

/* Collects entries that share `least` grams among the lists, and resets the counts. */
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
    /* A typing error changes four grams. A quarter of the grams must be shared; the most frequent ones are not looked
     * up. */
    int wanted = n / 4 > 2 ? n / 4 : 2, left_out = wanted > 2 ? wanted / 2 : 0;
    double most = (2 - least) / least; /* maximum length ratio of similar values, without blanks */
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
