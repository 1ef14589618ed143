#include "models/tokenizer/bpe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PROBES = 512 }; /* at half load even four million honest pairs stay far below */

int bpe_tokens(struct bpe *b, const struct vocab *v, int32_t n, struct error *err)
{
    char text[8];

    byte_alphabet_init(&b->alphabet);
    if (piece_table_build(&b->tokens, v, n, "", err))
        return -1;
    for (int i = 0; i < 256; i++) {
        char byte = (char)i;
        int64_t length = 1;
        if (b->bytes)
            length = byte_alphabet_write(&b->alphabet, text, &byte, 1);
        else
            text[0] = byte;
        b->singles[i] = b->bytes || i < 128 ? piece_table_find_text(&b->tokens, v, text, length) : -1;
        b->missing += b->singles[i] < 0;
        snprintf(text, sizeof text, "<0x%02X>", (unsigned)i);
        b->fallback[i] = piece_table_find_text(&b->tokens, v, text, 6);
    }
    return 0;
}

/* The token of a text that a merge names. */
static int32_t named(const struct bpe *b, const struct vocab *v, const char *text, int64_t length, struct error *err)
{
    int32_t id = piece_table_find_text(&b->tokens, v, text, length);
    if (id < 0 || length == 0)
        return error_set(err, EXIT_CODE_CHECKPOINT, "\"%.*s\" is not in the vocabulary",
                         (int)(length < 80 ? length : 80), text);
    return id;
}

int bpe_add_merge(struct bpe *b, const struct vocab *v, const char *left, int64_t n_left, const char *right,
                  struct error *err)
{
    char text[2 * VOCAB_MAX_TOKEN];
    struct bpe_merge m = { 0 };
    int64_t n_right = (int64_t)strlen(right), skip = (int64_t)strlen(b->prefix);

    if (b->n_merges == BPE_MAX_MERGES)
        return error_set(err, EXIT_CODE_CHECKPOINT, "more than %d merges", BPE_MAX_MERGES);
    if ((m.left = named(b, v, left, n_left, err)) < 0 || (m.right = named(b, v, right, n_right, err)) < 0)
        return -1;
    if (n_right < skip)
        return error_set(err, EXIT_CODE_CHECKPOINT, "\"%.80s\" does not begin with \"%s\"", right, b->prefix);
    memcpy(text, left, (size_t)n_left);
    memcpy(text + n_left, right + skip, (size_t)(n_right - skip));
    if ((m.result = named(b, v, text, n_left + n_right - skip, err)) < 0)
        return -1;
    GROW(b->merges, b->n_merges, b->cap_merges);
    b->merges[b->n_merges++] = m;
    return 0;
}

/* A pair that is listed twice has the later rank, as in tokenizers. */
static int enter(struct bpe *b, int32_t rank, struct error *err)
{
    const struct bpe_merge *m = b->merges + rank;
    uint64_t h = bpe_hash(m->left, m->right);

    for (int probe = 0; probe < MAX_PROBES; probe++) {
        struct bpe_slot *s = b->slots + ((h + (uint64_t)probe) & b->mask);
        if (s->rank < 0 || (s->left == m->left && s->right == m->right)) {
            *s = (struct bpe_slot){ m->left, m->right, rank };
            return 0;
        }
    }
    return error_set(err, EXIT_CODE_CHECKPOINT, "merge %d collides with %d others", (int)rank, MAX_PROBES);
}

/* Is the token what merging its own text ends in? */
static bool merges_to_itself(const struct bpe *b, const struct vocab *v, struct bpe_work *w, int32_t id)
{
    char bytes[VOCAB_MAX_TOKEN];
    const char *text = vocab_text(v, id);
    int64_t n = vocab_length(v, id);

    if (b->bytes) {
        n = byte_alphabet_read(&b->alphabet, bytes, text, n);
        text = bytes;
    }
    if (n <= 0)
        return false;
    bpe_merge_all(b, v, w, text, n);
    return w->count == 1 && w->pieces[0].id == id;
}

int bpe_prepare(struct bpe *b, const struct vocab *v, int32_t n, struct error *err)
{
    struct bpe_work w = { 0 };
    uint64_t size = 64;

    while (size < 2 * (uint64_t)b->n_merges)
        size *= 2;
    b->mask = size - 1;
    b->slots = xmalloc(size * sizeof *b->slots);
    for (uint64_t i = 0; i < size; i++)
        b->slots[i] = (struct bpe_slot){ .rank = -1 };
    for (int32_t rank = 0; rank < b->n_merges; rank++)
        if (enter(b, rank, err))
            return -1;
    b->whole = xcalloc((size_t)n, sizeof *b->whole);
    for (int32_t id = 0; id < n; id++)
        b->whole[id] = b->ignore_merges || merges_to_itself(b, v, &w, id);
    bpe_work_release(&w);
    return 0;
}

void bpe_release(struct bpe *b)
{
    piece_table_release(&b->tokens);
    free(b->merges);
    free(b->slots);
    free(b->whole);
    *b = (struct bpe){ 0 };
}
