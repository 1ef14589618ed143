/*
 * wordpiece.h - the WordPiece model (Schuster and Nakajima 2012): longest-match-first search.
 *
 * The longest token at the start of a word is taken, then the longest continuation after it, and so on.
 *
 * A struct wordpiece does not change after wordpiece_prepare, so threads may share it.
 */
#ifndef MODELS_TEXT_WORDPIECE_H
#define MODELS_TEXT_WORDPIECE_H

#include "models/text/vocab.h"

enum { WORDPIECE_MAX_PREFIX = 16, WORDPIECE_MAX_CHARS = 1000 };

struct wordpiece {
    char prefix[WORDPIECE_MAX_PREFIX + 1]; /* prefix of continuations, "##" */
    int32_t unk;
    int32_t max_chars; /* a longer word becomes unk */
    struct piece_table first, next;
};

/* Builds the tables from tokens [0, n) of v. prefix, unk and max_chars must be set. Returns -1 with
 * EXIT_CODE_CHECKPOINT. */
int wordpiece_prepare(struct wordpiece *w, const struct vocab *v, int32_t n, struct error *err);
void wordpiece_release(struct wordpiece *w);

/* Splits a word. Returns the number of pieces, at most WORDPIECE_MAX_CHARS. A word that cannot be split is one unk. */
int wordpiece_split(const struct wordpiece *w, const struct vocab *v, const char *word, int64_t length,
                    struct token_piece out[WORDPIECE_MAX_CHARS]);

#endif
