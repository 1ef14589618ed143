#include "models/text/bpe.h"

#include "models/text/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Merging: a piece into tokens. */

enum {
    PLACE_BITS = 32, /* bits of a position in a heap key; the rank is above them */
    MAX_PIECE =
        1 << 25 /* maximum bytes that are merged at once; longer pieces are cut, and each part is merged by itself */
};

struct bpe_symbol {
    int32_t id;         /* -1: merged into another symbol */
    int32_t prev, next; /* positions of the neighbours, -1 at the ends */
    int32_t end;        /* byte after the symbol; it starts at the end of the symbol before */
};

static inline uint64_t pair_hash(int32_t left, int32_t right)
{
    uint64_t h = ((uint64_t)(uint32_t)left << 32 | (uint32_t)right) * 0x9E3779B97F4A7C15u;
    return h ^ h >> 32;
}

/* Returns the rank of a pair's merge, or -1. */
static inline int32_t pair_rank(const struct bpe *b, int32_t left, int32_t right)
{
    for (uint64_t at = pair_hash(left, right) & b->mask;; at = (at + 1) & b->mask) {
        const struct bpe_slot *s = b->slots + at;
        if (s->rank < 0 || (s->left == left && s->right == right))
            return s->rank;
    }
}

static void add_symbol(struct bpe_work *w, int32_t id, int64_t end)
{
    GROW(w->symbols, w->n_symbols, w->cap_symbols);
    int32_t n = w->n_symbols++;
    w->symbols[n] = (struct bpe_symbol){ id, n - 1, n + 1, (int32_t)end };
}

static void end_unknown(const struct bpe *b, struct bpe_work *w)
{
    if (w->has_unknown)
        add_symbol(w, b->unk, w->unknown_end);
    w->has_unknown = false;
}

/* Replaces a character, n bytes of text, by the <0xNN> tokens of its bytes, if all of them exist. A pending run of
 * unknown characters is written after them, as in Hugging Face's tokenizers. */
static bool fall_back(const struct bpe *b, struct bpe_work *w, const char *text, int64_t n, int64_t start, int64_t end)
{
    for (int64_t i = 0; i < n; i++)
        if (b->fallback[(unsigned char)text[i]] < 0)
            return false;
    for (int64_t i = 0; i < n; i++) {
        bool same = end - start == n; /* same length: map byte to byte */
        add_symbol(w, b->fallback[(unsigned char)text[i]], same ? start + i + 1 : end);
    }
    return true;
}

/* Adds a character without a token, n bytes of text. */
static void add_unknown(const struct bpe *b, struct bpe_work *w, const char *text, int64_t n, int64_t start,
                        int64_t end)
{
    if ((b->byte_fallback && fall_back(b, w, text, n, start, end)) || b->unk < 0)
        return;
    if (w->has_unknown && b->fuse_unk) {
        w->unknown_end = end;
        return;
    }
    end_unknown(b, w);
    w->has_unknown = true;
    w->unknown_end = end;
}

static void add_known(const struct bpe *b, struct bpe_work *w, int32_t id, int64_t end)
{
    end_unknown(b, w);
    add_symbol(w, id, end);
}

static void reserve_symbols(struct bpe_work *w, int32_t n)
{
    if (n <= w->cap_symbols)
        return;
    w->cap_symbols = 2 * n;
    w->symbols = xrealloc(w->symbols, (size_t)w->cap_symbols * sizeof *w->symbols);
}

/* A merge removes one heap entry, adds at most two and leaves one symbol fewer. Twice the number of symbols is
 * therefore enough. */
static void reserve_heap(struct bpe_work *w)
{
    if (w->cap_heap >= 2 * (int64_t)w->n_symbols)
        return;
    w->cap_heap = 4 * (int64_t)w->n_symbols;
    w->heap = xrealloc(w->heap, (size_t)w->cap_heap * sizeof *w->heap);
}

/* Fast path for vocabularies with a token for each byte. */
static void start_all_bytes(const struct bpe *b, struct bpe_work *w, const char *piece, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        w->symbols[i] = (struct bpe_symbol){ b->singles[(unsigned char)piece[i]], i - 1, i + 1, i + 1 };
    w->n_symbols = n;
}

static void start_bytes(const struct bpe *b, struct bpe_work *w, const char *piece, int64_t n)
{
    char text[2];

    for (int64_t i = 0; i < n; i++) {
        int32_t id = b->singles[(unsigned char)piece[i]];
        if (id >= 0)
            add_known(b, w, id, i + 1);
        else
            add_unknown(b, w, text, byte_alphabet_write(&b->alphabet, text, piece + i, 1), i, i + 1);
    }
}

/* Writes a character with the model's prefix and suffix to out. Returns the length. */
static int64_t affix(char out[2 * BPE_MAX_AFFIX + 8], const char *prefix, const char *text, int64_t n,
                     const char *suffix)
{
    size_t before = strlen(prefix), behind = strlen(suffix);

    memcpy(out, prefix, before);
    memcpy(out + before, text, (size_t)n);
    memcpy(out + before + n, suffix, behind);
    return (int64_t)(before + behind) + n;
}

static void start_chars(const struct bpe *b, const struct vocab *v, struct bpe_work *w, const char *piece, int64_t n)
{
    bool plain = !*b->prefix && !*b->suffix, valid;
    char affixed[2 * BPE_MAX_AFFIX + 8];
    uint32_t cp;

    for (int64_t at = 0, end; at < n; at = end) {
        const char *text = piece + at;
        int64_t length = utf8_read(text, n - at, &cp, &valid);
        end = at + length;
        if (!plain) {
            length = affix(affixed, at > 0 ? b->prefix : "", text, length, end == n ? b->suffix : "");
            text = affixed;
        }
        int32_t id = plain && cp < 128 ? b->singles[cp] : piece_table_find_text(&b->tokens, v, text, length);
        if (id >= 0)
            add_known(b, w, id, end);
        else
            add_unknown(b, w, text, length, at, end);
    }
}

/* Queues the merge of the symbol at place with the next one, if there is one. The smallest key has the lowest rank and,
 * among equal ranks, the leftmost place. */
static void push(const struct bpe *b, struct bpe_work *w, int32_t place)
{
    int32_t next = w->symbols[place].next;
    int32_t rank = next < 0 ? -1 : pair_rank(b, w->symbols[place].id, w->symbols[next].id);

    if (rank < 0)
        return;
    uint64_t key = (uint64_t)rank << PLACE_BITS | (uint64_t)place;
    int64_t at = w->n_heap++;
    for (; at > 0 && w->heap[(at - 1) / 2] > key; at = (at - 1) / 2)
        w->heap[at] = w->heap[(at - 1) / 2];
    w->heap[at] = key;
}

static uint64_t pop(struct bpe_work *w)
{
    uint64_t min = w->heap[0], last = w->heap[--w->n_heap];
    int64_t at = 0;

    for (int64_t child; (child = 2 * at + 1) < w->n_heap; at = child) {
        child += child + 1 < w->n_heap && w->heap[child + 1] < w->heap[child];
        if (w->heap[child] >= last)
            break;
        w->heap[at] = w->heap[child];
    }
    w->heap[at] = last;
    return min;
}

/* Returns whether two neighbours still form the result of this merge. They may be another pair with the same result;
 * Hugging Face's tokenizers merges it at the turn of the pair that is gone. */
static bool still_due(const struct bpe *b, const struct bpe_symbol *left, const struct bpe_symbol *right, int32_t rank)
{
    const struct bpe_merge *m = b->merges + rank;

    if (left->id == m->left && right->id == m->right)
        return true;
    int32_t now = left->id < 0 ? -1 : pair_rank(b, left->id, right->id);
    return now >= 0 && b->merges[now].result == m->result;
}

/* Merges the symbol at place with the next one, if the merge is still due. */
static void merge(const struct bpe *b, struct bpe_work *w, int32_t place, int32_t rank)
{
    struct bpe_symbol *left = w->symbols + place, *right = left->next < 0 ? NULL : w->symbols + left->next;

    if (!right || !still_due(b, left, right, rank))
        return;
    left->id = b->merges[rank].result;
    left->end = right->end;
    left->next = right->next;
    right->id = -1;
    if (left->next >= 0)
        w->symbols[left->next].prev = place;
    if (left->prev >= 0)
        push(b, w, left->prev);
    push(b, w, place);
}

static void reserve_pieces(struct bpe_work *w, int64_t more)
{
    if (w->count + more <= w->cap_pieces)
        return;
    w->cap_pieces = 2 * (w->count + more);
    w->pieces = xrealloc(w->pieces, (size_t)w->cap_pieces * sizeof *w->pieces);
}

/* Appends the remaining symbols to the pieces. They start at byte `from` of the piece. */
static void put_symbols(struct bpe_work *w, int64_t from)
{
    struct token_piece *p;

    reserve_pieces(w, w->n_symbols);
    p = w->pieces + w->count;
    for (int32_t i = 0, last = 0; i >= 0; i = w->symbols[i].next) {
        int32_t end = w->symbols[i].end; /* two tokens may share a byte, or come out of order */
        *p++ = (struct token_piece){ w->symbols[i].id, from + (last < end ? last : end - 1), from + end };
        last = end;
    }
    w->count = p - w->pieces;
}

/* Merges the part of a piece that starts at byte `from`. */
static void merge_part(const struct bpe *b, const struct vocab *v, struct bpe_work *w, const char *piece, int64_t n,
                       int64_t from)
{
    w->n_symbols = 0;
    w->n_heap = 0;
    reserve_symbols(w, (int32_t)n);
    if (b->bytes && b->missing == 0)
        start_all_bytes(b, w, piece, (int32_t)n);
    else if (b->bytes)
        start_bytes(b, w, piece, n);
    else
        start_chars(b, v, w, piece, n);
    end_unknown(b, w);
    if (w->n_symbols == 0)
        return;
    w->symbols[w->n_symbols - 1].next = -1;
    reserve_heap(w);
    for (int32_t i = 0; i + 1 < w->n_symbols; i++)
        push(b, w, i);
    while (w->n_heap > 0) {
        uint64_t key = pop(w);
        merge(b, w, (int32_t)(key & ((UINT64_C(1) << PLACE_BITS) - 1)), (int32_t)(key >> PLACE_BITS));
    }
    put_symbols(w, from);
}

/* Splits a piece by merges alone, without looking it up as a whole. */
static void merge_all(const struct bpe *b, const struct vocab *v, struct bpe_work *w, const char *piece, int64_t n)
{
    w->count = 0;
    for (int64_t at = 0, end; at < n; at = end) {
        end = n - at > MAX_PIECE ? at + MAX_PIECE : n;
        while (end < n && utf8_continues(piece[end]))
            end--;
        merge_part(b, v, w, piece + at, end - at, at);
    }
}

/* Returns the token of a whole piece of bytes, or -1. The piece is written in the byte alphabet and hashed in one pass.
 */
static int32_t whole_bytes(const struct bpe *b, const struct vocab *v, struct bpe_work *w, const char *piece, int64_t n)
{
    uint64_t hash = piece_hash_start();
    int64_t length = 0;

    if (w->cap_text < 2 * n) {
        w->cap_text = 2 * b->tokens.longest;
        w->text = xrealloc(w->text, (size_t)w->cap_text);
    }
    for (int64_t i = 0; i < n; i++) {
        unsigned c = b->alphabet.chars[(unsigned char)piece[i]];
        if (c >= 0x80) {
            w->text[length] = (char)(0xC0 | c >> 6);
            hash = piece_hash_add(hash, w->text[length++]);
            c = 0x80 | (c & 0x3F);
        }
        w->text[length] = (char)c;
        hash = piece_hash_add(hash, w->text[length++]);
    }
    return piece_table_find(&b->tokens, v, w->text, length, hash);
}

/* Returns the token with the text of the piece if merging would end in it, else -1. */
static int32_t whole_piece(const struct bpe *b, const struct vocab *v, struct bpe_work *w, const char *piece, int64_t n)
{
    if (n > b->tokens.longest)
        return -1;
    int32_t id = b->bytes ? whole_bytes(b, v, w, piece, n) : piece_table_find_text(&b->tokens, v, piece, n);
    return id >= 0 && b->whole[id] ? id : -1;
}

void bpe_split(const struct bpe *b, const struct vocab *v, struct bpe_work *w, const char *piece, int64_t n)
{
    int32_t id = whole_piece(b, v, w, piece, n);

    if (id < 0) {
        merge_all(b, v, w, piece, n);
        return;
    }
    w->count = 0;
    reserve_pieces(w, 1);
    w->pieces[w->count++] = (struct token_piece){ id, 0, n };
}

void bpe_work_release(struct bpe_work *w)
{
    free(w->pieces);
    free(w->symbols);
    free(w->heap);
    free(w->text);
    *w = (struct bpe_work){ 0 };
}

enum { MAX_PROBES = 512 }; /* at half load, even four million pairs of a real vocabulary stay far below */

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

/* Returns the token with this text, or -1 with err set. */
static int32_t find_named(const struct bpe *b, const struct vocab *v, const char *text, int64_t length,
                          struct error *err)
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
        return error_set(err, EXIT_CODE_CHECKPOINT, "expected at most %d merges", BPE_MAX_MERGES);
    if ((m.left = find_named(b, v, left, n_left, err)) < 0 || (m.right = find_named(b, v, right, n_right, err)) < 0)
        return -1;
    if (n_right < skip)
        return error_set(err, EXIT_CODE_CHECKPOINT, "\"%.80s\" does not begin with \"%s\"", right, b->prefix);
    memcpy(text, left, (size_t)n_left);
    memcpy(text + n_left, right + skip, (size_t)(n_right - skip));
    if ((m.result = find_named(b, v, text, n_left + n_right - skip, err)) < 0)
        return -1;
    GROW(b->merges, b->n_merges, b->cap_merges);
    b->merges[b->n_merges++] = m;
    return 0;
}

/* If a pair is listed twice, the later rank counts, as in Hugging Face's tokenizers. */
static int enter(struct bpe *b, int32_t rank, struct error *err)
{
    const struct bpe_merge *m = b->merges + rank;
    uint64_t h = pair_hash(m->left, m->right);

    for (int probe = 0; probe < MAX_PROBES; probe++) {
        struct bpe_slot *s = b->slots + ((h + (uint64_t)probe) & b->mask);
        if (s->rank < 0 || (s->left == m->left && s->right == m->right)) {
            *s = (struct bpe_slot){ m->left, m->right, rank };
            return 0;
        }
    }
    return error_set(err, EXIT_CODE_CHECKPOINT, "merge %d collides with %d others", (int)rank, MAX_PROBES);
}

/* Returns whether merging the text of a token ends in the token itself. */
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
    merge_all(b, v, w, text, n);
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
