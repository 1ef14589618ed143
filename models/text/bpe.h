/*
 * bpe.h - byte-pair encoding (Sennrich et al. 2016): merges the pair of neighbours with the lowest rank, leftmost
 * first, until no pair has a merge.
 *
 * A piece consists of bytes, written in the byte alphabet, or of characters. Text without a token falls back to the
 * <0xNN> tokens of its bytes, or to the unknown token. Most words are one token. bpe_prepare finds out which tokens
 * merging would reach, so that such a word costs one lookup. Other words are merged through a heap, in time n log n for
 * n bytes.
 *
 * A struct bpe does not change after bpe_prepare, so threads may share it; each needs a bpe_work of its own. Errors
 * have EXIT_CODE_CHECKPOINT.
 */
#ifndef MODELS_TEXT_BPE_H
#define MODELS_TEXT_BPE_H

#include "models/text/byte_alphabet.h"
#include "models/text/vocab.h"

enum { BPE_MAX_MERGES = 1 << 22, BPE_MAX_AFFIX = 16 };

struct bpe_merge {
    int32_t left, right, result;
};

struct bpe_slot {
    int32_t left, right;
    int32_t rank; /* -1: free */
};

struct bpe {
    bool bytes; /* pieces consist of bytes rather than characters */
    bool ignore_merges, fuse_unk, byte_fallback;
    char prefix[BPE_MAX_AFFIX + 1]; /* prefix of characters that do not start a piece */
    char suffix[BPE_MAX_AFFIX + 1]; /* suffix of the character that ends a piece */
    int32_t unk;                    /* -1: text without a token is dropped */
    struct byte_alphabet alphabet;
    struct piece_table tokens; /* all tokens by text */
    int32_t singles[256];      /* token of each byte, or of each ASCII character; -1: none */
    int missing;               /* number of entries of singles that are -1 */
    int32_t fallback[256];     /* token <0xNN> of each byte, -1: none */
    struct bpe_merge *merges;  /* [n_merges] by rank */
    int32_t n_merges, cap_merges;
    struct bpe_slot *slots; /* hash table from pairs to ranks */
    uint64_t mask;
    bool *whole; /* [tokens] merging the token's text ends in the token */
};

/* Buffers of one encoding. Start as { 0 }. */
struct bpe_work {
    struct token_piece *pieces; /* [count] result of the last bpe_split */
    int64_t count, cap_pieces;
    struct bpe_symbol *symbols;
    int32_t n_symbols, cap_symbols;
    bool has_unknown; /* a run of characters without a token has not ended yet */
    int64_t unknown_end;
    uint64_t *heap; /* possible merges: rank and position in one number */
    int64_t n_heap, cap_heap;
    char *text; /* a piece in the byte alphabet */
    int64_t cap_text;
};

/* Enters the tokens [0, n) of v. The settings up to suffix must be set. Returns -1 if two tokens are equal. */
int bpe_tokens(struct bpe *b, const struct vocab *v, int32_t n, struct error *err);
/* Appends a merge with the next rank, given by the texts of its tokens. Returns -1 if one of them or the result is not
 * a token, or if there are too many merges. */
int bpe_add_merge(struct bpe *b, const struct vocab *v, const char *left, int64_t n_left, const char *right,
                  struct error *err);
/* Builds the remaining tables. All settings must be set. */
int bpe_prepare(struct bpe *b, const struct vocab *v, int32_t n, struct error *err);
void bpe_release(struct bpe *b);

/* Splits a piece of n > 0 bytes into w->pieces [w->count]. The result may be empty if unk is -1. */
void bpe_split(const struct bpe *b, const struct vocab *v, struct bpe_work *w, const char *piece, int64_t n);
void bpe_work_release(struct bpe_work *w);

#endif
