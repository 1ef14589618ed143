/*
 * passage.h - slices of a completion, and whether such a slice is English prose rather than SQL.
 *
 * A passage points into the text and owns nothing. SQL's grammar alone cannot separate prose from SQL: "the" may be a
 * column and "This" an alias. The prose functions decide where the grammar does not continue, and whether a doubtful
 * statement is one.
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

/* The length of a leading blank that SQL takes for a letter, such as a no-break or ideographic space; 0 without. */
size_t prose_blank_length(struct passage p);
/* Skips leading blanks, including those. */
struct passage prose_without_blanks(struct passage p);

/* Whether a word occurs in English but not in schemas: "the", "this", "which". */
bool prose_has_word(const char *word, size_t n);
/* Whether the first line of `rest` is prose, a label or a list mark rather than SQL of another dialect. `rest` cannot
 * continue a statement. `inside`: it begins in the middle of a line, which requires stronger evidence. */
bool prose_begins(struct passage rest, bool inside);
/* Whether the first word of `rest` continues a statement, in SQLite or another dialect. */
bool prose_goes_on(struct passage rest);
/* Skips the marks of lists, quotations and headings: "2.", "-", "**", "###", "(b)". */
struct passage prose_without_marks(struct passage line);

#endif
