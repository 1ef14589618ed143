#include "models/text/unigram.h"

#include "models/text/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PROBES = 512, MAX_NODES = 1 << 22 };

/* The best segmentation of a prefix of the piece. */
struct unigram_step {
    double score;
    int64_t start; /* start of its last token, -1: none yet */
    int32_t id;
};

static uint64_t hash(uint32_t from)
{
    uint64_t h = from * 0x9E3779B97F4A7C15u;
    return h ^ h >> 32;
}

static const struct unigram_edge *find_edge(const struct unigram *u, uint32_t from)
{
    uint64_t at = hash(from) & u->mask;

    while (u->edges[at].to && u->edges[at].from != from)
        at = (at + 1) & u->mask;
    return u->edges + at;
}

/* Returns the edge, which is created if needed. NULL if it collides with too many others. */
static struct unigram_edge *make_edge(struct unigram *u, uint32_t from, int32_t *nodes)
{
    uint64_t h = hash(from);

    for (int probe = 0; probe < MAX_PROBES; probe++) {
        struct unigram_edge *e = u->edges + ((h + (uint64_t)probe) & u->mask);
        if (!e->to)
            *e = (struct unigram_edge){ from, (*nodes)++, -1 };
        if (e->from == from)
            return e;
    }
    return NULL;
}

/* Enters the path of a token into the trie. */
static int enter(struct unigram *u, const struct vocab *v, int32_t id, int32_t *nodes, struct error *err)
{
    const char *text = vocab_text(v, id);
    struct unigram_edge *e = NULL;
    uint32_t node = 0;

    for (; *text; text++, node = (uint32_t)e->to)
        if (!(e = make_edge(u, node << 8 | (unsigned char)*text, nodes)))
            return error_set(err, EXIT_CODE_CHECKPOINT, "token %d \"%.80s\" collides with %d others", (int)id,
                             vocab_text(v, id), MAX_PROBES);
    if (e)
        e->id = id;
    return 0;
}

static void find_bytes(struct unigram *u, const struct vocab *v)
{
    char token[sizeof "<0xNN>"];

    for (int i = 0; i < 256; i++) {
        int n = snprintf(token, sizeof token, "<0x%02X>", (unsigned)i);
        u->fallback[i] = piece_table_find_text(&u->tokens, v, token, n);
    }
}

int unigram_prepare(struct unigram *u, const struct vocab *v, int32_t n, struct error *err)
{
    uint64_t size = 64;
    int32_t nodes = 1;

    if (piece_table_build(&u->tokens, v, n, "", err))
        return -1;
    if (v->used > MAX_NODES)
        return error_set(err, EXIT_CODE_CHECKPOINT, "expected tokens of at most %d bytes in all, got %zu", MAX_NODES,
                         v->used);
    while (size < 2 * (uint64_t)v->used)
        size *= 2;
    u->mask = size - 1;
    u->edges = xcalloc(size, sizeof *u->edges);
    u->unk_score = u->scores[0];
    for (int32_t id = 0; id < n; id++) {
        u->unk_score = u->scores[id] < u->unk_score ? u->scores[id] : u->unk_score;
        if (enter(u, v, id, &nodes, err))
            return -1;
    }
    u->unk_score -= 10;
    find_bytes(u, v);
    return 0;
}

void unigram_release(struct unigram *u)
{
    piece_table_release(&u->tokens);
    free(u->scores);
    free(u->edges);
    *u = (struct unigram){ 0 };
}

static void improve(struct unigram_step *to, double score, int64_t start, int32_t id)
{
    if (to->start < 0 || score > to->score)
        *to = (struct unigram_step){ score, start, id };
}

static int64_t char_length(const char *piece, int64_t at, int64_t n)
{
    int64_t end = at + 1;

    while (end < n && utf8_continues(piece[end]))
        end++;
    return end - at;
}

/* Viterbi search: steps[i] becomes the best segmentation of the first i bytes. A character that no token covers by
 * itself may be the unknown token. */
static void find_best(const struct unigram *u, struct unigram_step *steps, const char *piece, int64_t n)
{
    for (int64_t i = 0; i <= n; i++)
        steps[i] = (struct unigram_step){ .start = -1 };
    for (int64_t at = 0, bytes; at < n; at += bytes) {
        double score = steps[at].score;
        uint32_t node = 0;
        bool single = false;
        bytes = char_length(piece, at, n);
        for (int64_t end = at; end < n; end++) {
            const struct unigram_edge *e = find_edge(u, node << 8 | (unsigned char)piece[end]);
            if (!e->to)
                break;
            node = (uint32_t)e->to;
            if (e->id < 0)
                continue;
            improve(steps + end + 1, score + u->scores[e->id], at, e->id);
            single |= end + 1 - at == bytes;
        }
        if (!single)
            improve(steps + at + bytes, score + u->unk_score, at, u->unk);
    }
}

static void push(struct unigram_work *w, int32_t id, int64_t start, int64_t end)
{
    GROW(w->pieces, w->count, w->cap_pieces);
    w->pieces[w->count++] = (struct token_piece){ id, start, end };
}

/* Adds a run of characters without tokens: as one token if there is one, else as its bytes in reverse order, else as
 * unk. The caller reverses all pieces at the end. */
static void push_unknown(const struct unigram *u, const struct vocab *v, struct unigram_work *w, const char *piece,
                         int64_t start, int64_t end)
{
    int32_t id = piece_table_find_text(&u->tokens, v, piece + start, end - start);
    bool bytes = id < 0 && u->byte_fallback;

    for (int64_t i = start; i < end && bytes; i++)
        bytes = u->fallback[(unsigned char)piece[i]] >= 0;
    if (!bytes)
        push(w, id < 0 ? u->unk : id, start, end);
    for (int64_t i = end - 1; i >= start && bytes; i--)
        push(w, u->fallback[(unsigned char)piece[i]], start, end);
}

void unigram_split(const struct unigram *u, const struct vocab *v, struct unigram_work *w, const char *piece, int64_t n)
{
    if (w->cap_steps <= n) {
        w->cap_steps = 2 * n + 64;
        w->steps = xrealloc(w->steps, (size_t)w->cap_steps * sizeof *w->steps);
    }
    find_best(u, w->steps, piece, n);
    w->count = 0;
    for (int64_t end = n, start; end > 0; end = start) {
        const struct unigram_step *s = w->steps + end;
        start = s->start;
        if (s->id != u->unk) {
            push(w, s->id, start, end);
            continue;
        }
        while (start > 0 && w->steps[start].id == u->unk)
            start = w->steps[start].start;
        push_unknown(u, v, w, piece, start, end);
    }
    for (int64_t i = 0, k = w->count - 1; i < k; i++, k--) {
        struct token_piece swap = w->pieces[i];
        w->pieces[i] = w->pieces[k];
        w->pieces[k] = swap;
    }
}

void unigram_work_release(struct unigram_work *w)
{
    free(w->pieces);
    free(w->steps);
    *w = (struct unigram_work){ 0 };
}
