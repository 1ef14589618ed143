#include "models/tokenizer/bpe.h"

#include <stdlib.h>
#include <string.h>

enum {
    MAX_PROBES = 512, /* at half load even four million honest pairs stay far below */
    PLACE_BITS = 42   /* of a heap key; the rank is above them */
};

struct bpe_symbol {
    int32_t id;
    int64_t prev, next; /* places, -1 at the ends; a symbol's place is the byte it starts at */
};

int bpe_tokens(struct bpe *b, const struct vocab *v, int32_t n, struct error *err)
{
    char text[2];

    byte_alphabet_init(&b->alphabet);
    if (piece_table_build(&b->tokens, v, n, "", err))
        return -1;
    for (int i = 0; i < 256; i++) {
        char byte = (char)i;
        int64_t length = byte_alphabet_write(&b->alphabet, text, &byte, 1);
        b->bytes[i] = piece_table_find_text(&b->tokens, v, text, length);
        if (b->bytes[i] < 0)
            return error_set(err, EXIT_CODE_CHECKPOINT, "byte 0x%02X has no token \"%.*s\"", (unsigned)i, (int)length,
                             text);
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
    int64_t n_right = (int64_t)strlen(right);

    if (b->n_merges == BPE_MAX_MERGES)
        return error_set(err, EXIT_CODE_CHECKPOINT, "more than %d merges", BPE_MAX_MERGES);
    if ((m.left = named(b, v, left, n_left, err)) < 0 || (m.right = named(b, v, right, n_right, err)) < 0)
        return -1;
    memcpy(text, left, (size_t)n_left);
    memcpy(text + n_left, right, (size_t)n_right);
    if ((m.result = named(b, v, text, n_left + n_right, err)) < 0)
        return -1;
    GROW(b->merges, b->n_merges, b->cap_merges);
    b->merges[b->n_merges++] = m;
    return 0;
}

static uint64_t hash_pair(int32_t left, int32_t right)
{
    uint64_t h = ((uint64_t)(uint32_t)left << 32 | (uint32_t)right) * 0x9E3779B97F4A7C15u;
    return h ^ h >> 32;
}

/* A pair that is listed twice has the later rank, as in tokenizers. */
static int enter(struct bpe *b, int32_t rank, struct error *err)
{
    const struct bpe_merge *m = b->merges + rank;
    uint64_t h = hash_pair(m->left, m->right);

    for (int probe = 0; probe < MAX_PROBES; probe++) {
        struct bpe_slot *s = b->slots + ((h + (uint64_t)probe) & b->mask);
        if (s->rank < 0 || (s->left == m->left && s->right == m->right)) {
            *s = (struct bpe_slot){ m->left, m->right, rank };
            return 0;
        }
    }
    return error_set(err, EXIT_CODE_CHECKPOINT, "merge %d collides with %d others", (int)rank, MAX_PROBES);
}

/* The rank of a pair's merge, -1 when it has none. */
static int32_t rank_of(const struct bpe *b, int32_t left, int32_t right)
{
    for (uint64_t at = hash_pair(left, right) & b->mask;; at = (at + 1) & b->mask) {
        const struct bpe_slot *s = b->slots + at;
        if (s->rank < 0 || (s->left == left && s->right == right))
            return s->rank;
    }
}

static void push(const struct bpe *b, struct bpe_work *w, int64_t place)
{
    int64_t next = w->symbols[place].next;
    int32_t rank = next < 0 ? -1 : rank_of(b, w->symbols[place].id, w->symbols[next].id);

    if (rank < 0)
        return;
    uint64_t key = (uint64_t)rank << PLACE_BITS | (uint64_t)place;
    GROW(w->heap, w->n_heap, w->cap_heap);
    int64_t at = w->n_heap++;
    for (; at > 0 && w->heap[(at - 1) / 2] > key; at = (at - 1) / 2)
        w->heap[at] = w->heap[(at - 1) / 2];
    w->heap[at] = key;
}

static uint64_t pop(struct bpe_work *w)
{
    uint64_t least = w->heap[0], last = w->heap[--w->n_heap];
    int64_t at = 0;

    for (int64_t child; (child = 2 * at + 1) < w->n_heap; at = child) {
        child += child + 1 < w->n_heap && w->heap[child + 1] < w->heap[child];
        if (w->heap[child] >= last)
            break;
        w->heap[at] = w->heap[child];
    }
    w->heap[at] = last;
    return least;
}

/* Joins the symbol at place and its next one when they still are the pair of this rank. */
static void merge(const struct bpe *b, struct bpe_work *w, int64_t place, int32_t rank)
{
    const struct bpe_merge *m = b->merges + rank;
    struct bpe_symbol *left = w->symbols + place, *right = left->next < 0 ? NULL : w->symbols + left->next;

    if (!right || left->id != m->left || right->id != m->right)
        return;
    left->id = m->result;
    right->id = -1;
    left->next = right->next;
    if (left->next >= 0)
        w->symbols[left->next].prev = place;
    if (left->prev >= 0)
        push(b, w, left->prev);
    push(b, w, place);
}

static void put_piece(struct bpe_work *w, int32_t id, int64_t end)
{
    GROW(w->pieces, w->count, w->cap_pieces);
    w->pieces[w->count++] = (struct token_piece){ id, end };
}

static void merge_all(const struct bpe *b, struct bpe_work *w, const char *bytes, int64_t n)
{
    if (n > w->cap_symbols) {
        w->cap_symbols = 2 * n;
        w->symbols = xrealloc(w->symbols, (size_t)w->cap_symbols * sizeof *w->symbols);
    }
    for (int64_t i = 0; i < n; i++)
        w->symbols[i] = (struct bpe_symbol){ b->bytes[(unsigned char)bytes[i]], i - 1, i + 1 < n ? i + 1 : -1 };
    w->n_heap = 0;
    for (int64_t i = 0; i < n; i++)
        push(b, w, i);
    while (w->n_heap > 0) {
        uint64_t key = pop(w);
        merge(b, w, (int64_t)(key & ((UINT64_C(1) << PLACE_BITS) - 1)), (int32_t)(key >> PLACE_BITS));
    }
    for (int64_t i = 0; i >= 0; i = w->symbols[i].next)
        put_piece(w, w->symbols[i].id, w->symbols[i].next < 0 ? n : w->symbols[i].next);
}

/* The token whose text a piece is when merging would end in it, else -1. */
static int32_t whole_piece(const struct bpe *b, const struct vocab *v, struct bpe_work *w, const char *bytes, int64_t n)
{
    if (n > b->tokens.longest)
        return -1;
    if (w->cap_text < 2 * n) {
        w->cap_text = 2 * b->tokens.longest;
        w->text = xrealloc(w->text, (size_t)w->cap_text);
    }
    int64_t length = byte_alphabet_write(&b->alphabet, w->text, bytes, n);
    int32_t id = piece_table_find_text(&b->tokens, v, w->text, length);
    return id >= 0 && b->whole[id] ? id : -1;
}

void bpe_split(const struct bpe *b, const struct vocab *v, struct bpe_work *w, const char *bytes, int64_t n)
{
    int32_t id = whole_piece(b, v, w, bytes, n);

    w->count = 0;
    if (id >= 0)
        put_piece(w, id, n);
    else
        merge_all(b, w, bytes, n);
}

/* Is the token what merging its own bytes ends in? */
static bool merges_to_itself(const struct bpe *b, const struct vocab *v, struct bpe_work *w, int32_t id)
{
    char bytes[VOCAB_MAX_TOKEN];
    int64_t n = byte_alphabet_read(&b->alphabet, bytes, vocab_text(v, id), vocab_length(v, id));

    if (n <= 0)
        return false;
    w->count = 0;
    merge_all(b, w, bytes, n);
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

void bpe_work_release(struct bpe_work *w)
{
    free(w->pieces);
    free(w->symbols);
    free(w->heap);
    free(w->text);
    *w = (struct bpe_work){ 0 };
}
