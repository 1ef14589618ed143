/*
 * wordpiece.h - the WordPiece model: the longest token a word starts with, then the longest continuation, and so on.
 */
#ifndef MODELS_TOKENIZER_WORDPIECE_H
#define MODELS_TOKENIZER_WORDPIECE_H

#include "models/tokenizer/vocab.h"

enum { WORDPIECE_MAX_PREFIX = 16, WORDPIECE_MAX_CHARS = 1000 };

struct wordpiece {
    char prefix[WORDPIECE_MAX_PREFIX + 1]; /* of a continuation, "##" */
    int32_t unk;
    int32_t max_chars; /* a longer word is one unk */
    struct piece_table first, next;
};

/* Builds the tables from tokens [0, n) of v; prefix, unk and max_chars are set already. */
int wordpiece_prepare(struct wordpiece *w, const struct vocab *v, int32_t n, struct error *err);
void wordpiece_release(struct wordpiece *w);

/* Splits a word.  Returns how many pieces, at most WORDPIECE_MAX_CHARS; one unk when it cannot be split. */
int wordpiece_split(const struct wordpiece *w, const struct vocab *v, const char *word, int64_t length,
                    struct token_piece out[WORDPIECE_MAX_CHARS]);

#endif
