/*
 * passage.h - a stretch of a model's answer: it points into the text and owns nothing.
 */
#ifndef DATA_PROMPT_PASSAGE_H
#define DATA_PROMPT_PASSAGE_H

#include "kernels/base.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

struct passage {
    const char *at;
    size_t n;
};

static inline struct passage passage_of(const char *text)
{
    return (struct passage){ text, strlen(text) };
}

/* Without the first n bytes. */
static inline struct passage passage_skip(struct passage p, size_t n)
{
    return (struct passage){ p.at + n, p.n - n };
}

/* Without blanks and line ends before it. */
static inline struct passage passage_lstrip(struct passage p)
{
    while (p.n && isspace((unsigned char)*p.at))
        p = passage_skip(p, 1);
    return p;
}

/* Without blanks and line ends around it. */
static inline struct passage passage_strip(struct passage p)
{
    p = passage_lstrip(p);
    while (p.n && isspace((unsigned char)p.at[p.n - 1]))
        p.n--;
    return p;
}

/* Letters of either case are the same. */
static inline bool passage_starts(struct passage p, const char *word)
{
    size_t n = strlen(word);
    return p.n >= n && strncasecmp(p.at, word, n) == 0;
}

static inline bool passage_ends(struct passage p, const char *word)
{
    size_t n = strlen(word);
    return p.n >= n && strncasecmp(p.at + p.n - n, word, n) == 0;
}

/* The next line of *rest without its line end, or false at the end. */
static inline bool passage_line(struct passage *rest, struct passage *line)
{
    if (rest->n == 0)
        return false;
    const char *stop = memchr(rest->at, '\n', rest->n);
    line->at = rest->at;
    line->n = stop ? (size_t)(stop - rest->at) : rest->n;
    *rest = passage_skip(*rest, line->n + (stop != NULL));
    return true;
}

/* Bytes of a blank that SQL takes for a letter: no-break, of a width, of no width, ideographic; 0 without. */
size_t prose_blank_length(struct passage p);
/* Without blanks at the beginning, those too. */
struct passage prose_without_blanks(struct passage p);

/* A word that English has and schemas have not: "the", "this", "which". */
bool prose_has_word(const char *word, size_t n);
/* Whether the first line of `rest`, which cannot go on with a statement, is prose, a label or a list's mark rather than
 * SQL of another dialect.  `inside` is for what begins in the middle of a line, where more must speak for prose. */
bool prose_begins(struct passage rest, bool inside);
/* Whether the first word of `rest` goes on with a statement, in SQLite's dialect or in another one. */
bool prose_goes_on(struct passage rest);
/* Without the marks of lists, quotations and headings at its beginning: "2.", "-", "**", "###", "(b)". */
struct passage prose_without_marks(struct passage line);

#endif
