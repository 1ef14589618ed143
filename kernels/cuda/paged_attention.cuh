/*
 * paged_attention.cuh - what both kernels of attention over pages share: where things lie, how chunks are merged, and a
 * row that a warp sums up.
 */
#ifndef KERNELS_CUDA_PAGED_ATTENTION_CUH
#define KERNELS_CUDA_PAGED_ATTENTION_CUH

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
    int tiles;    /* of rows, in the unit with most queries, */
    int height;   /* and how many rows such a tile has; */
    int depth;    /* tiles a warp has of a page of its own, 0: no block is for so few rows */
};

/* What the results so far and those of the next chunk count for in their sum, and the maximum of both; a row's window
 * may begin behind the next chunk too. */
__device__ inline void merge_factors(float &most, float next, float &old, float &now)
{
    float high = fmaxf(most, next), base = high > -INFINITY ? high : 0.0f;
    old = exp2f(most - base), now = exp2f(next - base);
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
    float *to = partial_row(a, part, head);
    put_row(to, r.out, 1.0f, a.heads.dim, false);
    if (lane_id() == 0)
        to[a.heads.dim] = r.most, to[a.heads.dim + 1] = r.sum;
}

template <typename T>
__device__ inline void row_load(row_sum &r, const paged_args<T> &a, int64_t part, int head)
{
    const float *from = partial_row(a, part, head);
    row_start(r);
    add_row(r.out, 1.0f, from, a.heads.dim);
    r.most = from[a.heads.dim], r.sum = from[a.heads.dim + 1];
}

/* Whether a query that sees `seen` keys without a window sees any of a chunk. */
template <typename T>
__device__ inline bool sees_chunk(const causal_args<T> &a, int seen, int chunk)
{
    return seen > chunk * CHUNK_KEYS && causal_first(a, seen) < (chunk + 1) * CHUNK_KEYS;
}

#endif
