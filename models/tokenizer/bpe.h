/*
 * bpe.h - byte-pair encoding: the two neighbours whose merge has the lowest rank become one token, the leftmost of
 * equals first, until no two neighbours merge.
 *
 * A piece is bytes, whose tokens are written in the byte alphabet, or characters.  What has no token falls back to the
 * tokens of its bytes, <0xNN>, or to the unknown token.  Most words of real text are a token as a whole, so which
 * tokens merging would end in is worked out once, and such a word costs one look-up.  The others are merged through a
 * heap, so that a word of a million bytes takes a million times the logarithm and not the square.
 */
#ifndef MODELS_TOKENIZER_BPE_H
#define MODELS_TOKENIZER_BPE_H

#include "models/tokenizer/vocab.h"
#include "models/unicode/byte_alphabet.h"

enum { BPE_MAX_MERGES = 1 << 22, BPE_MAX_AFFIX = 16 };

struct bpe_merge {
    int32_t left, right, result;
};

struct bpe_slot {
    int32_t left, right;
    int32_t rank; /* -1: free */
};

struct bpe {
    bool bytes; /* pieces are bytes */
    bool ignore_merges, fuse_unk, byte_fallback;
    char prefix[BPE_MAX_AFFIX + 1]; /* of a character that does not begin a piece */
    char suffix[BPE_MAX_AFFIX + 1]; /* of the one that ends it */
    int32_t unk;                    /* -1: what has no token is left out */
    struct byte_alphabet alphabet;
    struct piece_table tokens; /* every token by its text */
    int32_t singles[256];      /* the token of each byte, or of each ASCII character; -1 */
    int missing;               /* how many of these are -1 */
    int32_t fallback[256];     /* <0xNN> of each byte, -1 */
    struct bpe_merge *merges;  /* by rank */
    int32_t n_merges, cap_merges;
    struct bpe_slot *slots; /* hash table from pairs to ranks */
    uint64_t mask;
    bool *whole; /* [tokens] a piece with this token's text is this token */
};

/* Memory of one encoding; start it as { 0 }. */
struct bpe_work {
    struct token_piece *pieces; /* what the newest bpe_split found */
    int64_t count, cap_pieces;
    struct bpe_symbol *symbols;
    int32_t n_symbols, cap_symbols;
    bool has_unknown; /* a run of characters without a token waits for its end */
    int64_t unknown_end;
    uint64_t *heap; /* merges that may be due, rank and place in one number */
    int64_t n_heap, cap_heap;
    char *text; /* a piece in the byte alphabet */
    int64_t cap_text;
};

/* Enters the tokens [0, n) of v; the settings up to suffix are there.  -1 with EXIT_CODE_CHECKPOINT when two are the
 * same. */
int bpe_tokens(struct bpe *b, const struct vocab *v, int32_t n, struct error *err);
/* Appends the merge of the next rank, its tokens given by their texts.  -1 with EXIT_CODE_CHECKPOINT when one of them,
 * or what they make, is no token, or when there are too many. */
int bpe_add_merge(struct bpe *b, const struct vocab *v, const char *left, int64_t n_left, const char *right,
                  struct error *err);
/* Builds the rest; b is ready then.  All settings are there. */
int bpe_prepare(struct bpe *b, const struct vocab *v, int32_t n, struct error *err);
void bpe_release(struct bpe *b);

/* Splits a piece of n > 0 bytes into w->pieces, w->count of them: none when all of it is left out. */
void bpe_split(const struct bpe *b, const struct vocab *v, struct bpe_work *w, const char *piece, int64_t n);
void bpe_work_release(struct bpe_work *w);

#endif
