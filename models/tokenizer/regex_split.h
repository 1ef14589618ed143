/*
 * regex_split.h - text cut into the matches of a regular expression and what lies between them.
 *
 * Tokenizers cut with Oniguruma; here PCRE2 does, which is faster and compiles to machine code.  The two agree once \s,
 * \S, \p{L} and \p{N} are spelled out: PCRE2 calls U+180E white space, and the Unicode it knows is older (14 in Debian
 * 12, 17 in tokenizers 0.23).
 */
#ifndef MODELS_TOKENIZER_REGEX_SPLIT_H
#define MODELS_TOKENIZER_REGEX_SPLIT_H

#include "kernels/base.h"

enum { REGEX_MAX_PATTERN = 4096 };

/* The published patterns: they differ in how many digits make a piece, three or one. */
extern const char regex_llama3[], regex_qwen2[];

struct regex;

/* Compiles a pattern in tokenizers' spelling.  NULL with EXIT_CODE_CHECKPOINT: too long, not a pattern, or one that
 * matches the empty text. */
struct regex *regex_open(const char *pattern, struct error *err);
void regex_close(struct regex *r);
/* The pattern as it was given. */
const char *regex_pattern(const struct regex *r);

/* A walk over text [at, end), which must be valid UTF-8.  Threads may walk with one regex at once. */
struct regex_walk {
    const struct regex *regex;
    const char *text;
    int64_t at, end;
    int64_t start, stop; /* the newest match */
    void *found;
};
void regex_walk_start(struct regex_walk *w, const struct regex *r, const char *text, int64_t at, int64_t end);
/* The next piece, bytes [*start, *stop); false at the end.  What a search gives up on, after ten million
 * steps back (hostile patterns, or that many blanks in one run), is one piece. */
bool regex_walk_next(struct regex_walk *w, int64_t *start, int64_t *stop);
void regex_walk_end(struct regex_walk *w);

#endif
