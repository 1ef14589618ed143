/*
 * text_pattern.h - regular expressions, plain texts and kinds of characters: where they are found in a text, and how
 * it is cut there.
 *
 * Tokenizers match with Oniguruma; here PCRE2 does, which is faster and compiles to machine code.  The pattern is
 * spelled anew for it.
 */
#ifndef MODELS_PIPELINE_TEXT_PATTERN_H
#define MODELS_PIPELINE_TEXT_PATTERN_H

#include "kernels/base.h"

#include <jansson.h>

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

/* A pattern is a regular expression, a plain text or a kind of characters.  Segments are its matches and what lies
 * between; a cut makes pieces of them in one of the five ways of tokenizers. */

typedef bool char_test(uint32_t cp);

struct text_pattern {
    struct regex *regex; /* or else */
    char *text;          /* of length > 0, or else */
    int64_t length;
    char_test *is; /* single characters */
};

/* {"Regex": ...} or {"String": ...}.  EXIT_CODE_CHECKPOINT or EXIT_CODE_DATA on failure. */
int text_pattern_read(struct text_pattern *p, const json_t *o, const char *where, struct error *err);
/* A plain text, which may be empty: found between any two characters. */
void text_pattern_set(struct text_pattern *p, const char *text);
void text_pattern_release(struct text_pattern *p);

/* A walk from match to match through a text of valid UTF-8, which is all that the pattern sees. */
struct pattern_walk {
    const struct text_pattern *pattern;
    struct regex_search search; /* text, at and end for every kind of pattern */
};
/* A walk may be started again and again, and ended once; start with { 0 }. */
void pattern_walk_start(struct pattern_walk *w, const struct text_pattern *p, const char *text, int64_t length);
bool pattern_walk_plain(struct pattern_walk *w, int64_t *start, int64_t *stop); /* without a regular expression */
static inline bool pattern_walk_next(struct pattern_walk *w, int64_t *start, int64_t *stop)
{
    const struct regex *r = w->pattern->regex;
    return r ? regex_search_next(&w->search, r, start, stop) : pattern_walk_plain(w, start, stop);
}
void pattern_walk_end(struct pattern_walk *w);

enum cut_behavior { CUT_REMOVED, CUT_ISOLATED, CUT_MERGED_WITH_PREVIOUS, CUT_MERGED_WITH_NEXT, CUT_CONTIGUOUS };

/* "Removed" ..., tokenizers' names */
int cut_behavior_read(enum cut_behavior *out, const char *name, const char *where, struct error *err);

struct segment {
    int64_t start, stop;
    bool match;
};

struct cut {
    struct pattern_walk walk;
    enum cut_behavior behavior;
    bool invert; /* what lies between is the match */
    int64_t at;  /* segments up to here are known */
    struct segment found, held;
    bool has_found, has_held, last_match;
};
/* As with walks. */
void cut_start(struct cut *c, const struct text_pattern *p, enum cut_behavior behavior, bool invert, const char *text,
               int64_t length);
/* The next piece, never empty. */
bool cut_next(struct cut *c, int64_t *start, int64_t *stop);
void cut_end(struct cut *c);

#endif
