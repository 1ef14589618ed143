/*
 * text_pattern.h - finds a pattern in a text and splits the text there.
 *
 * Hugging Face's tokenizers match with Oniguruma. Here PCRE2 matches, which compiles patterns to machine code; patterns
 * are translated first. A pattern that cannot be translated exactly is refused. Texts are valid UTF-8.
 */
#ifndef MODELS_TEXT_TEXT_PATTERN_H
#define MODELS_TEXT_TEXT_PATTERN_H

#include "kernels/base.h"

#include <jansson.h>

enum { REGEX_MAX_PATTERN = 4096 };

/* Published patterns. Those of Llama 3 and Qwen 2 differ in the digits per piece, at most three and one. regex_gpt2 is
 * ByteLevel's own. */
extern const char regex_llama3[], regex_qwen2[], regex_gpt2[];
/* ambit's pattern for small models, which must learn to copy names. A word is a piece without the space or sign before
 * it. Its final s is another piece, so that "names" and "t1.name" share the piece "name". Each digit is a piece; signs
 * keep the space before them. */
extern const char regex_words[];

struct regex;

/* Compiles a pattern in the syntax of Hugging Face's tokenizers. NULL with EXIT_CODE_CHECKPOINT if the pattern is too
 * long, invalid or not translatable. A text_pattern that holds it releases it. */
struct regex *regex_open(const char *pattern, struct error *err);

/* State of a search through one text; part of a pattern_walk. */
struct regex_search {
    const char *text;
    int64_t at, end;
    int64_t last; /* end of the last match, -1 before the first */
    void *found;
};

/* A pattern is a regular expression, a plain text or a class of characters. Segments are the matches and the texts
 * between them. A cut joins segments to pieces by one of the five behaviours of Hugging Face's tokenizers. */
typedef bool char_test(uint32_t cp);

struct text_pattern {
    struct regex *regex; /* set, or else */
    char *text;          /* a plain text of length > 0, or else */
    int64_t length;
    char_test *is; /* a class of single characters */
};

/* Reads {"Regex": ...} or {"String": ...} in "pattern" of o. Returns -1 with EXIT_CODE_CHECKPOINT or EXIT_CODE_DATA. */
int text_pattern_read(struct text_pattern *p, const json_t *o, const char *where, struct error *err);
/* Sets a plain text. An empty one matches between any two characters. */
void text_pattern_set(struct text_pattern *p, const char *text);
void text_pattern_release(struct text_pattern *p);

/* An iteration over the matches in a text. */
struct pattern_walk {
    const struct text_pattern *pattern;
    struct regex_search search; /* text, at and end are used for every kind of pattern */
};
/* A walk may be restarted any number of times, and must be ended once. Start as { 0 }. */
void pattern_walk_start(struct pattern_walk *w, const struct text_pattern *p, const char *text, int64_t length);
/* Finds the next match, bytes [*start, *stop). It may be empty, but not directly after another match. Returns false if
 * there is none, or if a regular expression exceeds ten million backtracking steps. */
bool pattern_walk_next(struct pattern_walk *w, int64_t *start, int64_t *stop);
void pattern_walk_end(struct pattern_walk *w);

enum cut_behavior { CUT_REMOVED, CUT_ISOLATED, CUT_MERGED_WITH_PREVIOUS, CUT_MERGED_WITH_NEXT, CUT_CONTIGUOUS };

/* Reads "Removed", "Isolated", "MergedWithPrevious", "MergedWithNext" or "Contiguous". */
int cut_behavior_read(enum cut_behavior *out, const char *name, const char *where, struct error *err);

struct segment {
    int64_t start, stop;
    bool match;
};

struct cut {
    struct pattern_walk walk;
    enum cut_behavior behavior;
    bool invert; /* swap matches and the text between them */
    int64_t at;  /* end of the last segment */
    struct segment found, held;
    bool has_found, has_held, last_match;
};
/* A cut is restarted and ended like a walk. */
void cut_start(struct cut *c, const struct text_pattern *p, enum cut_behavior behavior, bool invert, const char *text,
               int64_t length);
/* Returns the next piece, which is never empty. */
bool cut_next(struct cut *c, int64_t *start, int64_t *stop);
void cut_end(struct cut *c);

#endif
