/*
 * paged_attention.cuh - the common part of both kernels of attention over pages (paged.h): arguments, the merge of
 * partial results, and a row that a warp sums up.
 *
 * A result is the triple (maximum, sum, weighted values) of a softmax over some keys.  Two results are merged by
 * scaling both to the larger maximum.  The merge is written with fmaf throughout, so that all kernels round alike.
 */
#ifndef KERNELS_CUDA_PAGED_ATTENTION_CUH
#define KERNELS_CUDA_PAGED_ATTENTION_CUH

#include "kernels/cuda/causal_rows.cuh"

/* Arguments of a call. */
template <typename T>
struct paged_args {
    causal_args<T> heads; /* how rows lie; it has no sequences */
    T *y;
    float *values; /* of partial results, [n_parts, heads, dim]: weighted values */
    float *norms;  /* [n_parts, heads, 2]: maximum in powers of two, sum */
    const int *table, *seen, *parts;
    const struct paged_unit *units;
    int *arrived; /* [queries, groups]: rows of partial results so far; null if another launch merges them */
    int64_t keys; /* of a row of the table */
    int queries;  /* rows of q */
    int tiles;    /* of rows, in the unit with most queries */
    int64_t blocks;
    float log2_scale, unscaled, cap, cap_factor; /* of scores before scaling; cap: 0 for none */
    bool padded;                                 /* some queries may see nothing */
};

/* Computes the factors of the sum so far and of the next result, and the maximum of both.  Either of them may have no
 * key: then its maximum is -infinity and its factor is 0. */
__device__ inline void merge_factors(float &most, float next, float &old, float &now)
{
    float high = fmaxf(most, next), base = high > -INFINITY ? high : 0.0f;
    old = exp2_fast(most - base), now = exp2_fast(next - base);
    most = high;
}

/* x scaled by `old` plus `next` scaled by `now`, with one rounding for the product and one for the sum. */
__device__ inline float merged(float x, float old, float next, float now)
{
    return fmaf(x, old, next * now);
}

/* A number of y.  Adding 0 makes zeros positive, whatever they were summed from. */
__device__ inline float finished(float x, float factor)
{
    return fmaf(x, factor, 0.0f);
}

/* The pages and partial results of a query. */
struct paged_query {
    int seen, pages;       /* the keys that it sees without a window, and their pages */
    int begin, end;        /* its partial results, which are none if one unit has all of its pages */
    int first_page, first; /* the first page and the first partial result that it sees */
};

template <typename T>
__device__ inline struct paged_query paged_query_of(const paged_args<T> &a, int t)
{
    struct paged_query q;
    q.seen = a.seen[t], q.begin = a.parts[t], q.end = a.parts[t + 1];
    q.pages = (q.seen + PAGE_KEYS - 1) / PAGE_KEYS;
    q.first_page = causal_first(a.heads, q.seen) / PAGE_KEYS;
    int passed = q.first_page - (q.pages - (q.end - q.begin)); /* results before that of the first page */
    q.first = q.begin + (passed > 0 ? passed : 0);
    return q;
}

/* The number of the partial result that ends with a page. */
__device__ inline int part_of(const struct paged_query &q, int page)
{
    return q.end - q.pages + page;
}

/* A row that a warp sums up: lane l has the values l, l + 32, ... of at most 32 N. */
template <int N>
struct row_sum {
    float out[N], most, sum;
};

template <int N>
__device__ inline void row_start(row_sum<N> &r)
{
    UNROLL
    for (int i = 0; i < N; i++)
        r.out[i] = 0;
    r.most = -INFINITY, r.sum = 0;
}

template <int N>
__device__ inline void row_merge(row_sum<N> &r, const row_sum<N> &next)
{
    float old, now;
    merge_factors(r.most, next.most, old, now);
    UNROLL
    for (int i = 0; i < N; i++)
        r.out[i] = merged(r.out[i], old, next.out[i], now);
    r.sum = merged(r.sum, old, next.sum, now);
}

/* Stores y of a row. */
template <int N, typename T>
__device__ inline void row_finish(const paged_args<T> &a, int64_t t, int head, const row_sum<N> &r)
{
    float factor = 1.0f / r.sum;
    T *y = a.y + (t * a.heads.heads + head) * a.heads.dim;
    UNROLL
    for (int i = 0; i < N; i++)
        if (lane_id() + i * WARP < a.heads.dim)
            y[lane_id() + i * WARP] = T(finished(r.out[i], factor));
}

/* Reads a partial result of other threads. */
template <int N, typename T>
__device__ inline void row_load(row_sum<N> &r, const paged_args<T> &a, int part, int head)
{
    int64_t row = (int64_t)part * a.heads.heads + head;
    const float *from = a.values + row * a.heads.dim;
    UNROLL
    for (int i = 0; i < N; i++)
        r.out[i] = lane_id() + i * WARP < a.heads.dim ? from[lane_id() + i * WARP] : 0.0f;
    r.most = a.norms[2 * row], r.sum = a.norms[2 * row + 1];
}

/* Computes y of one head of a query from its partial results in order.  AHEAD of them are loaded at once, since each
 * merge waits for the one before. */
template <int N, int AHEAD, typename T>
__device__ inline void merge_row(const paged_args<T> &a, int t, int head)
{
    const struct paged_query q = paged_query_of(a, t);
    row_sum<N> all, next[AHEAD];
    row_start(all);
    if (q.seen == 0)
        all.sum = 1; /* no key: y is 0 / 1 */
    for (int part = q.first; part < q.end; part += AHEAD) {
        UNROLL
        for (int i = 0; i < AHEAD; i++) {
            row_start(next[i]);
            if (part + i < q.end)
                row_load(next[i], a, part + i, head);
        }
        UNROLL
        for (int i = 0; i < AHEAD; i++)
            if (part + i < q.end)
                row_merge(all, next[i]);
    }
    row_finish(a, t, head, all);
}

#endif
