#include "kernels/cuda/causal_mma.cuh"
#include "kernels/cuda/causal_rows.cuh"

/* One call. */
template <typename T>
struct paged_args {
    causal_args<T> heads; /* how rows lie; it has no sequences */
    T *y;
    float *partial; /* [n_parts, heads, dim + 2]: weighted values, maximum in powers of two, sum */
    const int *table, *seen, *parts;
    const struct paged_unit *units;
    int64_t keys; /* of a row of the table */
    int queries;  /* rows of q */
    int tiles;    /* of rows, in the unit with most queries */
};

/* What the results so far and those of the next chunk count for in their sum, and the maximum of both. */
__device__ inline void merge_factors(float &most, float next, float &old, float &now)
{
    float high = fmaxf(most, next);
    old = exp2f(most - high), now = exp2f(next - high);
    most = high;
}

__device__ inline float merged(float x, float old, float next, float now)
{
    return fmaf(x, old, next * now);
}

/* y of a row; zeros are positive, whatever they were summed from. */
__device__ inline float finished(float x, float factor)
{
    return fmaf(x, factor, 0.0f);
}

template <typename T>
__device__ inline float *partial_row(const paged_args<T> &a, int64_t part, int head)
{
    return a.partial + (part * a.heads.heads + head) * (a.heads.dim + 2);
}

/* A row that a warp sums up, lane by lane. */
struct row_sum {
    float out[ROW_PARTS], most, sum;
};

__device__ inline void row_start(row_sum &r)
{
    UNROLL
    for (int i = 0; i < ROW_PARTS; i++)
        r.out[i] = 0;
    r.most = -INFINITY, r.sum = 0;
}

__device__ inline void row_merge(row_sum &r, const row_sum &next)
{
    float old, now;
    merge_factors(r.most, next.most, old, now);
    UNROLL
    for (int i = 0; i < ROW_PARTS; i++)
        r.out[i] = merged(r.out[i], old, next.out[i], now);
    r.sum = merged(r.sum, old, next.sum, now);
}

template <typename T>
__device__ inline void row_finish(const paged_args<T> &a, int64_t t, int head, const row_sum &r)
{
    float factor = 1.0f / r.sum;
    UNROLL
    for (int i = 0; i < ROW_PARTS; i++)
        if (lane_id() + i * WARP < a.heads.dim)
            a.y[(t * a.heads.heads + head) * a.heads.dim + lane_id() + i * WARP] = T(finished(r.out[i], factor));
}

template <typename T>
__device__ inline void row_store(const paged_args<T> &a, int64_t part, int head, const row_sum &r)
{
    int dim = a.heads.dim;
    float *to = partial_row(a, part, head);
    put_row(to, r.out, 1.0f, dim, false);
    if (lane_id() == 0)
        to[dim] = r.most, to[dim + 1] = r.sum;
}

template <typename T>
__device__ inline void row_load(row_sum &r, const paged_args<T> &a, int64_t part, int head)
{
    int dim = a.heads.dim;
    const float *from = partial_row(a, part, head);
    row_start(r);
    add_row(r.out, 1.0f, from, dim);
    r.most = from[dim], r.sum = from[dim + 1];
}

/* One head of a query that sees `seen` keys, whose rows are listed: the results of those in [from, to). */
template <typename T>
__device__ inline void row_chunk(row_sum &r, const paged_args<T> &a, const float *q, float *weight, const int *rows,
                                 int head, int seen, int from, int to)
{
    const causal_args<T> &h = a.heads;
    int group = head / h.all;
    row_start(r);
    for (int j0 = from; j0 < to; j0 += WARP) {
        int j = j0 + lane_id();
        float score = -INFINITY;
        if (j < to)
            score = LOG2_E * (h.scale * dot_row(q, h.k + ((int64_t)rows[j] * h.groups + group) * h.dim, h.dim) +
                              causal_bias(h, head, seen - 1 - j));
        float top = fmaxf(r.most, warp_max(score)), shrink = exp2f(r.most - top), p = exp2f(score - top);
        r.sum = fmaf(r.sum, shrink, warp_sum(p));
        r.most = top;
        weight[lane_id()] = p;
        __syncwarp();
        UNROLL
        for (int i = 0; i < ROW_PARTS; i++)
            r.out[i] *= shrink;
        for (int i = 0; i < WARP && j0 + i < to; i++)
            add_row(r.out, weight[i], h.v + ((int64_t)rows[j0 + i] * h.groups + group) * h.dim, h.dim);
        __syncwarp(); /* the weights have been used */
    }
}

/*
 * s_ij = scale q_i . k_j + bias;  y_i = sum_j softmax_j(s_ij) v_j, over the keys that i sees; or what a chunk of them
 * gives
 *
 * Grid     one warp per head and query of a unit, the rows of a unit in one run of blocks.
 * Memory   k and v once per row, mostly from cache; a lane reads a key of its own, then all lanes one value.
 * Numbers  running maximum and sum in f32 within a chunk, chunks merged in order.
 * Serves   f32.
 */
template <typename T>
__global__ void __launch_bounds__(ROW_WARPS *WARP, 4) paged_attention_kernel(paged_args<T> a)
{
    __shared__ float queries[ROW_WARPS][ROW_PARTS * WARP], weights[ROW_WARPS][WARP];
    const struct paged_unit unit = a.units[block_id() / a.tiles];
    int number = (int)(block_id() % a.tiles) * ROW_WARPS + warp_id(), heads = a.heads.heads;
    int t = unit.first + number / heads, head = number % heads;
    if (number / heads >= unit.queries)
        return; /* the whole warp */
    int seen = a.seen[t], first = a.parts[t];
    const int *rows = a.table + unit.row * a.keys;
    bool whole = first == a.parts[t + 1];
    row_sum all, chunk;
    load_row(queries[warp_id()], a.heads.q + ((int64_t)t * heads + head) * a.heads.dim, a.heads.dim);
    __syncwarp();
    row_start(all);
    for (int i = unit.chunk; i < unit.chunk + unit.chunks && i * CHUNK_KEYS < seen; i++) {
        int from = i * CHUNK_KEYS, to = seen < from + CHUNK_KEYS ? seen : from + CHUNK_KEYS;
        row_chunk(chunk, a, queries[warp_id()], weights[warp_id()], rows, head, seen, from, to);
        if (whole)
            row_merge(all, chunk);
        else
            row_store(a, first + i, head, chunk);
    }
    if (whole && seen > unit.chunk * CHUNK_KEYS)
        row_finish(a, t, head, all);
}

/*
 * y of queries whose chunks are partial results; 0 of queries that see nothing
 *
 * Grid     one warp per head and query.
 * Memory   reads partial results once, bandwidth bound.
 * Numbers  f32, chunks in order.
 */
template <typename T>
__global__ void __launch_bounds__(ROW_WARPS *WARP) paged_merge_kernel(paged_args<T> a)
{
    int64_t t = grid_warp() / a.heads.heads;
    int head = (int)(grid_warp() % a.heads.heads);
    if (t >= a.queries)
        return;
    int seen = a.seen[t], first = a.parts[t], parts = a.parts[t + 1] - first;
    row_sum all, chunk;
    row_start(all);
    if (seen == 0)
        all.sum = 1;
    for (int i = 0; i < parts && i * CHUNK_KEYS < seen; i++) {
        row_load(chunk, a, first + i, head);
        row_merge(all, chunk);
    }
    if (seen == 0 || parts > 0)
        row_finish(a, t, head, all);
}

template <typename T>
static void attend_units(struct ctx *c, paged_args<T> a, const struct paged *p)
{
    a.tiles = (int)((p->max_queries * a.heads.heads + ROW_WARPS - 1) / ROW_WARPS);
    LAUNCH(paged_attention_kernel<T>, blocks_for(p->n_units * a.tiles, 1), ROW_WARPS * WARP, 0, cuda_stream(c), a);
}

template <typename T>
static void paged_attention(struct ctx *c, paged_args<T> a, const struct paged *p)
{
    a.table = data_of<int>(p->table), a.seen = data_of<int>(p->seen), a.parts = data_of<int>(p->parts);
    a.units = (const struct paged_unit *)data_of<int>(p->units), a.keys = p->table->shape[1];
    if (p->n_units > 0 && p->max_queries > 0)
        attend_units(c, a, p);
    LAUNCH(paged_merge_kernel<T>, blocks_for((int64_t)a.queries * a.heads.heads, ROW_WARPS), ROW_WARPS * WARP, 0,
           cuda_stream(c), a);
}

extern "C" void cuda_paged_attention(struct ctx *c, struct tensor *y, const struct tensor *partial,
                                     const struct tensor *q, const struct tensor *k, const struct tensor *v,
                                     const struct paged *p, const struct attention_form *form)
{
    if (tensor_size(y) == 0)
        return;
    DTYPE_SWITCH(q->dtype, paged_args<T> a = {}; a.heads = causal_args_of_form<T>(q, k, v, form); a.y = data_of<T>(y);
                 a.partial = data_of<float>(partial); a.queries = (int)q->shape[0]; paged_attention(c, a, p));
}
