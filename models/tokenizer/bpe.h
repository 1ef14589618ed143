/*
 * bpe.h - byte-pair encoding of bytes: the two neighbours whose merge has the lowest rank become one token, the
 * leftmost of equals first, until no two neighbours merge.
 *
 * Tokens are kept by their text in the byte alphabet.  Most words of real text are a token as a whole, so which tokens
 * merging would end in is worked out once, and such a word costs one look-up.  The others are merged through a heap,
 * so that a word of a million bytes takes a million times the logarithm and not the square.
 */
#ifndef MODELS_TOKENIZER_BPE_H
#define MODELS_TOKENIZER_BPE_H

#include "models/tokenizer/vocab.h"
#include "models/unicode/byte_alphabet.h"

enum { BPE_MAX_MERGES = 1 << 22 };

struct bpe_merge {
    int32_t left, right, result;
};

struct bpe_slot {
    int32_t left, right;
    int32_t rank; /* -1: free */
};

struct bpe {
    struct byte_alphabet alphabet;
    struct piece_table tokens; /* every token by its text */
    int32_t bytes[256];        /* the token of each byte */
    struct bpe_merge *merges;  /* by rank */
    int32_t n_merges, cap_merges;
    struct bpe_slot *slots; /* hash table from pairs to ranks */
    uint64_t mask;
    bool *whole; /* [tokens] a piece with this token's text is this token */
    bool ignore_merges;
};

/* Memory of one encoding; start it as { 0 }. */
struct bpe_work {
    struct token_piece *pieces; /* what the newest bpe_split found */
    int64_t count, cap_pieces;
    struct bpe_symbol *symbols;
    int64_t cap_symbols;
    uint64_t *heap; /* merges that may be due, rank and place in one number */
    int64_t n_heap, cap_heap;
    char *text; /* a piece in the byte alphabet */
    int64_t cap_text;
};

/* Enters the tokens [0, n) of v.  -1 with EXIT_CODE_CHECKPOINT when two are the same or a byte has no token. */
int bpe_tokens(struct bpe *b, const struct vocab *v, int32_t n, struct error *err);
/* Appends the merge of the next rank, its tokens given by their texts.  -1 with EXIT_CODE_CHECKPOINT when one of them,
 * or what they make, is no token, or when there are too many. */
int bpe_add_merge(struct bpe *b, const struct vocab *v, const char *left, int64_t n_left, const char *right,
                  struct error *err);
/* Builds the rest; b is ready then.  ignore_merges is set already. */
int bpe_prepare(struct bpe *b, const struct vocab *v, int32_t n, struct error *err);
void bpe_release(struct bpe *b);

/* Splits a piece of n > 0 bytes into w->pieces, w->count of them. */
void bpe_split(const struct bpe *b, const struct vocab *v, struct bpe_work *w, const char *bytes, int64_t n);
void bpe_work_release(struct bpe_work *w);

#endif
