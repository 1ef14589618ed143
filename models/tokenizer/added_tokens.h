/*
 * added_tokens.h - tokens cut out of the text before the model sees it.
 *
 * Matching is leftmost-longest and stops at nothing; single_word, lstrip and rstrip then judge or widen a match, as in
 * tokenizers' AddedVocabulary.  Tokens that are matched against raw text and those matched against normalised text are
 * two separate sets.
 */
#ifndef MODELS_TOKENIZER_ADDED_TOKENS_H
#define MODELS_TOKENIZER_ADDED_TOKENS_H

#include "kernels/base.h"

enum { ADDED_MAX_TOKENS = 1 << 13 };

struct added_token {
    int32_t id;
    bool special, normalized, single_word, lstrip, rstrip;
};

struct added_pattern {
    char *text;
    int64_t length;
    struct added_token token;
};

struct added_set {
    struct added_pattern *items; /* sorted by text */
    int32_t count, cap;
    bool starts[256]; /* bytes a pattern starts with */
};

/* text is copied and must not be empty. */
void added_set_add(struct added_set *s, const char *text, int64_t length, const struct added_token *token);
/* Call once after the last added_set_add. */
void added_set_prepare(struct added_set *s);
void added_set_release(struct added_set *s);

struct added_match {
    int64_t start, end, next; /* the search goes on at next, amid the white space that rstrip took */
    int32_t id;
};

/* The match behind *match, which starts as { 0 }; it may begin before the end of the last one.  Special tokens are
 * passed over unless specials.  False when there is none. */
bool added_set_find(const struct added_set *s, const char *text, int64_t end, bool specials, struct added_match *match);

#endif
