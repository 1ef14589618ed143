#include "data/span/quoted.h"

#include "data/span/spoken.h"

#include <ctype.h>
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

/* Where the mark closes a quotation that begins at `from`; -1: nowhere. */
static int closing(const char *text, int from, const char *mark)
{
    int n = (int)strlen(mark);

    for (int i = from; text[i]; i++)
        if (starts(text + i, mark) && i > from && !isspace((unsigned char)text[i - 1]) && !spoken_in_word(text + i + n))
            return i;
    return -1;
}

/* The bytes behind a quotation that opens at text + at; 0: none does. */
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

/* Whether letters or digits lie in bytes [from, to). */
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
