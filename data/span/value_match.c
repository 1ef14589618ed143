#include "data/span/value_match.h"

#include "data/span/spoken.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const struct quotation_marks {
    const char *open, *close;
} marks[] = {
    { "\"", "\"" },
    { "'", "'" },
    { "`", "`" },
    { "\xe2\x80\x9c", "\xe2\x80\x9d" }, /* curly double */
    { "\xe2\x80\x9e", "\xe2\x80\x9c" }, /* German double */
    { "\xe2\x80\x98", "\xe2\x80\x99" }, /* curly single */
    { "\xc2\xab", "\xc2\xbb" },         /* guillemets */
};

static bool starts(const char *text, const char *mark)
{
    return strncmp(text, mark, strlen(mark)) == 0;
}

/* The position of the mark that closes a quotation from `from`, or -1. */
static int closing(const char *text, int from, const char *mark)
{
    int n = (int)strlen(mark);

    for (int i = from; text[i]; i++)
        if (starts(text + i, mark) && i > from && !isspace((unsigned char)text[i - 1]) && !spoken_in_word(text + i + n))
            return i;
    return -1;
}

/* The end of a quotation that opens at text + at, or 0. */
static int read_one(struct quoted *q, const char *text, int at)
{
    for (int k = 0; k < ARRAY_LEN(marks); k++) {
        int from = at + (int)strlen(marks[k].open);
        if (!starts(text + at, marks[k].open) || spoken_in_word_before(text, at) || isspace((unsigned char)text[from]))
            continue;
        int to = closing(text, from, marks[k].close);
        if (to < 0)
            continue;
        q->items[q->n].from = from;
        q->items[q->n++].to = to;
        return to + (int)strlen(marks[k].close) - at;
    }
    return 0;
}

void quoted_read(struct quoted *q, const char *text)
{
    q->n = 0;
    for (int at = 0; text[at] && q->n < QUOTED_MAX;) {
        int n = read_one(q, text, at);
        at += n ? n : 1;
    }
}

/* Whether bytes [from, to) contain letters or digits. */
static bool has_words(const char *text, int from, int to)
{
    for (; from < to; from++)
        if (((unsigned char)text[from] & 0xc0) != 0x80 && spoken_in_word(text + from))
            return true;
    return false;
}

bool quoted_cuts(const struct quoted *q, const char *text, int from, int to)
{
    for (int i = 0; i < q->n; i++) {
        int a = q->items[i].from, b = q->items[i].to;
        if (a < to && from < b && (has_words(text, a, from) || has_words(text, to, b)))
            return true;
    }
    return false;
}

bool quoted_is(const struct quoted *q, const char *text, int from, int to)
{
    for (int i = 0; i < q->n; i++) {
        int a = q->items[i].from, b = q->items[i].to;
        if (a <= from && to <= b && !has_words(text, a, from) && !has_words(text, to, b))
            return true;
    }
    return false;
}

/* Minimum length for comparison: in shorter words one letter makes another word. */
enum { ALIKE_LETTERS = 5 };

/* A value that a run of words matches. */
struct said_value {
    struct tag_value value;
    int common; /* common letters */
};

struct value_matcher {
    struct value_index *index;
    struct spoken words;
    struct quoted quoted;
    const char *question;
    struct said_value *all;
    int n, cap;
    const char *run; /* the words to look up */
    int start, end, letters;
};

void value_matches_release(struct value_matches *m)
{
    free(m->items);
    strings_release(&m->numbers);
    *m = (struct value_matches){ 0 };
}

static void add_said(struct value_matcher *m, struct tag_value value, double letters)
{
    GROW(m->all, m->n, m->cap);
    m->all[m->n++] = (struct said_value){ value, (int)(value.score * letters + 0.5) };
}

/* Whether two texts have the same digits in order; another digit means another value, not a typing error. */
static bool same_digits(const char *a, const char *b)
{
    while (true) {
        a += strcspn(a, "0123456789");
        b += strcspn(b, "0123456789");
        if (*a != *b || !*a)
            return *a == *b;
        a++;
        b++;
    }
}

/* A value_found_fn. */
static void add_alike(void *user, uint32_t entry, double ratio)
{
    struct value_matcher *m = user;
    const struct value_entry *e = &m->index->entries[entry];
    const char *text = m->index->texts + e->text;

    if (ratio < 1 && !same_digits(m->run, text))
        return;
    add_said(m, (struct tag_value){ e->column, text, m->start, m->end, ratio },
             (double)(m->letters + (int)strlen(text)) / 2);
}

/* Whether it is more than punctuation. */
static bool says_something(const struct value_matcher *m, const struct spoken_word *w)
{
    char words[VALUE_BYTES + 1];
    return value_words(words, m->question + w->from, (size_t)(w->to - w->from)) > 0;
}

static bool joins_digits(char c)
{
    return c && strchr("-/:.", c);
}

/* Whether bytes [from, to) are a part of a date or a decimal number, as "2023" in "2023-05-01". */
static bool cuts_digits(const char *question, int from, int to)
{
    bool before = from > 1 && isdigit((unsigned char)question[from]) && joins_digits(question[from - 1]) &&
                  isalnum((unsigned char)question[from - 2]);

    return before || (isdigit((unsigned char)question[to - 1]) && joins_digits(question[to]) &&
                      isdigit((unsigned char)question[to + 1]));
}

/* Looks up words `first` to `last`. */
static void look_up(struct value_matcher *m, int first, int last, double least)
{
    const struct spoken_word *a = &m->words.words[first], *b = &m->words.words[last];
    char words[VALUE_BYTES + 1];
    int n = value_words(words, m->question + a->from, (size_t)(b->to - a->from));
    bool found = false;

    bool quoted = quoted_is(&m->quoted, m->question, a->from, b->to);

    if (n <= 0 || (first == last && a->filler && !quoted) || !says_something(m, a) || !says_something(m, b) ||
        quoted_cuts(&m->quoted, m->question, a->from, b->to) || cuts_digits(m->question, a->from, b->to))
        return;
    m->run = words;
    m->start = a->start;
    m->end = b->end;
    m->letters = n;
    for (uint32_t at = 0; (at = value_index_exact(m->index, words, at)); found = true)
        add_alike(m, at - 1, 1);
    if (!found && least < 1 && n >= ALIKE_LETTERS && !a->filler && !b->filler)
        value_index_alike(m->index, words, n, least, add_alike, m);
}

/* Reads the digits of a number without commas; returns its bytes, or 0. */
static int read_number(char digits[32], const char *text)
{
    int n = 0, i = 0;

    while (isdigit((unsigned char)text[i]) ||
           (i && (text[i] == '.' || text[i] == ',') && isdigit((unsigned char)text[i + 1]))) {
        if (text[i] != ',' && n < 31)
            digits[n++] = text[i];
        i++;
    }
    digits[n] = '\0';
    return spoken_in_word(text + i) ? 0 : i;
}

/* Adds a number to every numeric column; dates and versions such as "31.12.1990" to none. */
static void add_number(struct value_matcher *m, struct value_matches *to, const char *digits, int start, int end,
                       const struct span_column *columns, int n_columns)
{
    struct plain_number number;

    if (!plain_number_read(&number, digits))
        return;
    const char *text = strings_keep(&to->numbers, digits);
    for (int c = 0; c < n_columns; c++)
        if (columns[c].type == COLUMN_NUMBER)
            add_said(m, (struct tag_value){ c, text, start, end, 1 }, end - start);
}

static void add_numbers(struct value_matcher *m, struct value_matches *to, const struct span_column *columns,
                        int n_columns)
{
    char digits[32];

    for (int i = 0; i < m->words.n; i++) {
        const struct spoken_word *w = &m->words.words[i];
        int n = isdigit((unsigned char)m->question[w->from]) ? read_number(digits, m->question + w->from) : 0;
        if (n)
            add_number(m, to, digits, w->start, w->start + n, columns, n_columns);
        while (n && i + 1 < m->words.n && m->words.words[i + 1].from < w->from + n)
            i++;
    }
}

static int better(const void *a, const void *b)
{
    const struct said_value *x = a, *y = b;

    if (x->common != y->common)
        return x->common < y->common ? 1 : -1;
    if (x->value.score < y->value.score || x->value.score > y->value.score)
        return x->value.score < y->value.score ? 1 : -1;
    if (x->value.start != y->value.start)
        return x->value.start - y->value.start;
    if (x->value.end != y->value.end)
        return x->value.end - y->value.end;
    return x->value.column != y->value.column ? x->value.column - y->value.column
                                              : strcmp(x->value.text, y->value.text);
}

/* Whether a chosen run overlaps it. */
static bool is_taken(const struct value_matches *to, const struct tag_value *v)
{
    for (int i = 0; i < to->n; i++) {
        const struct tag_value *t = &to->items[i];
        if (t->start < v->end && v->start < t->end && (t->start != v->start || t->end != v->end))
            return true;
    }
    return false;
}

/* Chooses runs. Chosen runs are few, values of a run may be many, so each run is examined once. */
static void choose(struct value_matches *to, struct value_matcher *m, int n_columns)
{
    uint8_t *of_column = xcalloc((size_t)n_columns + 1, 1);
    const struct tag_value *last = NULL;
    bool taken = false;

    if (m->n)
        qsort(m->all, (size_t)m->n, sizeof *m->all, better);
    for (int i = 0; i < m->n; i++) {
        const struct tag_value *v = &m->all[i].value;
        if (!last || last->start != v->start || last->end != v->end)
            taken = is_taken(to, v);
        last = v;
        if (taken || of_column[v->column] == VALUE_BEST)
            continue;
        of_column[v->column]++;
        GROW(to->items, to->n, to->cap);
        to->items[to->n++] = *v;
    }
    free(of_column);
}

void value_match(struct value_matches *to, struct value_index *x, const char *question,
                 const struct span_column *columns, int n_columns, double least)
{
    struct value_matcher *m = xcalloc(1, sizeof *m);

    *to = (struct value_matches){ 0 };
    m->index = x;
    m->question = question;
    spoken_read(&m->words, question);
    quoted_read(&m->quoted, question);
    for (int i = 0; i < m->words.n && x->n; i++)
        for (int k = i; k < m->words.n && k < i + VALUE_WORDS; k++)
            look_up(m, i, k, least);
    add_numbers(m, to, columns, n_columns);
    choose(to, m, n_columns);
    free(m->all);
    free(m);
}
