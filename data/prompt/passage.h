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

#endif
