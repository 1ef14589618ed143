#include "data/schema/schema_similar.h"

#include <stdlib.h>
#include <string.h>

/* A name filed under one of its keys; names that share a key stand together once sorted. */
struct filed {
    uint64_t key;
    int name;
};

enum {
    WINDOW = 32, /* of the names that share a key, each is compared with this many that follow */
    END_LETTERS = 4
};

static int by_key(const void *x, const void *y)
{
    const struct filed *a = x, *b = y;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return (a->name > b->name) - (a->name < b->name);
}

static uint64_t letters_key(const struct element_name *n, int from, int to, uint64_t salt)
{
    uint64_t h = 14695981039346656037u ^ salt;
    for (int i = from; i < to; i++)
        h = (h ^ (unsigned char)n->letters[i]) * 1099511628211u;
    return h;
}

/* Files a name under its words, all its letters, its beginning and its end. */
static int file_name(struct filed *out, const struct element_name *n, int name)
{
    int k = 0, end = n->n_letters < END_LETTERS ? n->n_letters : END_LETTERS;

    for (int i = 0; i < n->n_words; i++)
        out[k++] = (struct filed){ n->words[i], name };
    out[k++] = (struct filed){ letters_key(n, 0, n->n_letters, 1), name };
    out[k++] = (struct filed){ letters_key(n, 0, end, 2), name };
    out[k++] = (struct filed){ letters_key(n, n->n_letters - end, n->n_letters, 3), name };
    return k;
}

/* Above 0 when the two look alike, and then larger the more they do. */
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

/* The best few others of one name. */
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
    for (int i = start; i < *n; i++) /* both ends may have picked each other */
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
