#include "models/text/vocab.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_PROBES = 512 }; /* at half load, even a million keys of a real vocabulary stay far below */

int vocab_add(struct vocab *v, const char *text, struct error *err)
{
    size_t length = strlen(text);

    if (v->count == VOCAB_MAX_TOKENS)
        return error_set(err, EXIT_CODE_CHECKPOINT, "expected at most %d tokens", VOCAB_MAX_TOKENS);
    if (length > VOCAB_MAX_TOKEN)
        return error_set(err, EXIT_CODE_CHECKPOINT, "token %d: expected at most %d bytes, got %zu", (int)v->count,
                         VOCAB_MAX_TOKEN, length);
    GROW(v->starts, v->count, v->cap);
    if (v->cap_texts - v->used <= length) {
        v->cap_texts = (v->cap_texts + length) * 2 + 4096;
        v->texts = xrealloc(v->texts, v->cap_texts);
    }
    v->starts[v->count++] = (uint32_t)v->used;
    memcpy(v->texts + v->used, text, length + 1);
    v->used += length + 1;
    return 0;
}

void vocab_release(struct vocab *v)
{
    free(v->texts);
    free(v->starts);
    *v = (struct vocab){ 0 };
}

/* Mixes the bits, because the low bits of FNV alone are weak. */
static uint64_t finish(uint64_t h)
{
    h = (h ^ h >> 32) * 0x9E3779B97F4A7C15u;
    return h ^ h >> 29;
}

static bool same(const struct piece_table *t, const struct vocab *v, int32_t id, const char *key, int64_t length)
{
    return vocab_length(v, id) - t->skip == length && memcmp(vocab_text(v, id) + t->skip, key, (size_t)length) == 0;
}

static int insert(struct piece_table *t, const struct vocab *v, int32_t id, struct error *err)
{
    const char *key = vocab_text(v, id) + t->skip;
    int32_t length = vocab_length(v, id) - t->skip;
    uint64_t h = piece_hash_start();

    for (int32_t i = 0; i < length; i++)
        h = piece_hash_add(h, key[i]);
    h = finish(h);
    if (length > t->longest)
        t->longest = length;
    for (int probe = 0; probe < MAX_PROBES; probe++) {
        struct piece_slot *s = t->slots + ((h + (uint64_t)probe) & t->mask);
        if (s->id < 0) {
            *s = (struct piece_slot){ (uint32_t)(h >> 32), id };
            return 0;
        }
        if (same(t, v, s->id, key, length))
            return error_set(err, EXIT_CODE_CHECKPOINT, "tokens %d and %d are both \"%.80s\"", (int)s->id, (int)id,
                             vocab_text(v, id));
    }
    return error_set(err, EXIT_CODE_CHECKPOINT, "token %d \"%.80s\" collides with %d others", (int)id,
                     vocab_text(v, id), MAX_PROBES);
}

int piece_table_build(struct piece_table *t, const struct vocab *v, int32_t n, const char *prefix, struct error *err)
{
    size_t skip = strlen(prefix);
    uint64_t size = 64;

    while (size < 2 * (uint64_t)n)
        size *= 2;
    *t = (struct piece_table){ .mask = size - 1, .skip = (int32_t)skip };
    t->slots = xmalloc(size * sizeof *t->slots);
    for (uint64_t i = 0; i < size; i++)
        t->slots[i] = (struct piece_slot){ .id = -1 };
    for (int32_t id = 0; id < n; id++)
        if (strncmp(vocab_text(v, id), prefix, skip) == 0 && insert(t, v, id, err))
            return -1;
    return 0;
}

int32_t piece_table_find(const struct piece_table *t, const struct vocab *v, const char *key, int64_t length,
                         uint64_t hash)
{
    uint64_t h = finish(hash);

    for (uint64_t at = h & t->mask;; at = (at + 1) & t->mask) {
        const struct piece_slot *s = t->slots + at;
        if (s->id < 0)
            return -1;
        if (s->tag == (uint32_t)(h >> 32) && same(t, v, s->id, key, length))
            return s->id;
    }
}

int32_t piece_table_find_text(const struct piece_table *t, const struct vocab *v, const char *key, int64_t length)
{
    uint64_t hash = piece_hash_start();
    for (int64_t i = 0; i < length; i++)
        hash = piece_hash_add(hash, key[i]);
    return piece_table_find(t, v, key, length, hash);
}

void piece_table_release(struct piece_table *t)
{
    free(t->slots);
    *t = (struct piece_table){ 0 };
}
