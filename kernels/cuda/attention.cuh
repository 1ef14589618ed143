/*
 * attention.cuh - what attention and its backward share: where things lie, tiles in shared memory, the dropout mask.
 */
#ifndef KERNELS_CUDA_ATTENTION_CUH
#define KERNELS_CUDA_ATTENTION_CUH

#include "kernels/attention_view.h"
#include "kernels/cuda/cuda.cuh"

/* One call: base pointers with the columns of q, k and v already added, strides in elements. */
template <typename T>
struct attention_args {
    const T *q, *k, *v;
    const int *q_offsets, *k_offsets, *rng;
    int64_t q_stride, kv_stride, y_stride;
    int64_t tiles; /* of the side the grid is cut by, in the longest sequence */
    int heads;
    float scale, keep_scale;
    unsigned threshold, site;
    bool drop;
};

template <typename T>
static attention_args<T> attention_args_of(struct ctx *c, const struct tensor *q, const struct tensor *kv,
                                           const struct seqs *qs, const struct seqs *ks, int heads, float p,
                                           uint32_t site)
{
    struct attention_view view = attention_view_of(q, kv, heads);
    attention_args<T> a = {};
    a.q = data_of<T>(q), a.k = data_of<T>(kv) + view.k_offset, a.v = data_of<T>(kv) + view.v_offset;
    a.q_offsets = data_of<int>(qs->offsets), a.k_offsets = data_of<int>(ks->offsets);
    a.q_stride = view.q_stride, a.kv_stride = view.kv_stride, a.y_stride = heads * view.head_dim;
    a.heads = heads;
    a.scale = 1.0f / sqrtf((float)view.head_dim), a.keep_scale = 1.0f / (1.0f - p);
    a.drop = p > 0, a.rng = a.drop ? data_of<int>(c->rng) : nullptr;
    a.threshold = rng_threshold(p), a.site = site;
    return a;
}

/* This block's work: which sequence and head, its first row in the tile side, and where both sides begin and end. */
struct attention_task {
    int64_t q_first, q_length, k_first, k_length, tile;
    int head;
};

template <typename T>
__device__ inline struct attention_task attention_task_of(const attention_args<T> &a)
{
    int64_t pair = block_id() / a.tiles, s = pair / a.heads;
    struct attention_task t;
    t.tile = block_id() % a.tiles;
    t.head = (int)(pair % a.heads);
    t.q_first = a.q_offsets[s], t.q_length = a.q_offsets[s + 1] - t.q_first;
    t.k_first = a.k_offsets[s], t.k_length = a.k_offsets[s + 1] - t.k_first;
    return t;
}

/* tile[i][:] = row i of x; zeros from `rows` on; the last column is there against bank conflicts.  For all `threads`.
 */
template <int ROWS, int WIDTH, typename T>
__device__ inline void load_rows(float (&tile)[ROWS][WIDTH], const T *x, int64_t stride, int64_t rows, int threads)
{
    constexpr int D = WIDTH - 1;
    for (int t = thread_id(); t < ROWS * D / PACK; t += threads) {
        int i = t / (D / PACK), d = t % (D / PACK) * PACK;
        float v[PACK];
        load_pack(v, x + i * stride + d, i < rows ? PACK : 0);
        for (int k = 0; k < PACK; k++)
            tile[i][d + k] = v[k];
    }
}

/* What dropout multiplies the four weights of keys 4 * quad .. of one query by; row = query * heads + head. */
template <typename T>
__device__ inline void keep_quad(float (&keep)[4], const attention_args<T> &a, int64_t row, int64_t quad)
{
    if (!a.drop) {
        for (int k = 0; k < 4; k++)
            keep[k] = 1.0f;
        return;
    }
    struct philox w = rng_quad(a.rng, a.site, (uint32_t)row, (uint32_t)quad);
    for (int k = 0; k < 4; k++)
        keep[k] = w.v[k] < a.threshold ? 0.0f : a.keep_scale;
}

/* The same for one weight. */
template <typename T>
__device__ inline float keep_one(const attention_args<T> &a, int64_t row, int64_t key)
{
    float keep[4];
    keep_quad(keep, a, row, key / 4);
    int64_t k = key % 4;
    return k == 0 ? keep[0] : k == 1 ? keep[1] : k == 2 ? keep[2] : keep[3];
}

/* Sum and maximum over the four lanes that share a row. */
__device__ inline float quad_sum(float v)
{
    v += __shfl_xor_sync(ALL_LANES, v, 1);
    return v + __shfl_xor_sync(ALL_LANES, v, 2);
}

__device__ inline float quad_max(float v)
{
    v = fmaxf(v, __shfl_xor_sync(ALL_LANES, v, 1));
    return fmaxf(v, __shfl_xor_sync(ALL_LANES, v, 2));
}

/* Runs the statement with D bound to the head size. */
#define HEAD_SWITCH(dim, ...)                                                                                          \
    do {                                                                                                               \
        CHECK((dim) == 32 || (dim) == 64 || (dim) == 128, "a head of %lld", (long long)(dim));                         \
        if ((dim) == 32) {                                                                                             \
            constexpr int D = 32;                                                                                      \
            __VA_ARGS__;                                                                                               \
        } else if ((dim) == 64) {                                                                                      \
            constexpr int D = 64;                                                                                      \
            __VA_ARGS__;                                                                                               \
        } else {                                                                                                       \
            constexpr int D = 128;                                                                                     \
            __VA_ARGS__;                                                                                               \
        }                                                                                                              \
    } while (0)

/* Rows of a tile: what fits into 48 KiB of shared memory as f32. */
__host__ __device__ constexpr int attention_tile(int head_dim)
{
    return head_dim == 128 ? 16 : 32;
}

#endif
