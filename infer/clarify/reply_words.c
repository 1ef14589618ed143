#include "infer/clarify/reply_words.h"

#include "infer/clarify/option_words.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBERS_MAX = 32 };

static struct reply unclear(const char *fmt, ...)
{
    struct reply r = { .kind = REPLY_UNCLEAR };
    va_list args;

    va_start(args, fmt);
    vsnprintf(r.why, sizeof r.why, fmt, args);
    va_end(args);
    return r;
}

static const struct saying {
    const char *text;
    enum reply_kind kind;
    enum answer_kind answer;
} sayings[] = {
    { "undo", REPLY_UNDO, 0 },
    { "back", REPLY_UNDO, 0 },
    { "u", REPLY_UNDO, 0 },
    { "help", REPLY_HELP, 0 },
    { "h", REPLY_HELP, 0 },
    { "sql", REPLY_SQL, 0 },
    { "quit", REPLY_QUIT, 0 },
    { "q", REPLY_QUIT, 0 },
    { "exit", REPLY_QUIT, 0 },
    { "bye", REPLY_QUIT, 0 },
    { "stop", REPLY_QUIT, 0 },
    { "unknown", REPLY_ANSWER, ANSWER_UNKNOWN },
    { "skip", REPLY_ANSWER, ANSWER_UNKNOWN },
    { "d", REPLY_ANSWER, ANSWER_UNKNOWN },
    { "any", REPLY_ANSWER, ANSWER_EITHER },
    { "doesnt matter", REPLY_ANSWER, ANSWER_EITHER },
    { "it doesnt matter", REPLY_ANSWER, ANSWER_EITHER },
    { "e", REPLY_ANSWER, ANSWER_EITHER },
    { "n", REPLY_ANSWER, ANSWER_NONE },
};

static struct reply option_reply(int i)
{
    return (struct reply){ .kind = REPLY_ANSWER, .answer = { ANSWER_VALUE, i } };
}

/* Number of an option from 1: "2", "option 2"; -1: no number. */
static long number_of(const char *text)
{
    static const char *const openings[] = { "the ", "option ", "number ", "no " };

    for (int i = 0; i < ARRAY_LEN(openings); i++)
        if (strncmp(text, openings[i], strlen(openings[i])) == 0)
            text += strlen(openings[i]);
    size_t digits = strspn(text, "0123456789");
    return digits && !text[digits] ? digits < 9 ? strtol(text, NULL, 10) : 999999999 : -1;
}

/* Tells whether the text has a minus before digits, which simplify_text() drops. */
static bool is_negative(const char *text)
{
    for (const char *p = text; (p = strchr(p, '-')); p++)
        if (isdigit((unsigned char)p[1]) && (p == text || isspace((unsigned char)p[-1])))
            return true;
    return false;
}

/* Index of the option with this text, signs included, or -1. */
static int same_option(const char *text, const struct question *q)
{
    size_t start = strspn(text, " \t\r\n"), n = strcspn(text + start, " \t\r\n");

    for (int i = 0; i < q->n; i++)
        if (strlen(q->names[i]) == n && strncmp(q->names[i], text + start, n) == 0)
            return i;
    return -1;
}

/* "2 or 3", "1, 2 or 3". */
static void write_numbers(char text[NUMBERS_MAX], const struct option_words *o)
{
    int left = option_words_count(o), n = 0;

    text[0] = '\0';
    for (int i = 0; i < o->n; i++) {
        if (!o->fits[i])
            continue;
        left--;
        n += snprintf(text + n, (size_t)(NUMBERS_MAX - n), "%d%s", i + 1, left > 1 ? ", " : left ? " or " : "");
    }
}

/* The only option that fits, or else the request to choose between those that do. */
static struct reply one_of(const struct option_words *o, const char *several)
{
    char numbers[NUMBERS_MAX];
    int only = option_words_only(o);

    if (only >= 0)
        return option_reply(only);
    write_numbers(numbers, o);
    return unclear("%s Please type %s.", several, numbers);
}

/* Answers "yes" and "no" if one of two options is a negation. */
static int yes_or_no(const char *said, const struct question *q)
{
    bool yes = strcmp(said, "yes") == 0 || strcmp(said, "y") == 0, no = strcmp(said, "no") == 0;
    int negative = -1, n = 0;

    for (int i = 0; i < q->n; i++)
        if (strncmp(q->names[i], "no ", 3) == 0 || strncmp(q->names[i], "none ", 5) == 0) {
            negative = i;
            n++;
        }
    if ((!yes && !no) || n != 1 || (yes && q->n != 2))
        return -1;
    return no ? negative : 1 - negative;
}

/* Reads the number of an option, or an option that is a number, such as a year. */
static struct reply read_number(const char *text, const char *said, struct option_words *o, const struct question *q)
{
    long n = number_of(said);
    bool negative = is_negative(text);
    struct spoken words;

    if (!negative && n >= 1 && n <= q->n)
        return option_reply((int)n - 1);
    spoken_read(&words, said);
    if (negative ? same_option(text, q) >= 0 : option_words_fit(o, &words) > 0)
        return negative ? option_reply(same_option(text, q)) : one_of(o, "More than one option has this number.");
    return unclear("There is no option %ld: the numbers go from 1 to %d.", negative ? -n : n, q->n);
}

static int place_of_word(const char *stem, int n)
{
    static const char *const places[][3] = { { "first", "1st", "top" },   { "second", "2nd", "two" },
                                             { "third", "3rd", "three" }, { "fourth", "4th", "four" },
                                             { "fifth", "5th", "five" },  { "sixth", "6th", "six" } };
    const bool pair = n == 2;

    for (int i = 0; i < ARRAY_LEN(places); i++)
        for (int k = 0; k < 3; k++)
            if (strcmp(stem, places[i][k]) == 0)
                return i + 1;
    if (strcmp(stem, "last") == 0 || strcmp(stem, "bottom") == 0)
        return n;
    if (strcmp(stem, "middle") == 0 && n % 2)
        return (n + 1) / 2;
    return pair && strcmp(stem, "former") == 0 ? 1 : pair && strcmp(stem, "latter") == 0 ? 2 : 0;
}

/* The word of a reply that is about a place alone, such as "second" in "the second one, please"; or NULL. */
static const char *place_word(const struct spoken *words)
{
    const char *place = NULL;
    bool one = false;

    for (int i = 0; i < words->n; i++) {
        const struct spoken_word *w = &words->words[i];
        one |= strcmp(w->stem, "one") == 0;
        if (is_idle_word(w) || strcmp(w->stem, "number") == 0)
            continue;
        if (place)
            return NULL;
        place = w->stem;
    }
    return place ? place : one && strcmp(words->words[0].stem, "the") != 0 ? "first" : NULL;
}

/* Reads "the second one" and "last".  Options with such a word, "last name" beside "first name", may be meant by it as
 * well.  Returns false for other replies. */
static bool read_place(struct reply *r, struct option_words *o, const struct spoken *words)
{
    const char *word = place_word(words);
    int place = word ? place_of_word(word, o->n) : 0;

    if (!place)
        return false;
    if (place > o->n) {
        *r = unclear("There is no option %d: the numbers go from 1 to %d.", place, o->n);
        return true;
    }
    option_words_mark(o, word, o->fits);
    if (o->fits[place - 1])
        memset(o->fits, 0, sizeof o->fits);
    o->fits[place - 1] = true;
    *r = one_of(o, "More than one option may be meant.");
    return true;
}

/* A reply with a negation: "not the billing one", "anything but shipping", "billing, not shipping". */
struct negation {
    bool found, strange; /* strange: negated words that no option has, or words after a comma that may be negated */
    bool excluded[DIALOGUE_SHOWN + 1]; /* options with negated words */
    struct spoken meant;               /* the other words */
};

static bool is_one_of(const char *const *list, int n, const char *stem)
{
    for (int i = 0; i < n; i++)
        if (strcmp(list[i], stem) == 0)
            return true;
    return false;
}

/* Tells whether a word negates the next ones.  `before` is the word before it, or "". */
static bool negates(const char *stem, const char *before)
{
    static const char *const cues[] = { "not",      "no",      "neither", "nor",     "except", "excluding",
                                        "excluded", "without", "never",   "none",    "dont",   "doesnt",
                                        "isnt",     "arent",   "wont",    "instead", "rather", "other" };
    static const char *const all[] = { "anything", "anyone", "everything", "everyone", "all", "any" };

    return is_one_of(cues, ARRAY_LEN(cues), stem) ||
           (strcmp(stem, "but") == 0 && is_one_of(all, ARRAY_LEN(all), before));
}

/* Words that say nothing about an option beside a negation. */
static bool is_neutral(const struct spoken_word *w)
{
    static const char *const neutral[] = { "than",       "any",      "anything", "anyone",
                                           "everything", "everyone", "these",    "them" };

    return is_idle_word(w) || is_one_of(neutral, ARRAY_LEN(neutral), w->stem);
}

static void exclude(struct negation *g, const struct option_words *o, const char *stem)
{
    bool has[DIALOGUE_SHOWN + 1];
    int n = option_words_mark(o, stem, has);

    g->strange |= n == 0;
    for (int i = 0; i < o->n && n < o->n; i++)
        g->excluded[i] |= has[i];
}

/* Tells whether a comma or the like stands between two words of the text. */
static bool is_parted(const char *text, int from, int to)
{
    for (int i = from; i < to; i++)
        if (strchr(",;.:!", text[i]))
            return true;
    return false;
}

/* Divides a reply into negated words and others.  A comma ends a negation, if the next words begin with another one
 * or "but".  "No, " at the beginning is none. */
static void find_negation(struct negation *g, const struct option_words *o, const char *text)
{
    char plain[REPLY_TEXT_MAX];
    struct spoken words;
    bool negative = false;

    *g = (struct negation){ .found = false };
    drop_apostrophes(plain, text);
    spoken_read(&words, plain);
    for (int i = 0; i < words.n; i++) {
        const struct spoken_word *w = &words.words[i];
        bool parted = i && is_parted(plain, words.words[i - 1].to, w->from);
        bool exclaimed =
            i == 0 && words.n > 1 && strcmp(w->stem, "no") == 0 && is_parted(plain, w->to, words.words[1].from);
        bool cue = !exclaimed && negates(w->stem, i ? words.words[i - 1].stem : "");
        g->found |= cue || exclaimed;
        if (exclaimed || cue || strcmp(w->stem, "but") == 0) {
            negative = cue;
            continue;
        }
        g->strange |= negative && parted;
        if (negative && !is_neutral(w))
            exclude(g, o, w->stem);
        else if (!is_neutral(w))
            g->meant.words[g->meant.n++] = *w;
    }
}

/* Tells whether the text has these words, one after the other. */
static bool has_phrase(const char *text, const char *phrase)
{
    size_t n = strlen(phrase);

    for (const char *p = text; (p = strstr(p, phrase)); p++)
        if ((p == text || p[-1] == ' ') && (!p[n] || p[n] == ' '))
            return true;
    return false;
}

/* Phrases about all options. */
static const struct group_phrase {
    const char *text;
    enum answer_kind answer;
    bool positive; /* means something else with a negation */
} group_phrases[] = {
    { "dont mind", ANSWER_EITHER, false },    { "both", ANSWER_EITHER, true },
    { "either", ANSWER_EITHER, true },        { "not any of", ANSWER_NONE, false },
    { "any of", ANSWER_EITHER, true },        { "neither", ANSWER_NONE, false },
    { "none", ANSWER_NONE, false },           { "dont know", ANSWER_UNKNOWN, false },
    { "not know", ANSWER_UNKNOWN, false },    { "not sure", ANSWER_UNKNOWN, false },
    { "unsure", ANSWER_UNKNOWN, false },      { "no idea", ANSWER_UNKNOWN, false },
    { "no clue", ANSWER_UNKNOWN, false },     { "cant say", ANSWER_UNKNOWN, false },
    { "cannot say", ANSWER_UNKNOWN, false },  { "cant tell", ANSWER_UNKNOWN, false },
    { "cannot tell", ANSWER_UNKNOWN, false },
};

static const struct group_phrase *group_phrase_of(const char *said)
{
    for (int i = 0; i < ARRAY_LEN(group_phrases); i++)
        if (has_phrase(said, group_phrases[i].text))
            return &group_phrases[i];
    return NULL;
}

/* Reads "both of them", "neither is right", "I have no idea": a phrase, and no word that tells options apart.  "both"
 * means the option that lists the others, if there is one.  Returns false for other replies. */
static bool read_group(struct reply *r, const struct option_words *o, const char *said, const struct spoken *words,
                       const struct negation *g)
{
    const struct group_phrase *p = group_phrase_of(said);
    int list = p && strcmp(p->text, "both") == 0 ? option_words_list(o) : -1;

    if (p && p->positive && g->found) /* "I don't want either" */
        return false;
    for (int i = 0; i < words->n && p; i++)
        if (!is_idle_word(&words->words[i]) && option_words_tell(o, words->words[i].stem))
            return false;
    if (p)
        *r = list >= 0 ? option_reply(list) : (struct reply){ REPLY_ANSWER, { p->answer, 0 }, "" };
    return p != NULL;
}

/* Sets the options that are not excluded.  Returns their number. */
static int keep_others(struct option_words *o, const struct negation *g)
{
    for (int i = 0; i < o->n; i++)
        o->fits[i] = !g->excluded[i];
    return option_words_count(o);
}

/* Reads a reply with a negation that leaves one option, or none.  Returns false for other replies. */
static bool read_negation(struct reply *r, struct option_words *o, const struct negation *g)
{
    if (!g->found || g->strange)
        return false;
    if (g->meant.n) {
        option_words_fit(o, &g->meant);
        int only = option_words_only(o);
        bool clear = only >= 0 && !g->excluded[only];
        if (clear)
            *r = option_reply(only);
        return clear;
    }
    int left = keep_others(o, g);
    if (left && left < o->n)
        *r = one_of(o, "More than one option is left.");
    else if (!left)
        *r = (struct reply){ REPLY_ANSWER, { ANSWER_NONE, 0 }, "" };
    return left < o->n;
}

static bool read_name(struct reply *r, struct option_words *o, const struct spoken *words)
{
    if (!option_words_fit(o, words))
        return false;
    *r = one_of(o, "More than one option has these words.");
    return true;
}

/* An option is meant if its similarity to the reply is this large, and larger than that of the next one by the margin.
 * Both were chosen on tests/replies/choose.txt, with the encoder of the detector that comes with ambit. */
static const double meaning_similarity = 0.06, meaning_margin = 0.06;

/* Options whose meaning is compared. */
struct compared_options {
    char distinct[DIALOGUE_SHOWN + 1][REPLY_TEXT_MAX]; /* words of each that not all options have */
    int options[DIALOGUE_SHOWN + 1];
    double similarity[DIALOGUE_SHOWN + 1];
    int n;
};

/* Lists options.  One that denies something, "no such condition", has the meaning of all that it denies. */
static void list_meanings(struct compared_options *m, const struct option_words *o)
{
    static const char *const denials[] = { "no ", "none ", "nothing ", "something else" };

    m->n = 0;
    for (int i = 0; i < o->n; i++) {
        bool denies = false;
        for (int k = 0; k < ARRAY_LEN(denials); k++)
            denies |= strncmp(o->names[i], denials[k], strlen(denials[k])) == 0;
        if (denies)
            continue;
        option_words_distinct(m->distinct[m->n], o, i);
        m->options[m->n++] = i;
    }
}

/* Writes the words with a meaning.  Returns their number. */
static int write_meaningful(char *text, const char *said, const struct spoken *words)
{
    int n = 0;

    text[0] = 0;
    for (int i = 0; i < words->n; i++)
        if (!is_idle_word(&words->words[i])) {
            append_word(text, said, &words->words[i]);
            n++;
        }
    return n;
}

/* Compares a text with each option, and with its distinct words.  Returns false without an encoder. */
static bool compare_meanings(struct compared_options *m, const struct question *q, const char *text,
                             struct reply_encoder *encoder)
{
    const char *texts[REPLY_TEXTS];
    double similarity[REPLY_TEXTS];

    for (int i = 0; i < m->n; i++) {
        texts[2 * i] = q->names[m->options[i]];
        texts[2 * i + 1] = m->distinct[i];
    }
    if (!reply_encoder_compare(encoder, similarity, text, texts, 2 * m->n))
        return false;
    for (int i = 0; i < m->n; i++)
        m->similarity[i] = (similarity[2 * i] + similarity[2 * i + 1]) / 2;
    return true;
}

/* Index of the most similar option but `other`. */
static int most_similar(const struct compared_options *m, int other)
{
    int best = -1;

    for (int i = 0; i < m->n; i++)
        if (i != other && (best < 0 || m->similarity[i] > m->similarity[best]))
            best = i;
    return best;
}

/* Asks about two similar options in words, unless they are long. */
static struct reply ask_between(const struct compared_options *m, int a, int b, const struct question *q)
{
    int first = m->options[a < b ? a : b], second = m->options[a < b ? b : a];
    const char *names[] = { q->names[first], q->names[second] };
    bool brief = strlen(names[0]) + strlen(names[1]) < 300;

    return brief ? unclear("Do you mean \"%s\" or \"%s\"? Please type %d or %d.", names[0], names[1], first + 1,
                           second + 1)
                 : unclear("I am not sure which one you mean. Please type %d or %d.", first + 1, second + 1);
}

/* Chooses an option by its similarity.  Returns false if no option is similar. */
static bool choose_meaning(struct reply *r, const struct compared_options *m, const struct question *q)
{
    int best = most_similar(m, -1), next = most_similar(m, best);

    if (m->similarity[best] < meaning_similarity)
        return false;
    bool clear = m->similarity[best] - m->similarity[next] >= meaning_margin;
    *r = clear ? option_reply(m->options[best]) : ask_between(m, best, next, q);
    return true;
}

/* Reads the meaning of a reply.  Returns false if it is similar to no option. */
static bool read_meaning(struct reply *r, const struct option_words *o, const char *said, const struct spoken *words,
                         const struct question *q, struct reply_encoder *encoder)
{
    struct compared_options *m = xmalloc(sizeof *m);
    char text[REPLY_TEXT_MAX];

    list_meanings(m, o);
    bool read = encoder && m->n > 1 && write_meaningful(text, said, words) && compare_meanings(m, q, text, encoder) &&
                choose_meaning(r, m, q);
    free(m);
    return read;
}

static struct reply read_option(const char *text, const char *said, struct option_words *o, const struct question *q,
                                struct reply_encoder *encoder)
{
    struct reply r;
    struct spoken words;
    struct negation g;
    int implied = yes_or_no(said, q);

    if (implied >= 0)
        return option_reply(implied);
    for (int i = 0; i < q->n; i++)
        if (strcmp(o->names[i], said) == 0)
            return option_reply(i);
    spoken_read(&words, said);
    find_negation(&g, o, text);
    if (read_place(&r, o, &words) || read_group(&r, o, said, &words, &g) || read_name(&r, o, &words) ||
        read_negation(&r, o, &g) || (!g.found && read_meaning(&r, o, said, &words, q, encoder)))
        return r;
    return unclear("I did not understand that. Please type a number from 1 to %d, words of an option, or help.", q->n);
}

static struct reply read_open(const char *text, const char *said, const struct question *q,
                              struct reply_encoder *encoder)
{
    struct option_words *o = xmalloc(sizeof *o);

    option_words_read(o, q);
    struct reply r = number_of(said) >= 0 ? read_number(text, said, o, q) : read_option(text, said, o, q, encoder);
    free(o);
    return r;
}

static bool has_control(const char *text)
{
    for (; *text; text++)
        if (iscntrl((unsigned char)*text) && !isspace((unsigned char)*text))
            return true;
    return false;
}

struct reply reply_read(const char *text, const struct question *q, struct reply_encoder *encoder)
{
    char said[REPLY_TEXT_MAX];

    simplify_text(said, text);
    if (has_control(text))
        return unclear("Arrows and other special keys do nothing here: please type a number or words.");
    if (!said[0])
        return (struct reply){ .kind = strchr(text, '?') ? REPLY_HELP : REPLY_NOTHING };
    for (int i = 0; i < ARRAY_LEN(sayings); i++)
        if (strcmp(said, sayings[i].text) == 0)
            return (struct reply){ sayings[i].kind, { sayings[i].answer, 0 }, "" };
    return q ? read_open(text, said, q, encoder) : unclear("I did not understand that.");
}
