/*
 * vocab.h - the tokens of a model by id and by text.
 *
 * Texts lie one behind the other in one block.  A piece table finds ids by the hash of a text, and the hash of every
 * start of a word is a by-product of hashing the word, which is what makes longest-match-first cheap.
 */
#ifndef MODELS_TOKENIZER_VOCAB_H
#define MODELS_TOKENIZER_VOCAB_H

#include "kernels/base.h"

enum {
    VOCAB_MAX_TOKENS = 1 << 20,
    VOCAB_MAX_TOKEN = 1000 /* bytes of one token */
};

struct vocab {
    char *texts; /* each with its NUL */
    uint32_t *starts;
    int32_t count, cap;
    size_t used, cap_texts;
};

/* A token and the bytes [start, end) of the word it stands for. */
struct token_piece {
    int32_t id;
    int64_t start, end;
};

/* Appends a token.  -1 with EXIT_CODE_CHECKPOINT when it is too long or when the vocabulary is full. */
int vocab_add(struct vocab *v, const char *text, struct error *err);
void vocab_release(struct vocab *v);

static inline const char *vocab_text(const struct vocab *v, int32_t id)
{
    return v->texts + v->starts[id];
}

static inline int32_t vocab_length(const struct vocab *v, int32_t id)
{
    return (int32_t)((id + 1 < v->count ? v->starts[id + 1] : (uint32_t)v->used) - v->starts[id] - 1);
}

static inline uint64_t piece_hash_start(void)
{
    return 0xCBF29CE484222325u;
}

static inline uint64_t piece_hash_add(uint64_t h, char byte)
{
    return (h ^ (unsigned char)byte) * 0x100000001B3u;
}

struct piece_slot {
    uint32_t tag; /* high half of the hash, to spare most comparisons */
    int32_t id;   /* -1: free */
};

struct piece_table {
    struct piece_slot *slots;
    uint64_t mask;
    int32_t skip;    /* bytes of a token that its key leaves out: the length of the continuation prefix */
    int32_t longest; /* bytes of the longest key */
};

/* Enters tokens [0, n) of v that start with prefix under what follows it.  Fails, EXIT_CODE_CHECKPOINT, when two tokens
 * are the same, or when so many collide that somebody must have chosen them to. */
int piece_table_build(struct piece_table *t, const struct vocab *v, int32_t n, const char *prefix, struct error *err);
/* The token whose key is these bytes, hash being their sum by piece_hash_add; -1 when there is none. */
int32_t piece_table_find(const struct piece_table *t, const struct vocab *v, const char *key, int64_t length,
                         uint64_t hash);
/* The same for a key of which no hash is known. */
int32_t piece_table_find_text(const struct piece_table *t, const struct vocab *v, const char *key, int64_t length);
void piece_table_release(struct piece_table *t);

#endif
