/*
 * unigram.h - the Unigram model: of all ways to cut a piece into tokens the one whose scores add up to most.
 *
 * The tokens stand in a trie of bytes, whose edges are one hash table; the best way to each byte of a piece is found
 * from left to right, in f64, and of equals the one that was found first stays, as in tokenizers.
 */
#ifndef MODELS_TOKENIZER_UNIGRAM_H
#define MODELS_TOKENIZER_UNIGRAM_H

#include "models/tokenizer/vocab.h"

/* An edge of the trie. */
struct unigram_edge {
    uint32_t from; /* node << 8 | byte; nodes count from 0, the root */
    int32_t to;    /* 0: free */
    int32_t id;    /* the token that ends here, -1 */
};

struct unigram {
    double *scores; /* [tokens] */
    double unk_score;
    int32_t unk;
    bool byte_fallback;
    int32_t fallback[256]; /* <0xNN> of each byte, -1 */
    struct piece_table tokens;
    struct unigram_edge *edges;
    uint64_t mask;
};

/* Memory of one encoding; start it as { 0 }. */
struct unigram_work {
    struct token_piece *pieces; /* what the newest unigram_split found */
    int64_t count, cap_pieces;
    struct unigram_step *steps;
    int64_t cap_steps;
};

/* Enters the tokens [0, n) of v; scores, unk and byte_fallback are there.  -1 with EXIT_CODE_CHECKPOINT when two are
 * the same. */
int unigram_prepare(struct unigram *u, const struct vocab *v, int32_t n, struct error *err);
void unigram_release(struct unigram *u);

/* Splits a piece of n > 0 bytes of UTF-8 into w->pieces, w->count of them. */
void unigram_split(const struct unigram *u, const struct vocab *v, struct unigram_work *w, const char *piece,
                   int64_t n);
void unigram_work_release(struct unigram_work *w);

#endif
