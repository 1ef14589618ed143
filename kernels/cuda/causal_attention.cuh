/*
 * causal_attention.cuh - what causal attention and its backward share: where things lie, and who sees what.
 *
 * A row is one head of one query: row r of a group is head r % each of query r / each, so that a group's heads read its
 * k and v together.
 */
#ifndef KERNELS_CUDA_CAUSAL_ATTENTION_CUH
#define KERNELS_CUDA_CAUSAL_ATTENTION_CUH

#include "kernels/cuda/cuda.cuh"

constexpr int ROW_WARPS = 4, ROW_PARTS = 8; /* a lane has at most so many numbers of a head */

/* One call. */
template <typename T>
struct causal_args {
    const T *q, *k, *v;
    const int *offsets, *key_start, *key_len, *prefix_start, *prefix_len; /* prefix_*: null without prefixes */
    int64_t tiles;                /* of the side the grid is cut by, in the longest sequence */
    int splits;                   /* parts that the keys of a tile of rows are cut into */
    int heads, groups, each, dim; /* each: heads of a group */
    float scale;
};

template <typename T>
static causal_args<T> causal_args_of(const struct tensor *q, const struct tensor *k, const struct tensor *v,
                                     const struct causal *s, int heads, int groups)
{
    causal_args<T> a = {};
    a.q = data_of<T>(q), a.k = data_of<T>(k), a.v = data_of<T>(v);
    a.offsets = data_of<int>(s->qs.offsets);
    a.key_start = data_of<int>(s->key_start), a.key_len = data_of<int>(s->key_len);
    if (s->prefix_len)
        a.prefix_start = data_of<int>(s->prefix_start), a.prefix_len = data_of<int>(s->prefix_len);
    a.heads = heads, a.groups = groups, a.each = heads / groups, a.dim = (int)(tensor_cols(q) / heads);
    a.scale = 1.0f / sqrtf((float)a.dim);
    return a;
}

/* One sequence; its query t sees the prefix and ahead + t + 1 of its own keys. */
struct packed_span {
    int64_t q_from, n_queries, key_from, n_keys, prefix_from, n_prefix, ahead;
};

template <typename T>
__device__ inline struct packed_span packed_span_of(const causal_args<T> &a, int64_t sequence)
{
    struct packed_span s;
    s.q_from = a.offsets[sequence], s.n_queries = a.offsets[sequence + 1] - s.q_from;
    s.key_from = a.key_start[sequence], s.n_keys = a.key_len[sequence];
    s.prefix_from = a.prefix_len ? a.prefix_start[sequence] : 0;
    s.n_prefix = a.prefix_len ? a.prefix_len[sequence] : 0;
    s.ahead = s.n_keys - s.n_queries;
    return s;
}

/* The row of k and v that holds a sequence's key number j, prefix first. */
__device__ inline int64_t causal_key(const struct packed_span &s, int64_t j)
{
    return j < s.n_prefix ? s.prefix_from + j : s.key_from + j - s.n_prefix;
}

/* The number in [Tq, heads] of a group's row r. */
template <typename T>
__device__ inline int64_t causal_row(const causal_args<T> &a, const struct packed_span &s, int group, int r)
{
    return (s.q_from + r / a.each) * a.heads + group * a.each + r % a.each;
}

/* x . y over a head, y anywhere. */
template <typename T>
__device__ inline float dot_row(const float *x, const T *y, int dim)
{
    float sum = 0;
    for (int d = 0; d < dim; d += PACK) {
        float v[PACK];
        load_pack(v, y + d, PACK);
        for (int i = 0; i < PACK; i++)
            sum += x[d + i] * v[i];
    }
    return sum;
}

/* The warp's numbers x[0 .. dim) = y. */
template <typename T>
__device__ inline void load_row(float *x, const T *y, int dim)
{
    for (int d = lane_id(); d < dim; d += WARP)
        x[d] = (float)y[d];
}

/* The warp's numbers y[0 .. dim) (+)= factor x, lane by lane. */
template <typename T>
__device__ inline void put_row(T *y, const float (&x)[ROW_PARTS], float factor, int dim, bool add)
{
    UNROLL
    for (int i = 0; i < ROW_PARTS; i++)
        if (lane_id() + i * WARP < dim)
            put(y + lane_id() + i * WARP, factor * x[i], add);
}

/* x += w y, lane by lane. */
template <typename T>
__device__ inline void add_row(float (&x)[ROW_PARTS], float w, const T *y, int dim)
{
    UNROLL
    for (int i = 0; i < ROW_PARTS; i++)
        if (lane_id() + i * WARP < dim)
            x[i] += w * (float)y[lane_id() + i * WARP];
}

#endif
