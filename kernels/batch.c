#include "kernels/batch.h"

#include "kernels/cpu/row.h"
#include "kernels/device.h"

#include <stdlib.h>
#include <string.h>

static struct tensor *put(struct ctx *c, enum dtype dtype, int ndim, const int64_t *shape, const void *x)
{
    struct tensor *t = tensor_input(c, dtype, ndim, shape);

    if (ctx_uploads(c))
        device_upload(c->dev, t, x);
    return t;
}

struct tensor *batch_i32(struct ctx *c, const int32_t *x, int64_t n)
{
    return put(c, I32, 1, &n, x);
}

struct tensor *batch_f32(struct ctx *c, const float *x, int64_t rows, int64_t cols, enum dtype dtype)
{
    int64_t shape[] = { rows, cols };

    CHECK(dtype != I32, "batch_f32 makes float tensors");
    if (dtype == F32 || !ctx_uploads(c))
        return put(c, dtype, 2, shape, x);
    int64_t n = rows * cols;
    struct tensor rounded = { .dtype = BF16, .ndim = 2, .shape = { rows, cols }, .data = xmalloc((size_t)n * 2) };
#pragma omp parallel for schedule(static) if (n > PARALLEL_MIN)
    for (int64_t at = 0; at < n; at += ROW_BLOCK)
        row_store((struct destination){ &rounded, false }, at, x + at, run_length(at, n));
    struct tensor *t = put(c, dtype, 2, shape, rounded.data);
    free(rounded.data);
    return t;
}

struct seqs batch_seqs(struct ctx *c, const int32_t *lengths, int64_t n)
{
    int32_t *offsets = xmalloc((size_t)(n + 1) * sizeof *offsets);
    struct seqs s = { .n = n };
    int64_t at = 0;

    offsets[0] = 0;
    for (int64_t i = 0; i < n; i++) {
        CHECK(lengths[i] >= 0, "sequence %lld has length %d", (long long)i, lengths[i]);
        at += lengths[i];
        CHECK(at <= INT32_MAX, "%lld rows", (long long)at);
        offsets[i + 1] = (int32_t)at;
        if (lengths[i] > s.max_len)
            s.max_len = lengths[i];
    }
    ctx_note(c, s.max_len);
    s.offsets = batch_i32(c, offsets, n + 1);
    free(offsets);
    return s;
}

/* start[rows + 1] and order[n]: the positions of each row in ids, ascending; a counting sort. */
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
    for (int64_t r = rows; r > 0; r--) /* each start moved to the next one's place */
        start[r] = start[r - 1];
    start[0] = 0;
}

struct index batch_index(struct ctx *c, const int32_t *ids, int64_t n, int64_t rows)
{
    CHECK(n <= INT32_MAX && rows < INT32_MAX, "%lld ids of %lld rows", (long long)n, (long long)rows);
    int32_t *buf = xmalloc((size_t)(rows + 1 + 3 * n + 1) * sizeof *buf);
    int32_t *by_row = buf, *order = by_row + rows + 1, *uniq = order + n, *start = uniq + n;
    int64_t distinct = 0;

    sort_by_row(by_row, order, ids, n, rows);
    for (int64_t r = 0; r < rows; r++)
        if (by_row[r + 1] > by_row[r]) {
            uniq[distinct] = (int32_t)r;
            start[distinct++] = by_row[r];
        }
    for (int64_t u = distinct; u < n; u++)
        uniq[u] = -1;
    for (int64_t u = distinct; u <= n; u++)
        start[u] = (int32_t)n;
    struct index i = { batch_i32(c, ids, n), batch_i32(c, uniq, n), batch_i32(c, start, n + 1), batch_i32(c, order, n),
                       n };
    free(buf);
    return i;
}

static int64_t max_run(const int32_t *start, int64_t n)
{
    int64_t max = 0;

    for (int64_t i = 0; i < n; i++)
        if (start[i + 1] - start[i] > max)
            max = start[i + 1] - start[i];
    return max;
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
    int64_t in = max_run(offsets, n_nodes), out = max_run(out_offsets, n_nodes);
    ctx_note(c, in > out ? in : out);
    struct graph g = { batch_i32(c, offsets, n_nodes + 1),
                       batch_i32(c, sources, n_edges),
                       batch_i32(c, types, n_edges),
                       batch_i32(c, targets, n_edges),
                       batch_i32(c, out_offsets, n_nodes + 1),
                       batch_i32(c, out_edges, n_edges),
                       n_nodes,
                       n_edges,
                       in > out ? in : out };
    free(buf);
    return g;
}
