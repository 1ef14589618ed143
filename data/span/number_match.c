#include "data/span/number_match.h"

#include "data/base/real_text.h"
#include "data/span/spoken.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { DIGITS = 40 };

/* The text of a number; its bytes precede text + length. */
struct number_text {
    char digits[DIGITS]; /* '.' before the fraction, no thousands separators */
    int n, length;       /* bytes of `digits`, of the question */
    bool plain;          /* digits only */
};

static bool is_digit(char c)
{
    return isdigit((unsigned char)c);
}

static int digits_at(const char *text)
{
    return (int)strspn(text, "0123456789");
}

static void keep(struct number_text *t, const char *from, int n)
{
    for (int i = 0; i < n && t->n + 1 < DIGITS; i++)
        t->digits[t->n++] = from[i];
    t->digits[t->n] = '\0';
    t->length += n;
}

/* The number of groups of three digits after a separator. */
static int groups_at(const char *text, char mark)
{
    int n = 0;

    while (text[4 * n] == mark && digits_at(text + 4 * n + 1) == 3)
        n++;
    return n;
}

/* The thousands separator: a point counts if it occurs twice or a comma follows. */
static char group_mark(const char *text)
{
    int points = groups_at(text, '.');

    if (groups_at(text, ','))
        return ',';
    if (groups_at(text, '\''))
        return '\'';
    return points > 1 || (points && text[4 * points] == ',' && is_digit(text[4 * points + 1])) ? '.' : 0;
}

/* Reads from a sign, a point or a digit. */
static void read_digits(struct number_text *t, const char *text)
{
    keep(t, text, *text == '-');
    int first = digits_at(text + t->length);
    char mark = first && first <= 3 ? group_mark(text + t->length + first) : 0, point = mark == '.' ? ',' : '.';

    keep(t, text + t->length, first);
    for (int n = mark ? groups_at(text + t->length, mark) : 0; n > 0; n--) {
        t->length++;
        keep(t, text + t->length, 3);
        t->plain = false;
    }
    if (text[t->length] != point || !is_digit(text[t->length + 1]))
        return;
    t->plain = false;
    keep(t, ".", 1);
    keep(t, text + t->length, digits_at(text + t->length));
}

static const char *const signs[] = { "$", "\xe2\x82\xac", "\xc2\xa3", "\xc2\xa5" };

/* The length of a currency sign before text + at. */
static int money_before(const char *text, int at)
{
    for (int i = 0; i < ARRAY_LEN(signs); i++) {
        int n = (int)strlen(signs[i]);
        if (at >= n && memcmp(text + at - n, signs[i], (size_t)n) == 0)
            return n;
    }
    return 0;
}

static bool joins_words(char c)
{
    return c && strchr("-/:._\\@", c);
}

/* Whether the characters before text + at bind the digits: "b2", "05-01", "10:30". */
static bool is_bound_before(const char *text, int at)
{
    return spoken_in_word_before(text, at) ||
           (at > 0 && joins_words(text[at - 1]) && spoken_in_word_before(text, at - 1));
}

/* The same for the characters after them. */
static bool is_bound_behind(const char *rest)
{
    if (strncmp(rest, "\xe2\x80\x93", 3) == 0) /* the dash of ranges */
        return is_digit(rest[3]);
    return joins_words(*rest) && spoken_in_word(rest + 1);
}

/* The length of the ending of "1st", "2nd" and so on. */
static int ordinal_ending(const char *rest)
{
    static const char *const endings[] = { "st", "nd", "rd", "th" };

    for (int i = 0; i < ARRAY_LEN(endings); i++)
        if (strncasecmp(rest, endings[i], 2) == 0 && !spoken_in_word(rest + 2))
            return 2;
    return 0;
}

static bool money_behind(const char *rest)
{
    rest += strspn(rest, " ");
    for (int i = 0; i < ARRAY_LEN(signs); i++)
        if (strncmp(rest, signs[i], strlen(signs[i])) == 0)
            return true;
    return false;
}

static bool says_percent(const char *rest)
{
    rest += strspn(rest, " ");
    if (strncmp(rest, "\xc2\xa0", 2) == 0)
        rest += 2;
    return *rest == '%' || strncasecmp(rest, "percent", 7) == 0 || strncasecmp(rest, "per cent", 8) == 0;
}

/* Whether adjacent letters are an ordinal ending or a unit ("kg"). Units are short, with more than one letter; "3D" is
 * a word. */
static bool ends_well(struct said_number *n, const char *rest)
{
    int letters = 0;

    n->ordinal = ordinal_ending(rest) > 0;
    while (isalpha((unsigned char)rest[letters]))
        letters++;
    return (letters == 0 || letters == 2 || n->ordinal || strcasecmp(rest, "lbs") == 0) &&
           !spoken_in_word(rest + letters) && !is_bound_behind(rest + letters);
}

/* The start of the number with the digits at `at`, with a point or sign; -1 if it is no number. */
static int number_start(const char *question, int at)
{
    bool point = at > 0 && question[at - 1] == '.' && !spoken_in_word_before(question, at - 1) &&
                 !(at > 1 && question[at - 2] == '.'); /* ".5" */
    int from = at - point;
    bool sign = from > 0 && question[from - 1] == '-' && (from == 1 || strchr(" (=<>\t\n", question[from - 2]));

    if (sign)
        return from - 1;
    return point || money_before(question, from) || !is_bound_before(question, from) ? from : -1;
}

static bool read_at(struct said_number *n, const char *question, int at)
{
    struct number_text t = { .plain = true };
    int from = number_start(question, at);

    if (from < 0)
        return false;
    read_digits(&t, question + from);
    const char *rest = question + from + t.length;
    *n = (struct said_number){ .from = from,
                               .to = from + t.length,
                               .money = money_before(question, from) > 0 || money_behind(rest) };
    if (!ends_well(n, rest) || !plain_number_read(&n->value, t.digits))
        return false;
    n->percent = says_percent(rest);
    n->at_least = *rest == '+';
    n->plain_year = t.plain && t.n == 4 && !n->money && !n->percent && !n->at_least && !isalpha((unsigned char)*rest) &&
                    n->value.integer >= YEAR_MIN && n->value.integer <= YEAR_MAX;
    n->start = text_letters(question, (size_t)n->from);
    n->end = text_letters(question, (size_t)n->to);
    return true;
}

/* The length of bound digits, such as a whole date, to skip them at once. */
static int bound_length(const char *text)
{
    int n = digits_at(text);

    while (text[n] && (spoken_in_word(text + n) || is_bound_behind(text + n)))
        n++;
    return n;
}

bool number_read_next(struct said_number *number, const char *question, int *at)
{
    while (question[*at]) {
        const char *text = question + *at;
        if (!is_digit(*text)) {
            ++*at;
        } else if (read_at(number, question, *at)) {
            *at = number->to;
            return true;
        } else {
            *at += bound_length(text);
        }
    }
    return false;
}

void number_matches_release(struct number_matches *m)
{
    for (int i = 0; i < m->n; i++)
        free((void *)(uintptr_t)m->items[i].holders);
    free(m->items);
    strings_release(&m->texts);
    *m = (struct number_matches){ 0 };
}

static const char *number_text(struct strings *texts, struct plain_number n)
{
    char text[REAL_TEXT];

    if (n.whole)
        return strings_printf(texts, "%" PRId64, n.integer);
    real_text(text, n.real);
    return strings_keep(texts, text);
}

/* The number, or the fraction of a percentage, that the column contains. */
static const struct plain_number *held_number(const struct number_index *x, int column, const struct plain_number *said,
                                              int n)
{
    for (int i = 0; i < n; i++)
        if (number_index_has(x, column, said[i]))
            return &said[i];
    return NULL;
}

static void find_holders(struct number_matches *m, struct said_number *s, const struct number_index *x)
{
    const struct plain_number said[] = { s->value, plain_real(s->value.real / 100) };
    struct number_holder *holders = xcalloc((size_t)x->n_columns + 1, sizeof *holders);

    for (int c = 0; c < x->n_columns; c++) {
        const struct plain_number *held = held_number(x, c, said, 1 + s->percent);
        bool by_year = !held && s->plain_year && number_index_has_year(x, c, (int)s->value.integer);
        if (held || by_year)
            holders[s->n_holders++] =
                (struct number_holder){ c, number_text(&m->texts, held ? *held : s->value), by_year };
    }
    s->holders = holders;
}

void number_match(struct number_matches *m, const struct number_index *x, const char *question)
{
    struct said_number number;
    int at = 0;

    *m = (struct number_matches){ 0 };
    while (number_read_next(&number, question, &at)) {
        GROW(m->items, m->n, m->cap);
        m->items[m->n] = number;
        find_holders(m, &m->items[m->n++], x);
    }
}
