#include "infer/clarify/reply_words.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { TEXT_MAX = 4000, WORDS_MAX = 64 };

static struct reply unclear(const char *fmt, ...)
{
    struct reply r = { .kind = REPLY_UNCLEAR };
    va_list args;

    va_start(args, fmt);
    vsnprintf(r.why, sizeof r.why, fmt, args);
    va_end(args);
    return r;
}

/* Lower case, apostrophes dropped, whatever is neither letter nor digit a single blank, none at the ends. */
static void simplify(char *to, const char *text)
{
    size_t n = 0;

    for (size_t i = 0; text[i] && n < TEXT_MAX - 1; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '\'' || c == '`')
            continue;
        if (strncmp(text + i, "\xe2\x80\x99", 3) == 0) { /* a printer's apostrophe */
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

/* "2", "option 2", "the second one"; 0 when it is no number, counted from 1. */
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

/* Whether a minus stands before digits, which simplify drops. */
static bool is_negative(const char *text)
{
    for (const char *p = text; (p = strchr(p, '-')); p++)
        if (isdigit((unsigned char)p[1]) && (p == text || isspace((unsigned char)p[-1])))
            return true;
    return false;
}

/* The option that reads like this, sign and all; -1 for none. */
static int same_option(const char *text, const struct question *q)
{
    size_t start = strspn(text, " \t\r\n"), n = strcspn(text + start, " \t\r\n");

    for (int i = 0; i < q->n; i++)
        if (strlen(q->names[i]) == n && strncmp(q->names[i], text + start, n) == 0)
            return i;
    return -1;
}

/* Whether every word of `said` is a word of the option. */
static bool holds_words(const char *option, const char *said)
{
    char *words = xstrdup(said), *rest = words;
    bool all = true;

    for (char *word; all && (word = strsep(&rest, " "));) {
        size_t n = strlen(word);
        bool found = false;
        for (const char *p = option; !found && (p = strstr(p, word)); p += n)
            found = (p == option || p[-1] == ' ') && (!p[n] || p[n] == ' ');
        all = found;
    }
    free(words);
    return all;
}

/* The only option that is or has these words; -1 for none, -2 for several. */
static int named_option(const char *said, const struct question *q)
{
    char option[TEXT_MAX];
    int found = -1;

    for (int i = 0; i < q->n; i++) {
        simplify(option, q->names[i]);
        if (strcmp(option, said) == 0)
            return i;
    }
    for (int i = 0; i < q->n; i++) {
        simplify(option, q->names[i]);
        if (holds_words(option, said))
            found = found == -1 ? i : -2;
    }
    return found;
}

/* "yes" and "no" where one of two options says no. */
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
    int named = named_option(said, q), implied = yes_or_no(said, q);

    if (implied >= 0)
        return option_reply(implied);
    if (named >= 0)
        return option_reply(named);
    if (named == -2)
        return unclear("More than one option has these words. Please type a number from 1 to %d.", q->n);
    return unclear("I did not understand that. Please type a number from 1 to %d, words of an option, or help.", q->n);
}

/* The option of a number from 1 on, or the one that is called so: a year, say. */
static struct reply read_number(const char *text, const char *said, const struct question *q)
{
    long n = number_of(said);
    bool negative = is_negative(text), counted = !negative && n >= 1 && n <= q->n;
    int named = counted ? (int)n - 1 : negative ? same_option(text, q) : named_option(said, q);

    return named >= 0 ? option_reply(named)
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
