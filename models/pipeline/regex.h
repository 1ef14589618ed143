/*
 * regex.h - the matches of a regular expression in a text.
 *
 * Tokenizers match with Oniguruma; here PCRE2 does, which is faster and compiles to machine code, and regex_spell.h
 * says the same to it.
 */
#ifndef MODELS_PIPELINE_REGEX_H
#define MODELS_PIPELINE_REGEX_H

#include "kernels/base.h"

enum { REGEX_MAX_PATTERN = 4096 };

/* The published patterns.  The first two differ in how many digits make a piece, three or one; the third is what
 * ByteLevel has of its own. */
extern const char regex_llama3[], regex_qwen2[], regex_gpt2[];
/* Ours: a word is a piece of its own without the blank or sign before it, and so is its last s: "names" and "t1.name"
 * have the same name.  Digits are alone, signs have the blank before them: as in the others, a piece ends before a
 * blank. */
extern const char regex_words[];

struct regex;

/* Compiles a pattern in tokenizers' spelling.  NULL with EXIT_CODE_CHECKPOINT: too long, or not a pattern that both
 * read alike. */
struct regex *regex_open(const char *pattern, struct error *err);
void regex_close(struct regex *r);

/* A search through one text of valid UTF-8, which is all that the pattern sees.  Start it as { 0 }; threads may search
 * with one regex at once, each with a search of its own. */
struct regex_search {
    const char *text;
    int64_t at, end;
    int64_t last; /* where the newest match ended, -1 before the first */
    void *found;
};
void regex_search_start(struct regex_search *s, const char *text, int64_t length);
/* The next match, bytes [*start, *stop), which may be empty but not right behind another; false when there is none.
 * What a search gives up on, after ten million steps back (hostile patterns, or that many blanks in one run), holds
 * none. */
bool regex_search_next(struct regex_search *s, const struct regex *r, int64_t *start, int64_t *stop);
void regex_search_end(struct regex_search *s);

#endif
