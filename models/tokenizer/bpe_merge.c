/* Part of bpe.h: a piece into tokens. */
#include "models/tokenizer/bpe.h"
#include "models/unicode/utf8.h"

#include <stdlib.h>
#include <string.h>

enum {
    PLACE_BITS = 32,    /* of a heap key; the rank is above them */
    MAX_PIECE = 1 << 25 /* bytes; of a longer one each part is merged by itself */
};

struct bpe_symbol {
    int32_t id;         /* -1: merged into another */
    int32_t prev, next; /* places, -1 at the ends */
    int32_t end;        /* the byte behind it; it starts where the one before ends */
};

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

/* The tokens of its bytes for a character, n bytes of text, when all of them have one.  A run of unknown characters
 * that waits goes behind them, as in tokenizers. */
static bool fall_back(const struct bpe *b, struct bpe_work *w, const char *text, int64_t n, int64_t start, int64_t end)
{
    for (int64_t i = 0; i < n; i++)
        if (b->fallback[(unsigned char)text[i]] < 0)
            return false;
    for (int64_t i = 0; i < n; i++) {
        bool same = end - start == n; /* byte by byte, then */
        add_symbol(w, b->fallback[(unsigned char)text[i]], same ? start + i + 1 : end);
    }
    return true;
}

/* A character without a token, n bytes of text. */
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

/* A merge takes one from the heap, brings two in at most and leaves one symbol less. */
static void reserve_heap(struct bpe_work *w)
{
    if (w->cap_heap >= 2 * (int64_t)w->n_symbols)
        return;
    w->cap_heap = 4 * (int64_t)w->n_symbols;
    w->heap = xrealloc(w->heap, (size_t)w->cap_heap * sizeof *w->heap);
}

/* Of a vocabulary that has them all. */
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

/* A character with what a model writes before and behind it; the length. */
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

static void push(const struct bpe *b, struct bpe_work *w, int32_t place)
{
    int32_t next = w->symbols[place].next;
    int32_t rank = next < 0 ? -1 : bpe_rank(b, w->symbols[place].id, w->symbols[next].id);

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

/* Do two neighbours still make what a merge of this rank makes?  Another pair may have come to make the same, and
 * tokenizers then merges it in the turn of the one that is gone. */
static bool still_due(const struct bpe *b, const struct bpe_symbol *left, const struct bpe_symbol *right, int32_t rank)
{
    const struct bpe_merge *m = b->merges + rank;

    if (left->id == m->left && right->id == m->right)
        return true;
    int32_t now = left->id < 0 ? -1 : bpe_rank(b, left->id, right->id);
    return now >= 0 && b->merges[now].result == m->result;
}

/* Joins the symbol at place and its next one when they are still due. */
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

/* What is left of the symbols, which begin at byte `from` of the piece. */
static void put_symbols(struct bpe_work *w, int64_t from)
{
    struct token_piece *p;

    reserve_pieces(w, w->n_symbols);
    p = w->pieces + w->count;
    for (int32_t i = 0, last = 0; i >= 0; i = w->symbols[i].next) {
        int32_t end = w->symbols[i].end; /* two tokens may stand for one byte, and one come before its turn */
        *p++ = (struct token_piece){ w->symbols[i].id, from + (last < end ? last : end - 1), from + end };
        last = end;
    }
    w->count = p - w->pieces;
}

/* Merges a piece that begins at byte `from` of a longer one. */
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

void bpe_merge_all(const struct bpe *b, const struct vocab *v, struct bpe_work *w, const char *piece, int64_t n)
{
    w->count = 0;
    for (int64_t at = 0, end; at < n; at = end) {
        end = n - at > MAX_PIECE ? at + MAX_PIECE : n;
        while (end < n && utf8_continues(piece[end]))
            end--;
        merge_part(b, v, w, piece + at, end - at, at);
    }
}

/* The token of a piece of bytes as a whole, -1: written in the alphabet and hashed at once. */
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

/* The token whose text a piece is when merging would end in it, else -1. */
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
        bpe_merge_all(b, v, w, piece, n);
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
