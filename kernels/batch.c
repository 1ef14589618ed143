#include "kernels/batch.h"

#include "kernels/cpu/row.h"
#include "kernels/device.h"

#include <stdlib.h>
#include <string.h>

/* An input and the host memory of its numbers.  room is NULL in walks that only allocate the input. */
struct put {
    struct tensor *t;
    char *room;
};

/* Returns host memory of the feed, valid until the next call.  The feed grows by whole blocks, like the arena. */
static char *room_in_feed(struct feed *f, size_t at, size_t bytes)
{
    size_t end = (at + bytes + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN;

    if (end > f->size) {
        f->bytes = xrealloc(f->bytes, 2 * end);
        memset(f->bytes + f->size, 0, 2 * end - f->size);
        f->size = 2 * end;
    }
    return f->bytes + at;
}

static struct put put_begin(struct ctx *c, enum dtype dtype, int ndim, const int64_t *shape)
{
    struct put p = { .t = tensor_input(c, dtype, ndim, shape) };
    size_t bytes = tensor_bytes(p.t);

    if (c->feed)
        p.room = room_in_feed(c->feed, (size_t)((char *)p.t->data - c->input->base), bytes);
    else if (ctx_uploads(c))
        p.room = xmalloc(bytes);
    return p;
}

static struct tensor *put_end(struct ctx *c, struct put p)
{
    if (!c->feed && p.room) {
        device_upload(c->dev, p.t, p.room);
        free(p.room);
    }
    return p.t;
}

static int32_t *words(const struct put *p)
{
    return (int32_t *)(void *)p->room;
}

static struct put put_i32(struct ctx *c, int64_t n)
{
    return put_begin(c, I32, 1, &n);
}

struct tensor *batch_i32(struct ctx *c, const int32_t *x, int64_t n)
{
    struct put p = put_i32(c, n);

    if (p.room && n)
        memcpy(p.room, x, (size_t)n * sizeof *x);
    return put_end(c, p);
}

static void round_to_bf16(char *room, const float *x, int64_t n)
{
    struct tensor t = { .dtype = BF16, .ndim = 1, .shape = { n }, .data = room };

#pragma omp parallel for schedule(static) if (n > PARALLEL_MIN)
    for (int64_t at = 0; at < n; at += ROW_BLOCK)
        row_store((struct destination){ &t, false }, at, x + at, run_length(at, n));
}

struct tensor *batch_f32_padded(struct ctx *c, const float *x, int64_t rows, int64_t padded, int64_t cols,
                                enum dtype dtype)
{
    struct put p = put_begin(c, dtype, 2, (int64_t[]){ padded, cols });
    int64_t n = rows * cols;
    size_t bytes = (size_t)n * dtype_size(dtype);

    CHECK(dtype != I32 && padded >= rows, "%lld of %lld rows of type %s", (long long)rows, (long long)padded,
          dtype_name(dtype));
    if (p.room && dtype == BF16)
        round_to_bf16(p.room, x, n);
    else if (p.room && n)
        memcpy(p.room, x, bytes);
    if (p.room)
        memset(p.room + bytes, 0, tensor_bytes(p.t) - bytes);
    return put_end(c, p);
}

struct tensor *batch_f32(struct ctx *c, const float *x, int64_t rows, int64_t cols, enum dtype dtype)
{
    return batch_f32_padded(c, x, rows, rows, cols, dtype);
}

int64_t batch_bucket(int64_t n, int steps)
{
    int64_t unit = 1;

    while (n > 2 * steps * unit)
        unit *= 2;
    return (n + unit - 1) / unit * unit;
}

int64_t batch_bound(struct ctx *c, int64_t n, int steps)
{
    n = c->buckets ? batch_bucket(n, steps) : n;
    ctx_note(c, n);
    return n;
}

static struct seqs put_seqs(struct ctx *c, const int32_t *lengths, int64_t n, int64_t *longest)
{
    struct put p = put_i32(c, n + 1);
    int64_t at = 0;

    *longest = 0;
    if (p.room)
        words(&p)[0] = 0;
    for (int64_t i = 0; i < n; i++) {
        CHECK(lengths[i] >= 0, "sequence %lld has length %d", (long long)i, lengths[i]);
        at += lengths[i];
        CHECK(at <= INT32_MAX, "%lld rows", (long long)at);
        if (p.room)
            words(&p)[i + 1] = (int32_t)at;
        if (lengths[i] > *longest)
            *longest = lengths[i];
    }
    return (struct seqs){ put_end(c, p), n, at };
}

struct seqs batch_seqs(struct ctx *c, const int32_t *lengths, int64_t n)
{
    int64_t longest;
    struct seqs s = put_seqs(c, lengths, n, &longest);

    s.max_len = batch_bound(c, longest, 1);
    return s;
}

struct seqs batch_segments(struct ctx *c, const int32_t *lengths, int64_t n)
{
    int64_t longest;
    return put_seqs(c, lengths, n, &longest);
}

/* Sorts the positions 0 .. n - 1 by the number at each, ascending, into `order`.  The radix sort is stable. */
static void sort_positions(int32_t *order, const int32_t *ids, int64_t n, int64_t rows)
{
    enum { DIGIT = 8, DIGITS = 1 << DIGIT };
    int32_t *other = xmalloc((size_t)n * sizeof *other), *from = other, *to = order;

    for (int64_t i = 0; i < n; i++)
        order[i] = (int32_t)i;
    for (int shift = 0; (rows - 1) >> shift > 0; shift += DIGIT) {
        int32_t at[DIGITS + 1] = { 0 }, *swap = from;
        from = to;
        to = swap;
        for (int64_t i = 0; i < n; i++)
            at[(ids[i] >> shift & (DIGITS - 1)) + 1]++;
        for (int d = 0; d < DIGITS; d++)
            at[d + 1] += at[d];
        for (int64_t i = 0; i < n; i++)
            to[at[ids[from[i]] >> shift & (DIGITS - 1)]++] = from[i];
    }
    if (to != order)
        memcpy(order, to, (size_t)n * sizeof *order);
    free(other);
}

/* Fills the lists of an index that a backward needs, see struct index. */
static void group_by_row(int32_t *uniq, int32_t *start, int32_t *order, const int32_t *ids, int64_t n, int64_t rows)
{
    int64_t distinct = 0;

    sort_positions(order, ids, n, rows);
    for (int64_t k = 0; k < n; k++)
        if (k == 0 || ids[order[k]] != ids[order[k - 1]]) {
            uniq[distinct] = ids[order[k]];
            start[distinct++] = (int32_t)k;
        }
    for (int64_t u = distinct; u < n; u++)
        uniq[u] = -1;
    for (int64_t u = distinct; u <= n; u++)
        start[u] = (int32_t)n;
}

struct index batch_places(struct ctx *c, const int32_t *ids, int64_t n, int64_t rows)
{
    CHECK(n <= INT32_MAX && rows < INT32_MAX, "%lld ids of %lld rows", (long long)n, (long long)rows);
    struct index i = { .ids = batch_i32(c, ids, n), .n = n };
    int32_t *uniq = xmalloc((size_t)(3 * n + 1) * sizeof *uniq), *order = uniq + n, *start = order + n;

    for (int64_t k = 0; k < n; k++)
        CHECK(ids[k] >= 0 && ids[k] < rows, "row %d of %lld", ids[k], (long long)rows);
    if (ctx_uploads(c))
        group_by_row(uniq, start, order, ids, n, rows);
    i.uniq = batch_i32(c, uniq, n);
    i.start = batch_i32(c, start, n + 1);
    i.order = batch_i32(c, order, n);
    free(uniq);
    return i;
}

struct index batch_index(struct ctx *c, const int32_t *ids, int64_t n, int64_t rows)
{
    if (c->recording)
        return batch_places(c, ids, n, rows);
    for (int64_t k = 0; k < n; k++)
        CHECK(ids[k] >= 0 && ids[k] < rows, "row %d of %lld", ids[k], (long long)rows);
    return (struct index){ .ids = batch_i32(c, ids, n), .n = n };
}

/* Fills start[rows + 1] and order[n], the positions of each row in ids, ascending, by a counting sort. */
static void sort_by_row(int32_t *start, int32_t *order, const int32_t *ids, int64_t n, int64_t rows)
{
    memset(start, 0, (size_t)(rows + 1) * sizeof *start);
    for (int64_t i = 0; i < n; i++) {
        CHECK(ids[i] >= 0 && ids[i] < rows, "row %d of %lld", ids[i], (long long)rows);
        start[ids[i] + 1]++;
    }
    for (int64_t r = 0; r < rows; r++)
        start[r + 1] += start[r];
    for (int64_t i = 0; i < n; i++)
        order[start[ids[i]]++] = (int32_t)i;
    for (int64_t r = rows; r > 0; r--) /* each start has moved to the place of the next one */
        start[r] = start[r - 1];
    start[0] = 0;
}

struct graph batch_graph(struct ctx *c, const struct edge *edges, int64_t n_edges, int64_t n_nodes)
{
    CHECK(n_edges <= INT32_MAX && n_nodes < INT32_MAX, "%lld edges, %lld nodes", (long long)n_edges,
          (long long)n_nodes);
    int32_t *buf = xmalloc((size_t)(2 * (n_nodes + 1) + 6 * n_edges) * sizeof *buf);
    int32_t *offsets = buf, *out_offsets = offsets + n_nodes + 1, *order = out_offsets + n_nodes + 1;
    int32_t *ends = order + n_edges, *sources = ends + n_edges, *types = sources + n_edges, *targets = types + n_edges;
    int32_t *out_edges = targets + n_edges;

    for (int64_t e = 0; e < n_edges; e++)
        ends[e] = edges[e].target;
    sort_by_row(offsets, order, ends, n_edges, n_nodes);
    for (int64_t e = 0; e < n_edges; e++) {
        const struct edge *edge = &edges[order[e]];
        sources[e] = edge->source;
        types[e] = edge->type;
        targets[e] = edge->target;
    }
    sort_by_row(out_offsets, out_edges, sources, n_edges, n_nodes);
    struct graph g = { batch_i32(c, offsets, n_nodes + 1),
                       batch_i32(c, sources, n_edges),
                       batch_i32(c, types, n_edges),
                       batch_i32(c, targets, n_edges),
                       batch_i32(c, out_offsets, n_nodes + 1),
                       batch_i32(c, out_edges, n_edges),
                       n_nodes,
                       n_edges };
    free(buf);
    return g;
}
