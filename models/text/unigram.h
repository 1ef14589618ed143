/*
 * unigram.h - the Unigram model (Kudo 2018): the segmentation of a piece with the highest sum of token scores.
 *
 * Tokens are stored in a trie of bytes with all edges in one hash table. The Viterbi search runs from left to right in
 * f64. Of equal segmentations the first one found is kept, as in Hugging Face's tokenizers. A struct unigram does not
 * change after unigram_prepare, so threads may share it; each needs a unigram_work of its own.
 */
#ifndef MODELS_TEXT_UNIGRAM_H
#define MODELS_TEXT_UNIGRAM_H

#include "models/text/vocab.h"

/* An edge of the trie. */
struct unigram_edge {
    uint32_t from; /* node << 8 | byte; node 0 is the root */
    int32_t to;    /* 0: free */
    int32_t id;    /* token that ends here, or -1 */
};

struct unigram {
    double *scores; /* [tokens] */
    double unk_score;
    int32_t unk;
    bool byte_fallback;
    int32_t fallback[256]; /* token <0xNN> of each byte, -1: none */
    struct piece_table tokens;
    struct unigram_edge *edges;
    uint64_t mask;
};

/* Buffers of one encoding. Start as { 0 }. */
struct unigram_work {
    struct token_piece *pieces; /* [count] result of the last unigram_split */
    int64_t count, cap_pieces;
    struct unigram_step *steps;
    int64_t cap_steps;
};

/* Enters the tokens [0, n) of v. scores, unk and byte_fallback must be set. Returns -1 with EXIT_CODE_CHECKPOINT if two
 * tokens are equal. */
int unigram_prepare(struct unigram *u, const struct vocab *v, int32_t n, struct error *err);
void unigram_release(struct unigram *u);

/* Splits a piece of n > 0 bytes of UTF-8 into w->pieces [w->count]. */
void unigram_split(const struct unigram *u, const struct vocab *v, struct unigram_work *w, const char *piece,
                   int64_t n);
void unigram_work_release(struct unigram_work *w);

#endif
