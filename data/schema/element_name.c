#include "data/schema/element_name.h"

#include <ctype.h>
#include <stdlib.h>
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

/* Length of the word's singular.  With hash_word, "countr(y)" and "countr(ies)" both become "countri". */
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
        char c = i == end - 1 && w[i] == 'y' ? 'i' : w[i]; /* a final y, which the plural turns into ies */
        h = (h ^ (unsigned char)c) * 16777619u;
    }
    return h;
}

uint32_t word_hash(const char *word)
{
    return hash_word(word, (int)strlen(word));
}

int words_read(const char *text, uint32_t *out, int max)
{
    char word[NAME_MAX_CHARS];
    int len = 0, n = 0;

    for (const char *s = text;; s++) {
        unsigned char c = (unsigned char)*s;
        if (element_name_letter(*s)) {
            if (len < NAME_MAX_CHARS)
                word[len++] = lower(c);
        } else if (len) {
            if (n < max)
                out[n++] = hash_word(word, len);
            len = 0;
        }
        if (!c)
            return n;
    }
}

static void read_chars(struct element_name *n, const char *text)
{
    for (const char *s = text; *s && n->n_chars < NAME_MAX_CHARS; s++)
        if (element_name_letter(*s))
            n->chars[n->n_chars++] = lower((unsigned char)*s);
}

/* Inserts into the sorted list without duplicates; it has at most fifty entries. */
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
    read_chars(n, text);
    for (int i = -2; n->n_chars && i < n->n_chars; i++) {
        uint32_t g = 0;
        for (int k = i; k < i + 3; k++)
            g = g << 8 | (k >= 0 && k < n->n_chars ? (unsigned char)n->chars[k] : 1u);
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

/* Number of distinct words of a that are also in b; with b = a, the number of distinct words. */
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

/* Levenshtein distance over characters; only one row of the table is kept. */
static int edit_distance(const struct element_name *a, const struct element_name *b)
{
    int row[NAME_MAX_CHARS + 1];

    for (int k = 0; k <= b->n_chars; k++)
        row[k] = k;
    for (int i = 1; i <= a->n_chars; i++) {
        int diagonal = row[0];
        row[0] = i;
        for (int k = 1; k <= b->n_chars; k++) {
            int change = diagonal + (a->chars[i - 1] != b->chars[k - 1]);
            int skip = 1 + (row[k] < row[k - 1] ? row[k] : row[k - 1]);
            diagonal = row[k];
            row[k] = change < skip ? change : skip;
        }
    }
    return row[b->n_chars];
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

static void compare_chars(struct name_similarity *s, const struct element_name *a, const struct element_name *b)
{
    int longer = a->n_chars > b->n_chars ? a->n_chars : b->n_chars;
    int shorter = a->n_chars + b->n_chars - longer, prefix = 0, suffix = 0;

    if (!longer)
        return;
    while (prefix < shorter && a->chars[prefix] == b->chars[prefix])
        prefix++;
    while (suffix < shorter && a->chars[a->n_chars - 1 - suffix] == b->chars[b->n_chars - 1 - suffix])
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
    compare_chars(&s, a, b);
    return s;
}

struct name_similarity element_name_compare_words(const struct element_name *a, const struct element_name *b)
{
    struct name_similarity s = { 0 };

    compare_words(&s, a, b);
    return s;
}

/* Similar names. */

/* A name filed under one of its keys.  After sorting, names that share a key are adjacent. */
struct filed {
    uint64_t key;
    int name;
};

enum {
    WINDOW = 32, /* each name is compared with this many names behind it that share the key */
    END_CHARS = 4
};

static int by_key(const void *x, const void *y)
{
    const struct filed *a = x, *b = y;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return (a->name > b->name) - (a->name < b->name);
}

static uint64_t chars_key(const struct element_name *n, int from, int to, uint64_t salt)
{
    uint64_t h = 14695981039346656037u ^ salt;
    for (int i = from; i < to; i++)
        h = (h ^ (unsigned char)n->chars[i]) * 1099511628211u;
    return h;
}

/* Files a name under its words, all its characters, its beginning and its end. */
static int file_name(struct filed *out, const struct element_name *n, int name)
{
    int k = 0, end = n->n_chars < END_CHARS ? n->n_chars : END_CHARS;

    for (int i = 0; i < n->n_words; i++)
        out[k++] = (struct filed){ n->words[i], name };
    out[k++] = (struct filed){ chars_key(n, 0, n->n_chars, 1), name };
    out[k++] = (struct filed){ chars_key(n, 0, end, 2), name };
    out[k++] = (struct filed){ chars_key(n, n->n_chars - end, n->n_chars, 3), name };
    return k;
}

/* 0 if the names are not similar, otherwise larger the more similar they are. */
static float likeness(const struct element_name *a, const struct element_name *b)
{
    float trigrams = element_name_trigrams(a, b);
    bool head = a->n_words && b->n_words && a->words[a->n_words - 1] == b->words[b->n_words - 1];

    if (!head && trigrams < 0.5f) {
        const struct element_name *less = a->n_words < b->n_words ? a : b, *more = less == a ? b : a;
        for (int i = 0; i < less->n_words; i++) {
            bool found = false;
            for (int k = 0; k < more->n_words; k++)
                found |= less->words[i] == more->words[k];
            if (!found)
                return 0;
        }
        if (!less->n_words)
            return 0;
    }
    return trigrams + (head ? 0.25f : 0) + 0.01f;
}

/* The most similar other names of one name. */
struct picks {
    float score[SIMILAR_MAX];
    int name[SIMILAR_MAX], n;
};

static void pick(struct picks *p, int name, float score)
{
    for (int i = 0; i < p->n; i++)
        if (p->name[i] == name)
            return;
    int at = p->n < SIMILAR_MAX ? p->n++ : SIMILAR_MAX;
    for (; at > 0 && (p->score[at - 1] < score || (p->score[at - 1] <= score && p->name[at - 1] > name)); at--)
        if (at < SIMILAR_MAX) {
            p->score[at] = p->score[at - 1];
            p->name[at] = p->name[at - 1];
        }
    if (at < SIMILAR_MAX) {
        p->score[at] = score;
        p->name[at] = name;
    }
}

static int by_pair(const void *x, const void *y)
{
    const struct similar_pair *p = x, *q = y;
    return p->a != q->a ? (p->a > q->a) - (p->a < q->a) : (p->b > q->b) - (p->b < q->b);
}

static void compare_neighbours(struct picks *picks, const struct filed *filed, int n, const struct element_name *names,
                               int from)
{
    for (int i = 0; i < n; i++)
        for (int k = i + 1; k < n && k <= i + WINDOW && filed[k].key == filed[i].key; k++) {
            int a = filed[i].name, b = filed[k].name;
            float score = a == b ? 0 : likeness(&names[a], &names[b]);
            if (score > 0) {
                pick(&picks[a - from], b, score);
                pick(&picks[b - from], a, score);
            }
        }
}

static void append_picks(const struct picks *picks, int from, int to, struct similar_pair **pairs, int *n, int *cap)
{
    int start = *n, kept = *n;

    for (int i = from; i < to; i++)
        for (int k = 0; k < picks[i - from].n; k++) {
            int other = picks[i - from].name[k];
            GROW(*pairs, *n, *cap);
            (*pairs)[(*n)++] = (struct similar_pair){ i < other ? i : other, i < other ? other : i };
        }
    if (*n > start)
        qsort(*pairs + start, (size_t)(*n - start), sizeof **pairs, by_pair);
    for (int i = start; i < *n; i++) /* both names may have picked each other */
        if (kept == start || by_pair(&(*pairs)[kept - 1], &(*pairs)[i]) != 0)
            (*pairs)[kept++] = (*pairs)[i];
    *n = kept;
}

void similar_names(const struct element_name *names, int from, int to, struct similar_pair **pairs, int *n, int *cap)
{
    int count = to - from, n_filed = 0;
    struct filed *filed = xmalloc((size_t)count * (NAME_MAX_WORDS + 3) * sizeof *filed);
    struct picks *picks = xcalloc((size_t)count, sizeof *picks);

    for (int i = from; i < to; i++)
        n_filed += file_name(filed + n_filed, &names[i], i);
    if (n_filed)
        qsort(filed, (size_t)n_filed, sizeof *filed, by_key);
    compare_neighbours(picks, filed, n_filed, names, from);
    append_picks(picks, from, to, pairs, n, cap);
    free(filed);
    free(picks);
}
