#include "data/contrast/probe_names.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { LIKELY = 10, MAX_TRIGRAMS = 128, MIN_STEM = 4, NAME_BYTES = 256 };

bool probe_and_comma(const char *question)
{
    bool apart = true;

    for (const char *p = question; *p; p++) {
        if (*p == ',')
            return true;
        if (apart && strncasecmp(p, "and", 3) == 0 && !isalnum((unsigned char)p[3]))
            return true;
        apart = !isalnum((unsigned char)*p);
    }
    return false;
}

/* Length of the word that starts here. */
static size_t word_length(const char *p)
{
    size_t n = 0;
    while (isalnum((unsigned char)p[n]))
        n++;
    return n;
}

/* Words are the same to their first MIN_STEM letters, shorter ones altogether: "singers" mentions "singer". */
static bool same_word(const char *a, size_t n, const char *b, size_t m)
{
    if (n < MIN_STEM || m < MIN_STEM)
        return n == m && strncasecmp(a, b, n) == 0;
    size_t least = n < m ? n : m, most = n < m ? m : n;
    return most - least <= 3 && strncasecmp(a, b, least > MIN_STEM ? least - 1 : least) == 0;
}

static bool mentions(const char *question, const char *word, size_t n)
{
    for (const char *p = question; *p;) {
        size_t m = word_length(p);
        if (m && same_word(p, m, word, n))
            return true;
        p += m ? m : 1;
    }
    return false;
}

/* The share of a name's words that the question has. */
static double likelihood(const char *question, const char *text)
{
    int words = 0, found = 0;

    for (const char *p = text; *p;) {
        size_t n = word_length(p);
        words += n > 0;
        found += n && mentions(question, p, n);
        p += n ? n : 1;
    }
    return words ? (double)found / words : 0;
}

struct likely {
    const char *text;
    double p;
};

/* The list keeps its best LIKELY entries, best first; earlier elements win ties. */
static void keep_likely(struct likely *list, int *n, const char *question, const char *text)
{
    struct likely x = { text, likelihood(question, text) };
    int at = *n;

    if (x.p <= 0)
        return;
    while (at > 0 && list[at - 1].p < x.p)
        at--;
    if (at == LIKELY)
        return;
    int tail = (*n < LIKELY ? *n : LIKELY - 1) - at;
    memmove(list + at + 1, list + at, (size_t)tail * sizeof *list);
    list[at] = x;
    *n += *n < LIKELY;
}

/* Distinct runs of three characters of " name ". */
static int trigrams(uint32_t *out, const char *text)
{
    char padded[NAME_BYTES + 3] = " ";
    size_t n = strlen(text) < NAME_BYTES ? strlen(text) : NAME_BYTES;
    int count = 0;

    memcpy(padded + 1, text, n);
    padded[n + 1] = ' ';
    for (size_t i = 0; i < n && count < MAX_TRIGRAMS; i++) {
        const unsigned char *p = (const unsigned char *)padded + i;
        uint32_t gram = (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
        bool seen = false;
        for (int k = 0; k < count; k++)
            seen |= out[k] == gram;
        if (!seen)
            out[count++] = gram;
    }
    return count;
}

/* Shared trigrams over all trigrams. */
static double similarity(const char *a, const char *b)
{
    uint32_t x[MAX_TRIGRAMS], y[MAX_TRIGRAMS];
    int n = trigrams(x, a), m = trigrams(y, b), shared = 0;

    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            shared += x[i] == y[j];
    return n + m ? (double)shared / (n + m - shared) : 0;
}

double probe_name_similarity(const char *question, const struct schema *s)
{
    struct likely list[LIKELY];
    int n = 0;
    double best = 0;

    for (int t = 0; t < s->n_tables; t++)
        keep_likely(list, &n, question, s->tables[t].text);
    for (int c = 0; c < s->n_columns; c++)
        keep_likely(list, &n, question, s->columns[c].text);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++) {
            double x = similarity(list[i].text, list[j].text) * list[i].p * list[j].p;
            best = x > best ? x : best;
        }
    return best;
}
