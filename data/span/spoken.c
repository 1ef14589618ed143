#include "data/span/spoken.h"

#include "data/base/text_fold.h"

#include <ctype.h>
#include <string.h>

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
    char folded[4 * SPOKEN_STEM];
    int bytes = n < 2 * SPOKEN_STEM ? text_fold(folded, sizeof folded, text, n) : -1; /* -1 also if not UTF-8 */

    text = bytes > 0 ? folded : text;
    n = bytes > 0 ? (size_t)bytes : n;
    n = n < SPOKEN_STEM ? n : SPOKEN_STEM - 1;
    for (size_t i = 0; i < n; i++)
        w->stem[i] = (char)tolower((unsigned char)text[i]);
    w->stem[n] = 0;
    w->filler = fills(w->stem);
    if (n > 4 && strcmp(&w->stem[n - 3], "ies") == 0)
        memcpy(&w->stem[n - 3], "y", 2);
    else if (n > 4 && (strcmp(&w->stem[n - 4], "sses") == 0 || strcmp(&w->stem[n - 3], "xes") == 0))
        w->stem[n - 2] = 0;
    else if (n > 3 && w->stem[n - 1] == 's' && w->stem[n - 2] != 's')
        w->stem[n - 1] = 0;
}

/* The length of a non-ASCII blank or punctuation mark, as word processors and phones write them; 0 for others. */
static int mark_bytes(const unsigned char *p)
{
    if (p[0] == 0xc2 && strchr("\xa0\xa1\xab\xbb\xbf", p[1]) && p[1])
        return 2;
    bool general = p[0] == 0xe2 && p[1] == 0x80 && p[2] && p[2] != 0x8c && p[2] != 0x8d; /* except joiners of letters */
    bool cjk = p[0] == 0xe3 && p[1] == 0x80 && p[2] && (p[2] < 0x84 || (p[2] > 0x87 && p[2] < 0xa0));
    bool wide = p[0] == 0xef && p[1] == 0xbc && p[2] && (p[2] < 0x90 || (p[2] > 0x99 && p[2] < 0xa1));
    return general || cjk || wide ? 3 : 0;
}

bool spoken_in_word(const char *p)
{
    return isalnum((unsigned char)*p) || ((unsigned char)*p >= 0x80 && !mark_bytes((const unsigned char *)p));
}

bool spoken_in_word_before(const char *text, int at)
{
    int from = at - 1;

    while (from > 0 && ((unsigned char)text[from] & 0xc0) == 0x80)
        from--;
    return from >= 0 && spoken_in_word(text + from);
}

/* Whether it is the genitive s of "team's". */
static bool is_genitive(const char *text, int from, int to)
{
    bool plain = from > 0 && text[from - 1] == '\'';
    bool curly = from > 2 && memcmp(text + from - 3, "\xe2\x80\x99", 3) == 0;

    return to - from == 1 && tolower((unsigned char)text[from]) == 's' && (plain || curly);
}

void spoken_read(struct spoken *s, const char *text)
{
    int letters = 0;

    s->n = 0;
    for (int i = 0; text[i] && s->n < SPOKEN_WORDS;) {
        struct spoken_word *w = &s->words[s->n];
        w->from = i;
        w->start = letters;
        for (; spoken_in_word(text + i); i++)
            letters += ((unsigned char)text[i] & 0xc0) != 0x80;
        w->to = i;
        w->end = letters;
        if (w->to > w->from) {
            make_stem(w, text + w->from, (size_t)(w->to - w->from));
            w->filler |= is_genitive(text, w->from, w->to);
            s->n++;
        } else {
            int mark = mark_bytes((const unsigned char *)text + i);
            i += mark ? mark : 1;
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

void spoken_part(struct spoken *part, const struct spoken *of, int first, int last)
{
    part->n = last + 1 - first;
    memcpy(part->words, &of->words[first], (size_t)part->n * sizeof *part->words);
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

/* The number of words from `first` that the name contains; the last one is no filler. */
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

static bool next_letter(unsigned char *letter, const char **at)
{
    while (isspace((unsigned char)**at))
        ++*at;
    *letter = (unsigned char)tolower((unsigned char)**at);
    return *(*at)++ != '\0';
}

void spoken_pattern_init(struct spoken_pattern *p, const char *text)
{
    unsigned char letter;

    memset(p, 0, sizeof *p);
    while (p->n < RATIO_LETTERS && next_letter(&letter, &text)) {
        p->places[letter][p->n / 64] |= UINT64_C(1) << p->n % 64;
        p->n++;
    }
}

/* The bits of a row of the LCS table fall at its increments, so all letters of the pattern are updated at once (Hyyro
 * 2004). */
double spoken_pattern_ratio(const struct spoken_pattern *p, const char *text)
{
    uint64_t low = UINT64_MAX, high = UINT64_MAX;
    unsigned char letter;
    int m = 0;

    for (; m < RATIO_LETTERS && next_letter(&letter, &text); m++) {
        const uint64_t *places = p->places[letter], both = low & places[0], sum = low + both;
        high = (high + (high & places[1]) + (sum < low)) | (high & ~places[1]);
        low = sum | (low & ~places[0]);
    }
    int common = __builtin_popcountll(~low) + __builtin_popcountll(~high);
    return p->n + m ? 2.0 * common / (p->n + m) : 1;
}

double spoken_ratio(const char *a, const char *b)
{
    struct spoken_pattern p;

    spoken_pattern_init(&p, a);
    return spoken_pattern_ratio(&p, b);
}
