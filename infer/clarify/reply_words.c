#include "infer/clarify/reply_words.h"

#include "data/span/spoken.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { TEXT_MAX = 4000, NUMBERS_MAX = 32 };

static struct reply unclear(const char *fmt, ...)
{
    struct reply r = { .kind = REPLY_UNCLEAR };
    va_list args;

    va_start(args, fmt);
    vsnprintf(r.why, sizeof r.why, fmt, args);
    va_end(args);
    return r;
}

/* Normalises text: lower case, no apostrophes, one blank for other signs, none at the ends. */
static void simplify(char *to, const char *text)
{
    size_t n = 0;

    for (size_t i = 0; text[i] && n < TEXT_MAX - 1; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '\'' || c == '`')
            continue;
        if (strncmp(text + i, "\xe2\x80\x99", 3) == 0) { /* typographic apostrophe */
            i += 2;
            continue;
        }
        if (isalnum(c) || c >= 0x80)
            to[n++] = (char)tolower(c);
        else if (n && to[n - 1] != ' ')
            to[n++] = ' ';
    }
    while (n && to[n - 1] == ' ')
        n--;
    to[n] = 0;
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
    { "dont know", REPLY_ANSWER, ANSWER_UNKNOWN },
    { "i dont know", REPLY_ANSWER, ANSWER_UNKNOWN },
    { "do not know", REPLY_ANSWER, ANSWER_UNKNOWN },
    { "i do not know", REPLY_ANSWER, ANSWER_UNKNOWN },
    { "not sure", REPLY_ANSWER, ANSWER_UNKNOWN },
    { "im not sure", REPLY_ANSWER, ANSWER_UNKNOWN },
    { "no idea", REPLY_ANSWER, ANSWER_UNKNOWN },
    { "unknown", REPLY_ANSWER, ANSWER_UNKNOWN },
    { "skip", REPLY_ANSWER, ANSWER_UNKNOWN },
    { "d", REPLY_ANSWER, ANSWER_UNKNOWN },
    { "either", REPLY_ANSWER, ANSWER_EITHER },
    { "either is fine", REPLY_ANSWER, ANSWER_EITHER },
    { "either one", REPLY_ANSWER, ANSWER_EITHER },
    { "any", REPLY_ANSWER, ANSWER_EITHER },
    { "any of them", REPLY_ANSWER, ANSWER_EITHER },
    { "both", REPLY_ANSWER, ANSWER_EITHER },
    { "doesnt matter", REPLY_ANSWER, ANSWER_EITHER },
    { "it doesnt matter", REPLY_ANSWER, ANSWER_EITHER },
    { "e", REPLY_ANSWER, ANSWER_EITHER },
    { "none", REPLY_ANSWER, ANSWER_NONE },
    { "none of these", REPLY_ANSWER, ANSWER_NONE },
    { "none of them", REPLY_ANSWER, ANSWER_NONE },
    { "neither", REPLY_ANSWER, ANSWER_NONE },
    { "n", REPLY_ANSWER, ANSWER_NONE },
};

static struct reply option_reply(int i)
{
    return (struct reply){ .kind = REPLY_ANSWER, .answer = { ANSWER_VALUE, i } };
}

/* Number of an option from 1: "2", "option 2", "the second one"; else 0. */
static long number_of(const char *text)
{
    static const char *const ordinals[] = { "first", "second", "third", "fourth", "fifth", "sixth" };
    static const char *const openings[] = { "the ", "option ", "number ", "no " };
    size_t digits;

    for (int i = 0; i < ARRAY_LEN(openings); i++)
        if (strncmp(text, openings[i], strlen(openings[i])) == 0)
            text += strlen(openings[i]);
    for (int i = 0; i < ARRAY_LEN(ordinals); i++) {
        size_t n = strlen(ordinals[i]);
        if (strncmp(text, ordinals[i], n) == 0 && (!text[n] || strcmp(text + n, " one") == 0))
            return i + 1;
    }
    digits = strspn(text, "0123456789");
    return digits && !text[digits] ? digits < 9 ? strtol(text, NULL, 10) : 999999999 : 0;
}

static bool is_number(const char *text)
{
    return number_of(text) > 0 || (text[0] && strspn(text, "0") == strlen(text));
}

/* Tells whether the text has a minus before digits, which simplify() drops. */
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

/* Stems of words without meaning for an option: "the shipment one", "I mean the orders, please". */
static bool is_idle_word(const char *stem)
{
    static const char *const idle[] = { "answer", "i",      "id",   "it",   "like", "mean",  "meant", "one",
                                        "option", "please", "take", "that", "thi",  "those", "want",  "would" };

    for (int i = 0; i < ARRAY_LEN(idle); i++)
        if (strcmp(idle[i], stem) == 0)
            return true;
    return false;
}

static bool has_stem(const struct spoken *words, const char *stem)
{
    for (int i = 0; i < words->n; i++)
        if (strcmp(words->words[i].stem, stem) == 0)
            return true;
    return false;
}

/* How closely words are compared: every word; those with a meaning; and also words that begin alike. */
enum closeness { ALL_WORDS, MEANINGFUL_WORDS, ALIKE_WORDS };

enum { ALIKE_LETTERS = 4 };

/* Tells whether two stems share their first four letters and half of the longer one: "shipment" and "shipping". */
static bool are_alike(const char *a, const char *b)
{
    size_t n = 0, longer = strlen(a) > strlen(b) ? strlen(a) : strlen(b);

    while (a[n] && a[n] == b[n])
        n++;
    return n >= ALIKE_LETTERS && 2 * n >= longer;
}

static bool has_alike(const struct spoken *words, const char *stem)
{
    for (int i = 0; i < words->n; i++)
        if (are_alike(words->words[i].stem, stem))
            return true;
    return false;
}

/* Tells whether the option contains the words of `said`, in singular or plural. */
static bool holds_words(const struct spoken *option, const struct spoken *said, enum closeness how)
{
    int n = 0;

    for (int i = 0; i < said->n; i++) {
        const struct spoken_word *w = &said->words[i];
        if (how != ALL_WORDS && (w->filler || is_idle_word(w->stem)))
            continue;
        if (!has_stem(option, w->stem) && !(how == ALIKE_WORDS && has_alike(option, w->stem)))
            return false;
        n++;
    }
    return n > 0;
}

/* Options as words, and the ones that a reply may mean. */
struct option_words {
    struct spoken words[DIALOGUE_SHOWN + 1];
    bool fits[DIALOGUE_SHOWN + 1];
    int n;
};

static int count_fits(const struct option_words *o)
{
    int n = 0;

    for (int i = 0; i < o->n; i++)
        n += o->fits[i];
    return n;
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
            said[w] |= has_stem(&o->words[k], list->words[w].stem);
    }
    for (int w = 0; w < list->n; w++)
        left += !list->words[w].filler && !said[w];
    return parts > 1 && !left;
}

/* Prefers single options over lists of them. */
static void drop_lists(struct option_words *o)
{
    bool list[DIALOGUE_SHOWN + 1] = { false };
    int lists = 0;

    for (int i = 0; i < o->n; i++)
        lists += list[i] = o->fits[i] && lists_others(o, i);
    if (count_fits(o) - lists != 1)
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

/* Finds the options with all words, or else with all meaningful words, or else with words that begin alike. */
static void find_fits(struct option_words *o, const char *said, const struct question *q)
{
    struct spoken words;
    char option[TEXT_MAX];

    spoken_read(&words, said);
    *o = (struct option_words){ .n = q->n };
    for (int i = 0; i < q->n; i++) {
        simplify(option, q->names[i]);
        spoken_read(&o->words[i], option);
    }
    for (enum closeness how = ALL_WORDS; how <= ALIKE_WORDS && !count_fits(o); how++)
        for (int i = 0; i < q->n; i++)
            o->fits[i] = holds_words(&o->words[i], &words, how);
    if (count_fits(o) > 1)
        prefer_whole(o, &words);
    if (count_fits(o) > 1)
        drop_lists(o);
}

/* "2 or 3", "1, 2 or 3". */
static void write_numbers(char text[NUMBERS_MAX], const struct option_words *o)
{
    int left = count_fits(o), n = 0;

    text[0] = '\0';
    for (int i = 0; i < o->n; i++) {
        if (!o->fits[i])
            continue;
        left--;
        n += snprintf(text + n, (size_t)(NUMBERS_MAX - n), "%d%s", i + 1, left > 1 ? ", " : left ? " or " : "");
    }
}

/* Index of the only option with these words; -1: none, -2: several, whose numbers are written. */
static int named_option(char numbers[NUMBERS_MAX], const char *said, const struct question *q)
{
    struct option_words o;
    char option[TEXT_MAX];

    for (int i = 0; i < q->n; i++) {
        simplify(option, q->names[i]);
        if (strcmp(option, said) == 0)
            return i;
    }
    find_fits(&o, said, q);
    write_numbers(numbers, &o);
    for (int i = 0; i < q->n && count_fits(&o) == 1; i++)
        if (o.fits[i])
            return i;
    return count_fits(&o) ? -2 : -1;
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

static struct reply read_option(const char *said, const struct question *q)
{
    char numbers[NUMBERS_MAX];
    int named = named_option(numbers, said, q), implied = yes_or_no(said, q);

    if (implied >= 0)
        return option_reply(implied);
    if (named >= 0)
        return option_reply(named);
    if (named == -2)
        return unclear("More than one option has these words. Please type %s.", numbers);
    return unclear("I did not understand that. Please type a number from 1 to %d, words of an option, or help.", q->n);
}

/* Index of the option with this number, or with this text, such as a year. */
static struct reply read_number(const char *text, const char *said, const struct question *q)
{
    char numbers[NUMBERS_MAX];
    long n = number_of(said);
    bool negative = is_negative(text), counted = !negative && n >= 1 && n <= q->n;
    int named = counted ? (int)n - 1 : negative ? same_option(text, q) : named_option(numbers, said, q);

    return named >= 0    ? option_reply(named)
           : named == -2 ? unclear("More than one option has this number. Please type %s.", numbers)
                         : unclear("There is no option %ld: the numbers go from 1 to %d.", negative ? -n : n, q->n);
}

static bool has_control(const char *text)
{
    for (; *text; text++)
        if (iscntrl((unsigned char)*text) && !isspace((unsigned char)*text))
            return true;
    return false;
}

struct reply reply_read(const char *text, const struct question *q)
{
    char said[TEXT_MAX];

    simplify(said, text);
    if (has_control(text))
        return unclear("Arrows and other special keys do nothing here: please type a number or words.");
    if (!said[0])
        return (struct reply){ .kind = strchr(text, '?') ? REPLY_HELP : REPLY_NOTHING };
    if (q && is_number(said))
        return read_number(text, said, q);
    for (int i = 0; i < ARRAY_LEN(sayings); i++)
        if (strcmp(said, sayings[i].text) == 0)
            return (struct reply){ sayings[i].kind, { sayings[i].answer, 0 }, "" };
    return q ? read_option(said, q) : unclear("I did not understand that.");
}
