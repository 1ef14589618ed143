#include "data/schema/element_name.h"

#include <ctype.h>
#include <string.h>

bool element_name_letter(char c)
{
    return (unsigned char)c >= 0x80 || isalnum((unsigned char)c);
}

static char lower(unsigned char c)
{
    return (char)(c < 0x80 ? tolower(c) : c);
}

static bool ends_with(const char *w, int n, const char *end)
{
    int k = (int)strlen(end);
    return n >= k && memcmp(w + n - k, end, (size_t)k) == 0;
}

/* How much of the word its singular keeps: "countr(y)" and "countr(ies)" both become "countri" with hash_word's help.
 */
static int singular_length(const char *w, int n)
{
    if (n > 4 && ends_with(w, n, "ies"))
        return n - 2;
    if (n > 4 && ends_with(w, n, "ie"))
        return n - 1;
    if (ends_with(w, n, "sses") || ends_with(w, n, "xes") || ends_with(w, n, "ches") || ends_with(w, n, "shes"))
        return n - 2;
    return n > 3 && w[n - 1] == 's' && w[n - 2] != 's' ? n - 1 : n;
}

static uint32_t hash_word(const char *w, int n)
{
    uint32_t h = 2166136261u; /* FNV-1a */
    int end = singular_length(w, n);

    for (int i = 0; i < end; i++) {
        char c = i == end - 1 && w[i] == 'y' ? 'i' : w[i]; /* the y that a plural turns into ies */
        h = (h ^ (unsigned char)c) * 16777619u;
    }
    return h;
}

uint32_t word_hash(const char *word)
{
    return hash_word(word, (int)strlen(word));
}

int words_read(const char *text, uint32_t *out, int most)
{
    char word[NAME_MAX_LETTERS];
    int len = 0, n = 0;

    for (const char *s = text;; s++) {
        unsigned char c = (unsigned char)*s;
        if (element_name_letter(*s)) {
            if (len < NAME_MAX_LETTERS)
                word[len++] = lower(c);
        } else if (len) {
            if (n < most)
                out[n++] = hash_word(word, len);
            len = 0;
        }
        if (!c)
            return n;
    }
}

static void read_letters(struct element_name *n, const char *text)
{
    for (const char *s = text; *s && n->n_letters < NAME_MAX_LETTERS; s++)
        if (element_name_letter(*s))
            n->letters[n->n_letters++] = lower((unsigned char)*s);
}

/* Keeps the list sorted and without repeats; there are at most fifty. */
static void insert_trigram(struct element_name *n, uint32_t g)
{
    int at = n->n_trigrams;

    while (at > 0 && n->trigrams[at - 1] > g)
        at--;
    if (at > 0 && n->trigrams[at - 1] == g)
        return;
    memmove(n->trigrams + at + 1, n->trigrams + at, (size_t)(n->n_trigrams - at) * sizeof *n->trigrams);
    n->trigrams[at] = g;
    n->n_trigrams++;
}

void element_name_read(struct element_name *n, const char *text)
{
    *n = (struct element_name){ 0 };
    n->n_words = words_read(text, n->words, NAME_MAX_WORDS);
    read_letters(n, text);
    for (int i = -2; n->n_letters && i < n->n_letters; i++) {
        uint32_t g = 0;
        for (int k = i; k < i + 3; k++)
            g = g << 8 | (k >= 0 && k < n->n_letters ? (unsigned char)n->letters[k] : 1u);
        insert_trigram(n, g);
    }
}

uint64_t element_name_key(const struct element_name *n, int from, int to)
{
    uint64_t h = 14695981039346656037u;

    for (int i = from; i < to; i++)
        h = (h ^ n->words[i]) * 1099511628211u;
    return h;
}

static bool has_word(const struct element_name *n, uint32_t word)
{
    for (int i = 0; i < n->n_words; i++)
        if (n->words[i] == word)
            return true;
    return false;
}

/* How many distinct words of a are also in b (b = a: how many distinct words there are). */
static int shared_words(const struct element_name *a, const struct element_name *b)
{
    int n = 0;

    for (int i = 0; i < a->n_words; i++) {
        bool again = false;
        for (int k = 0; k < i; k++)
            again |= a->words[k] == a->words[i];
        n += !again && has_word(b, a->words[i]);
    }
    return n;
}

bool element_name_shares_word(const struct element_name *a, const struct element_name *b)
{
    return shared_words(a, b) > 0;
}

float element_name_trigrams(const struct element_name *a, const struct element_name *b)
{
    int i = 0, k = 0, both = 0;

    while (i < a->n_trigrams && k < b->n_trigrams) {
        uint32_t x = a->trigrams[i], y = b->trigrams[k];
        both += x == y;
        i += x <= y;
        k += y <= x;
    }
    int any = a->n_trigrams + b->n_trigrams - both;
    return any ? (float)both / (float)any : 0;
}

/* Levenshtein over letters; one row of the table is kept. */
static int edit_distance(const struct element_name *a, const struct element_name *b)
{
    int row[NAME_MAX_LETTERS + 1];

    for (int k = 0; k <= b->n_letters; k++)
        row[k] = k;
    for (int i = 1; i <= a->n_letters; i++) {
        int diagonal = row[0];
        row[0] = i;
        for (int k = 1; k <= b->n_letters; k++) {
            int change = diagonal + (a->letters[i - 1] != b->letters[k - 1]);
            int skip = 1 + (row[k] < row[k - 1] ? row[k] : row[k - 1]);
            diagonal = row[k];
            row[k] = change < skip ? change : skip;
        }
    }
    return row[b->n_letters];
}

static void compare_words(struct name_similarity *s, const struct element_name *a, const struct element_name *b)
{
    int na = shared_words(a, a), nb = shared_words(b, b), both = shared_words(a, b);

    if (!na || !nb)
        return;
    s->same_set = both == na && both == nb;
    s->words = (float)both / (float)(na + nb - both);
    s->head = a->words[a->n_words - 1] == b->words[b->n_words - 1];
    s->contains = both == na || both == nb;
    s->equal = a->n_words == b->n_words && memcmp(a->words, b->words, (size_t)a->n_words * sizeof *a->words) == 0;
}

static void compare_letters(struct name_similarity *s, const struct element_name *a, const struct element_name *b)
{
    int longer = a->n_letters > b->n_letters ? a->n_letters : b->n_letters;
    int shorter = a->n_letters + b->n_letters - longer, prefix = 0, suffix = 0;

    if (!longer)
        return;
    while (prefix < shorter && a->letters[prefix] == b->letters[prefix])
        prefix++;
    while (suffix < shorter && a->letters[a->n_letters - 1 - suffix] == b->letters[b->n_letters - 1 - suffix])
        suffix++;
    s->prefix = (float)prefix / (float)longer;
    s->suffix = (float)suffix / (float)longer;
    if (s->trigrams > 0)
        s->edit = 1 - (float)edit_distance(a, b) / (float)longer;
    if (prefix == longer)
        s->equal = 1;
}

struct name_similarity element_name_compare(const struct element_name *a, const struct element_name *b)
{
    struct name_similarity s = { 0 };

    compare_words(&s, a, b);
    s.trigrams = element_name_trigrams(a, b);
    compare_letters(&s, a, b);
    return s;
}

struct name_similarity element_name_compare_words(const struct element_name *a, const struct element_name *b)
{
    struct name_similarity s = { 0 };

    compare_words(&s, a, b);
    return s;
}
