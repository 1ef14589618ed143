#include "data/span/spoken.h"

#include <ctype.h>
#include <string.h>

enum { RATIO_LETTERS = 128 };

static bool is_in(const char *const *list, const char *word)
{
    for (; *list; list++)
        if (strcmp(*list, word) == 0)
            return true;
    return false;
}

static bool joins(const char *word)
{
    static const char *const words[] = { "of", "in", "on", "at", "by", "for", "from", "to", "with", "per", NULL };
    return is_in(words, word);
}

static bool fills(const char *word)
{
    static const char *const words[] = { "the", "a",    "an",    "and", "or",   "is",  "are",   "was",  "were", "do",
                                         "did", "does", "which", "who", "what", "how", "where", "when", NULL };
    return joins(word) || is_in(words, word);
}

static void make_stem(struct spoken_word *w, const char *text, size_t n)
{
    n = n < SPOKEN_STEM ? n : SPOKEN_STEM - 1;
    for (size_t i = 0; i < n; i++)
        w->stem[i] = (char)tolower((unsigned char)text[i]);
    w->stem[n] = 0;
    w->filler = fills(w->stem);
    if (n > 4 && strcmp(&w->stem[n - 3], "ies") == 0)
        memcpy(&w->stem[n - 3], "y", 2);
    else if (n > 3 && w->stem[n - 1] == 's' && w->stem[n - 2] != 's')
        w->stem[n - 1] = 0;
}

static bool in_word(char c)
{
    return isalnum((unsigned char)c) || (unsigned char)c >= 0x80;
}

void spoken_read(struct spoken *s, const char *text)
{
    int letters = 0;

    s->n = 0;
    for (int i = 0; text[i] && s->n < SPOKEN_WORDS;) {
        struct spoken_word *w = &s->words[s->n];
        w->from = i;
        w->start = letters;
        for (; in_word(text[i]); i++)
            letters += ((unsigned char)text[i] & 0xc0) != 0x80;
        w->to = i;
        w->end = letters;
        if (w->to > w->from) {
            make_stem(w, text + w->from, (size_t)(w->to - w->from));
            s->n++;
        } else {
            i++;
            letters++;
        }
    }
}

const struct spoken_word *spoken_find(const struct spoken *s, const char *stem)
{
    for (int i = 0; i < s->n; i++)
        if (!s->words[i].filler && strcmp(s->words[i].stem, stem) == 0)
            return &s->words[i];
    return NULL;
}

bool spoken_share(const struct spoken *a, const struct spoken *b)
{
    for (int i = 0; i < a->n; i++)
        if (!a->words[i].filler && spoken_find(b, a->words[i].stem))
            return true;
    return false;
}

const struct spoken_word *spoken_head(const struct spoken *name)
{
    const struct spoken_word *head = NULL;

    for (int i = 0; i < name->n && !(head && joins(name->words[i].stem)); i++)
        if (!name->words[i].filler)
            head = &name->words[i];
    return head;
}

/* Words from `first` on that the name has; what stands at the end is no filler. */
static int run_from(const struct spoken *question, int first, const struct spoken *name, const char *head)
{
    int n = 0;
    bool has_head = false;

    for (int i = first; i < question->n; i++) {
        const struct spoken_word *w = &question->words[i];
        if (w->filler && n > 0)
            continue;
        if (w->filler || !spoken_find(name, w->stem))
            break;
        n = i + 1 - first;
        has_head |= strcmp(w->stem, head) == 0;
    }
    return has_head ? n : 0;
}

int spoken_locate(const struct spoken *question, const struct spoken *name, int *first)
{
    const struct spoken_word *head = spoken_head(name);
    int best = 0;

    for (int i = 0; head && i < question->n; i++) {
        int n = run_from(question, i, name, head->stem);
        if (n > best) {
            best = n;
            *first = i;
        }
    }
    return best;
}

/* Lower case without blanks, cut at RATIO_LETTERS. */
static int squeeze(char *to, const char *from)
{
    int n = 0;

    for (; *from && n < RATIO_LETTERS; from++)
        if (!isspace((unsigned char)*from))
            to[n++] = (char)tolower((unsigned char)*from);
    return n;
}

double spoken_ratio(const char *a, const char *b)
{
    char x[RATIO_LETTERS], y[RATIO_LETTERS];
    int n = squeeze(x, a), m = squeeze(y, b), row[RATIO_LETTERS + 1] = { 0 };

    for (int i = 0; i < n; i++) /* the longest common subsequence, row by row */
        for (int j = 0, corner = 0; j < m; j++) {
            int above = row[j + 1];
            row[j + 1] = x[i] == y[j] ? corner + 1 : (above > row[j] ? above : row[j]);
            corner = above;
        }
    return n + m ? 2.0 * row[m] / (n + m) : 1;
}
