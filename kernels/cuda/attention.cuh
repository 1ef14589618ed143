/*
 * attention.cuh - the common part of attention and its backward: layout, tiles in shared memory, dropout mask.
 *
 * Sequences are packed one after the other.  A block works on one head of one sequence, and on one tile of its queries
 * or keys.
 */
#ifndef KERNELS_CUDA_ATTENTION_CUH
#define KERNELS_CUDA_ATTENTION_CUH

#include "kernels/attention_view.h"
#include "kernels/cuda/cuda.cuh"

/* Arguments of a call.  The columns of q, k and v are already added to the pointers.  Strides are in elements. */
template <typename T>
struct attention_args {
    const T *q, *k, *v;
    const float *bias; /* [heads, 2 reach + 1], or NULL */
    const int *q_offsets, *k_offsets, *rng;
    int64_t q_stride, kv_stride, y_stride;
    int64_t tiles;           /* blocks that share a head of a sequence */
    int heads, dim, reach;   /* of the tensors; */
    int first_head, n_heads; /* of this launch */
    float scale, keep_scale;
    unsigned threshold, site;
    bool drop;
};

template <typename T>
static attention_args<T> attention_args_of(struct ctx *c, const struct tensor *q, const struct tensor *kv,
                                           const struct seqs *qs, const struct seqs *ks,
                                           const struct attention_form *form, uint32_t site)
{
    struct attention_view view = attention_view_of(q, kv, form->heads);
    attention_args<T> a = {};
    a.q = data_of<T>(q), a.k = data_of<T>(kv) + view.k_offset, a.v = data_of<T>(kv) + view.v_offset;
    a.q_offsets = data_of<int>(qs->offsets), a.k_offsets = data_of<int>(ks->offsets);
    a.q_stride = view.q_stride, a.kv_stride = view.kv_stride, a.y_stride = form->heads * view.head_dim;
    a.heads = a.n_heads = form->heads, a.dim = (int)view.head_dim;
    a.bias = data_of<float>(form->bias), a.reach = form->bias ? (int)(tensor_cols(form->bias) / 2) : 0;
    a.scale = form->scale, a.keep_scale = 1.0f / (1.0f - form->p);
    a.drop = form->p > 0, a.rng = a.drop ? data_of<int>(c->rng) : nullptr;
    a.threshold = rng_threshold(form->p), a.site = site;
    return a;
}

/* The work of a block: sequence, head, its number among the blocks that share them, and the ranges of both sides. */
struct attention_task {
    int q_first, q_length, k_first, k_length, sequence, tile, head;
};

/* pair: sequence * n_heads + head, an int or an int64_t, whose division takes ten times the instructions. */
template <typename T, typename N>
__device__ inline struct attention_task attention_task_of(const attention_args<T> &a, N pair, int tile)
{
    N s = pair / a.n_heads;
    struct attention_task t;
    t.sequence = (int)s, t.tile = tile;
    t.head = a.first_head + (int)(pair % a.n_heads);
    t.q_first = a.q_offsets[s], t.q_length = a.q_offsets[s + 1] - t.q_first;
    t.k_first = a.k_offsets[s], t.k_length = a.k_offsets[s + 1] - t.k_first;
    return t;
}

/* The work of this block.  Tiles vary fastest in the grid, then heads, then sequences: neighbouring blocks read the
 * same keys. */
template <typename T>
__device__ inline struct attention_task attention_task_of(const attention_args<T> &a)
{
    return attention_task_of(a, block_id() / a.tiles, (int)(block_id() % a.tiles));
}

/* The cell of the bias table for a key `ahead` places behind its query (negative: before it). */
template <typename T>
__device__ inline int bias_cell(const attention_args<T> &a, int ahead)
{
    return a.reach + (ahead < -a.reach ? -a.reach : ahead > a.reach ? a.reach : ahead);
}

/* The score of a dot product: scaled, and with the bias of this head (NULL for none). */
template <typename T>
__device__ inline float score_of(float dot, const attention_args<T> &a, const float *bias, int ahead)
{
    return a.scale * dot + (bias ? bias[bias_cell(a, ahead)] : 0.0f);
}

/* The biases of one head, or NULL. */
template <typename T>
__device__ inline const float *bias_of(const attention_args<T> &a, int head)
{
    return a.bias ? a.bias + (int64_t)head * (2 * a.reach + 1) : nullptr;
}

/* tile[i][:] = row i of x in f32, with zeros from row `rows` and from column `dim` on.  The last column of a tile is
 * padding against bank conflicts.  All `threads` threads call it. */
template <int ROWS, int WIDTH, typename T>
__device__ inline void load_rows(float (&tile)[ROWS][WIDTH], const T *x, int64_t stride, int64_t rows, int dim,
                                 int threads)
{
    constexpr int D = WIDTH - 1;
    for (int t = thread_id(); t < ROWS * D / PACK; t += threads) {
        int i = t / (D / PACK), d = t % (D / PACK) * PACK;
        float v[PACK];
        load_pack(v, x + i * stride + d, i < rows ? dim - d : 0);
        for (int k = 0; k < PACK; k++)
            tile[i][d + k] = v[k];
    }
}

/* The bits of four keys from 4 quad on: 1 if dropout keeps the weight of the key for one query. row = query * heads +
 * head.  One call of Philox gives the numbers of four keys, in forward and backward alike. */
template <typename T>
__device__ inline unsigned kept_keys(const attention_args<T> &a, int64_t row, int64_t quad)
{
    if (!a.drop)
        return 15;
    struct philox w = rng_quad(a.rng, a.site, (uint32_t)row, (uint32_t)quad);
    unsigned bits = 0;
    for (int k = 0; k < 4; k++)
        bits |= (w.v[k] < a.threshold ? 0u : 1u) << k;
    return bits;
}

/* The factor of dropout for one weight; bit 0 of `kept` says whether the weight stays. */
template <typename T>
__device__ inline float keep_factor(const attention_args<T> &a, unsigned kept)
{
    return kept & 1 ? a.keep_scale : 0.0f;
}

/* Runs a statement with D bound to the width that heads are padded to. */
#define HEAD_SWITCH(dim, ...)                                                                                          \
    do {                                                                                                               \
        CHECK((dim) > 0 && (dim) <= HEAD_DIM_MAX, "a head of %lld", (long long)(dim));                                 \
        if ((dim) <= 32) {                                                                                             \
            constexpr int D = 32;                                                                                      \
            __VA_ARGS__;                                                                                               \
        } else if ((dim) <= 64) {                                                                                      \
            constexpr int D = 64;                                                                                      \
            __VA_ARGS__;                                                                                               \
        } else if ((dim) <= 128) {                                                                                     \
            constexpr int D = 128;                                                                                     \
            __VA_ARGS__;                                                                                               \
        } else {                                                                                                       \
            constexpr int D = 256;                                                                                     \
            __VA_ARGS__;                                                                                               \
        }                                                                                                              \
    } while (0)

/* The rows of a tile of f32.  Two tiles fit into 48 KiB of shared memory. */
__host__ __device__ constexpr int attention_tile(int head_dim)
{
    return head_dim > 128 ? 16 : 32;
}

/* The row of a tile that a lane's n-th number belongs to.  Four lanes share the rows of a tile.  Each takes four
 * neighbouring rows at a time, as many as one call of kept_keys covers. */
__device__ inline int quad_row(int n)
{
    return 4 * (thread_id() % 4 + n / 4 * 4) + n % 4;
}

/* dot[n] = x . tile[quad_row(n)]. */
template <int TILE, int WIDTH>
__device__ inline void quad_dots(float (&dot)[TILE / 4], const float *x, int dim, const float (&tile)[TILE][WIDTH])
{
    UNROLL
    for (int n = 0; n < TILE / 4; n++)
        dot[n] = 0;
    ROLLED
    for (int d = 0; d < dim; d += PACK) {
        float v[PACK];
        load_pack(v, x + d, dim - d);
        UNROLL
        for (int n = 0; n < TILE / 4; n++)
            for (int e = 0; e < PACK; e++)
                dot[n] += v[e] * tile[quad_row(n)][d + e];
    }
}

/* out[d] += sum_j w[j] tile[j][4 d + lane % 4].  The four lanes of a row share its columns, so together they read four
 * neighbouring numbers. */
template <int TILE, int COLUMNS, int WIDTH>
__device__ inline void quad_add(float (&out)[COLUMNS], const float (&w)[TILE + 1], const float (&tile)[TILE][WIDTH])
{
    UNROLL_4
    for (int j = 0; j < TILE; j++) {
        UNROLL
        for (int d = 0; d < COLUMNS; d++)
            out[d] += w[j] * tile[j][4 * d + thread_id() % 4];
    }
}

#endif
