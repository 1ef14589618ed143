#include "infer/clarify/option_words.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

void drop_apostrophes(char to[REPLY_TEXT_MAX], const char *text)
{
    size_t n = 0;

    for (size_t i = 0; text[i] && n < REPLY_TEXT_MAX - 1; i++)
        if (strncmp(text + i, "\xe2\x80\x99", 3) == 0) /* typographic apostrophe */
            i += 2;
        else if (text[i] != '\'' && text[i] != '`')
            to[n++] = text[i];
    to[n] = 0;
}

void simplify_text(char to[REPLY_TEXT_MAX], const char *text)
{
    size_t n = 0;

    drop_apostrophes(to, text);
    for (size_t i = 0; to[i]; i++) {
        unsigned char c = (unsigned char)to[i];
        if (isalnum(c) || c >= 0x80)
            to[n++] = (char)tolower(c);
        else if (n && to[n - 1] != ' ')
            to[n++] = ' ';
    }
    while (n && to[n - 1] == ' ')
        n--;
    to[n] = 0;
}

void append_word(char to[REPLY_TEXT_MAX], const char *text, const struct spoken_word *w)
{
    size_t n = strlen(to);

    snprintf(to + n, REPLY_TEXT_MAX - n, "%s%.*s", n ? " " : "", w->to - w->from, text + w->from);
}

void option_words_read(struct option_words *o, const struct question *q)
{
    o->n = q->n;
    for (int i = 0; i < q->n; i++) {
        simplify_text(o->names[i], q->names[i]);
        spoken_read(&o->words[i], o->names[i]);
        o->fits[i] = false;
    }
}

/* "the shipment one", "I mean the orders, please" */
bool is_idle_word(const struct spoken_word *w)
{
    static const char *const idle[] = { "answer", "be",     "both",   "certainly", "choose", "definitely", "fine",
                                        "go",     "great",  "i",      "id",        "it",     "just",       "like",
                                        "mean",   "meant",  "my",     "need",      "one",    "only",       "option",
                                        "please", "prefer", "really", "take",      "thank",  "that",       "thi",
                                        "those",  "want",   "would",  "you" };

    for (int i = 0; i < ARRAY_LEN(idle); i++)
        if (strcmp(idle[i], w->stem) == 0)
            return true;
    return w->filler;
}

/* How closely words are compared: every word; those with a meaning; also words that begin alike; also misspelt words.
 */
enum closeness { ALL_WORDS, MEANINGFUL_WORDS, ALIKE_WORDS, MISSPELT_WORDS };

enum { ALIKE_LETTERS = 4, LONG_WORD = 8 };

/* Tells whether two stems share their first four letters and half of the longer one: "shipment" and "shipping". */
static bool are_alike(const char *a, const char *b)
{
    size_t n = 0, longer = strlen(a) > strlen(b) ? strlen(a) : strlen(b);

    while (a[n] && a[n] == b[n])
        n++;
    return n >= ALIKE_LETTERS && 2 * n >= longer;
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

/* Number of letters that are added, dropped, replaced or swapped with their neighbours (optimal string alignment). */
static int edits_between(const char *a, const char *b)
{
    int d[SPOKEN_STEM][SPOKEN_STEM], n = (int)strlen(a), m = (int)strlen(b);

    for (int i = 0; i <= n; i++)
        for (int k = 0; k <= m; k++) {
            d[i][k] = i && k ? d[i - 1][k - 1] + (a[i - 1] != b[k - 1]) : i + k;
            if (i && k)
                d[i][k] = least(d[i][k], least(d[i - 1][k], d[i][k - 1]) + 1);
            if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
                d[i][k] = least(d[i][k], d[i - 2][k - 2] + 1);
        }
    return d[n][m];
}

/* Tells whether one stem may be a misspelling of the other: one edit, or two of a long word.  The first letter is
 * right or swapped with the second one. */
static bool is_misspelt(const char *a, const char *b)
{
    size_t shorter = strlen(a) < strlen(b) ? strlen(a) : strlen(b);
    bool begins = a[0] == b[0] || (a[0] == b[1] && a[1] == b[0]);

    return shorter >= ALIKE_LETTERS && begins && edits_between(a, b) <= (shorter >= LONG_WORD ? 2 : 1);
}

static bool has_word(const struct spoken *words, const char *stem, enum closeness how)
{
    for (int i = 0; i < words->n; i++) {
        const char *own = words->words[i].stem;
        if (strcmp(own, stem) == 0 || (how >= ALIKE_WORDS && are_alike(own, stem)) ||
            (how == MISSPELT_WORDS && is_misspelt(own, stem)))
            return true;
    }
    return false;
}

/* Tells whether the option contains the words of `said`. */
static bool holds_words(const struct spoken *option, const struct spoken *said, enum closeness how)
{
    int n = 0;

    for (int i = 0; i < said->n; i++) {
        if (how != ALL_WORDS && is_idle_word(&said->words[i]))
            continue;
        if (!has_word(option, said->words[i].stem, how))
            return false;
        n++;
    }
    return n > 0;
}

int option_words_count(const struct option_words *o)
{
    int n = 0;

    for (int i = 0; i < o->n; i++)
        n += o->fits[i];
    return n;
}

int option_words_only(const struct option_words *o)
{
    for (int i = 0; i < o->n && option_words_count(o) == 1; i++)
        if (o->fits[i])
            return i;
    return -1;
}

/* Tells whether option i lists other options: "office city, home city" beside "office city" and "home city". */
static bool lists_others(const struct option_words *o, int i)
{
    const struct spoken *list = &o->words[i];
    bool said[SPOKEN_WORDS] = { false };
    int parts = 0, left = 0;

    for (int k = 0; k < o->n; k++) {
        if (k == i || o->words[k].n >= list->n || !holds_words(list, &o->words[k], MEANINGFUL_WORDS))
            continue;
        parts++;
        for (int w = 0; w < list->n; w++)
            said[w] |= has_word(&o->words[k], list->words[w].stem, ALL_WORDS);
    }
    for (int w = 0; w < list->n; w++)
        left += !list->words[w].filler && !said[w];
    return parts > 1 && !left;
}

int option_words_list(const struct option_words *o)
{
    int list = -1, n = 0;

    for (int i = 0; i < o->n; i++)
        if (lists_others(o, i)) {
            list = i;
            n++;
        }
    return n == 1 ? list : -1;
}

/* Prefers single options over lists of them. */
static void drop_lists(struct option_words *o)
{
    bool list[DIALOGUE_SHOWN + 1] = { false };
    int lists = 0;

    for (int i = 0; i < o->n; i++)
        lists += list[i] = o->fits[i] && lists_others(o, i);
    if (option_words_count(o) - lists != 1)
        return;
    for (int i = 0; i < o->n; i++)
        o->fits[i] = o->fits[i] && !list[i];
}

/* Prefers an option without further words: "order" means "orders" rather than "order items". */
static void prefer_whole(struct option_words *o, const struct spoken *said)
{
    int whole = -1, n = 0;

    for (int i = 0; i < o->n; i++)
        if (o->fits[i] && holds_words(said, &o->words[i], MEANINGFUL_WORDS)) {
            whole = i;
            n++;
        }
    for (int i = 0; i < o->n && n == 1; i++)
        o->fits[i] = i == whole;
}

int option_words_fit(struct option_words *o, const struct spoken *said)
{
    memset(o->fits, 0, sizeof o->fits);
    for (enum closeness how = ALL_WORDS; how <= MISSPELT_WORDS && !option_words_count(o); how++)
        for (int i = 0; i < o->n; i++)
            o->fits[i] = holds_words(&o->words[i], said, how);
    if (option_words_count(o) > 1)
        prefer_whole(o, said);
    if (option_words_count(o) > 1)
        drop_lists(o);
    return option_words_count(o);
}

/* Index of the only option without another meaningful word, or -1. */
static int whole_option(const struct option_words *o, const char *stem)
{
    struct spoken alone = { .n = 1 };
    int whole = -1, n = 0;

    snprintf(alone.words[0].stem, SPOKEN_STEM, "%s", stem);
    for (int i = 0; i < o->n; i++)
        if (holds_words(&alone, &o->words[i], MEANINGFUL_WORDS)) {
            whole = i;
            n++;
        }
    return n == 1 ? whole : -1;
}

int option_words_mark(const struct option_words *o, const char *stem, bool has[DIALOGUE_SHOWN + 1])
{
    int n = 0, whole = whole_option(o, stem);

    for (int i = 0; i < o->n && whole >= 0; i++)
        has[i] = i == whole;
    if (whole >= 0)
        return 1;

    for (enum closeness how = MEANINGFUL_WORDS; how <= MISSPELT_WORDS && !n; how++)
        for (int i = 0; i < o->n; i++)
            n += has[i] = has_word(&o->words[i], stem, how);
    return n;
}

bool option_words_tell(const struct option_words *o, const char *stem)
{
    bool has[DIALOGUE_SHOWN + 1];
    int n = option_words_mark(o, stem, has);

    return n > 0 && n < o->n;
}

/* Tells whether all options have the word. */
static bool is_common(const struct option_words *o, const char *stem)
{
    bool common = true;

    for (int i = 0; i < o->n; i++)
        common &= has_word(&o->words[i], stem, ALL_WORDS);
    return common;
}

void option_words_distinct(char text[REPLY_TEXT_MAX], const struct option_words *o, int option)
{
    const struct spoken *words = &o->words[option];

    text[0] = 0;
    for (int i = 0; i < words->n; i++)
        if (!words->words[i].filler && !is_common(o, words->words[i].stem))
            append_word(text, o->names[option], &words->words[i]);
    if (!text[0])
        snprintf(text, REPLY_TEXT_MAX, "%s", o->names[option]);
}
