/*
 * vocab.h - the tokens of a model by id and by text.
 *
 * All texts lie in one block of memory. A piece table maps texts to ids by a hash that is computed byte by byte.
 * Hashing a word yields the hashes of all its prefixes, which makes longest-match-first search cheap. Errors have
 * EXIT_CODE_CHECKPOINT.
 */
#ifndef MODELS_TEXT_VOCAB_H
#define MODELS_TEXT_VOCAB_H

#include "kernels/base.h"

enum {
    VOCAB_MAX_TOKENS = 1 << 20,
    VOCAB_MAX_TOKEN = 1000 /* maximum bytes of a token */
};

struct vocab {
    char *texts; /* zero-terminated, one after the other */
    uint32_t *starts;
    int32_t count, cap;
    size_t used, cap_texts;
};

/* A token and the bytes [start, end) of the word that it covers. */
struct token_piece {
    int32_t id;
    int64_t start, end;
};

/* Appends a token. Returns -1 if it is too long or the vocabulary is full. */
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
    uint32_t tag; /* high half of the hash, which avoids most comparisons */
    int32_t id;   /* -1: free */
};

struct piece_table {
    struct piece_slot *slots;
    uint64_t mask;
    int32_t skip;    /* length of the prefix that keys omit (the continuation prefix) */
    int32_t longest; /* maximum length of a key in bytes */
};

/* Enters those of the tokens [0, n) of v that start with prefix; the key is the text after it. Returns -1 if two tokens
 * are equal, or if so many collide that the vocabulary must be an attack. */
int piece_table_build(struct piece_table *t, const struct vocab *v, int32_t n, const char *prefix, struct error *err);
/* Returns the token with this key, or -1. hash is computed by piece_hash_add. */
int32_t piece_table_find(const struct piece_table *t, const struct vocab *v, const char *key, int64_t length,
                         uint64_t hash);
/* piece_table_find for a key whose hash is not known. */
int32_t piece_table_find_text(const struct piece_table *t, const struct vocab *v, const char *key, int64_t length);
void piece_table_release(struct piece_table *t);

#endif
