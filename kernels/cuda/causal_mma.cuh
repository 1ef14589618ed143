/*
 * causal_mma.cuh - tiles of causal attention on tensor cores: a warp holds 16 rows of a group, a tile of keys or rows
 * lies in shared memory.  Heads are as long as the tile, the rest zeros, so any length up to D works.
 */
#ifndef KERNELS_CUDA_CAUSAL_MMA_CUH
#define KERNELS_CUDA_CAUSAL_MMA_CUH

#include "kernels/cuda/attention_mma.cuh"
#include "kernels/cuda/causal_attention.cuh"

constexpr int CAUSAL_MMA_DIM = 128; /* the longest head */

/* Runs the statement with D bound to the length of the tiles. */
#define CAUSAL_SWITCH(dim, ...)                                                                                        \
    do {                                                                                                               \
        if ((dim) <= 64) {                                                                                             \
            constexpr int D = 64;                                                                                      \
            __VA_ARGS__;                                                                                               \
        } else {                                                                                                       \
            constexpr int D = CAUSAL_MMA_DIM;                                                                          \
            __VA_ARGS__;                                                                                               \
        }                                                                                                              \
    } while (0)

/* Keys have positions: those of the prefix are negative, a sequence's own start at 0; query t sees all up to ahead + t.
 * A tile is of the prefix or of the own keys; `end` queries see some of it. */
struct key_tile {
    int64_t row; /* the first in k */
    int n, at;   /* how many, and the position of the first */
};

template <int KEYS>
__device__ inline int key_tiles(const struct packed_span &s, int64_t end)
{
    return (int)((s.n_prefix + KEYS - 1) / KEYS + (s.ahead + end + KEYS - 1) / KEYS);
}

template <int KEYS>
__device__ inline struct key_tile key_tile_of(const struct packed_span &s, int i, int64_t end)
{
    int before = (int)((s.n_prefix + KEYS - 1) / KEYS), from = KEYS * (i < before ? i : i - before);
    int left = (int)(i < before ? s.n_prefix : s.ahead + end) - from;
    struct key_tile t;
    t.row = (i < before ? s.prefix_from : s.key_from) + from;
    t.n = left < KEYS ? left : KEYS;
    t.at = i < before ? from - (int)s.n_prefix : from;
    return t;
}

/* Starts copying a tile of one group of k or v. */
template <int KEYS, int WIDTH>
__device__ inline void copy_keys(bf16 (&tile)[KEYS][WIDTH], const bf16 *x, const causal_args<bf16> &a,
                                 const struct key_tile &t, int group)
{
    copy_tile(tile, x + (t.row * a.groups + group) * a.dim, (int64_t)a.groups * a.dim, t.n, a.dim);
}

/* Starts copying rows [first, first + ROWS) of a group of q or dy, zeros from `rows` on. */
template <int ROWS, int WIDTH>
__device__ inline void copy_rows(bf16 (&tile)[ROWS][WIDTH], const bf16 *x, const causal_args<bf16> &a,
                                 const struct packed_span &s, int group, int first, int rows)
{
    constexpr int PIECES = (WIDTH - TILE_PAD) / 8; /* of 16 bytes */
    for (int t = thread_id(); t < ROWS * PIECES; t += block_threads()) {
        int i = t / PIECES, d = t % PIECES * 8;
        bool there = first + i < rows && d < a.dim;
        copy_async(&tile[i][d], there ? x + causal_row(a, s, group, first + i) * a.dim + d : x, there ? 16 : 0);
    }
}

/* This lane's two rows of the warp's 16 from `first` on: their numbers in [Tq, heads], -1 from `rows` on. */
__device__ inline void lane_rows(int64_t (&row)[2], const causal_args<bf16> &a, const struct packed_span &s, int group,
                                 int first, int rows)
{
    UNROLL
    for (int half = 0; half < 2; half++) {
        int r = first + lane_id() / 4 + 8 * half;
        row[half] = r < rows ? causal_row(a, s, group, r) : -1;
    }
}

/* The rows as the left factor of a product. */
template <int D>
__device__ inline void load_rows_left(unsigned (&left)[D / 16][4], const bf16 *x, const int64_t (&row)[2], int dim)
{
    UNROLL
    for (int k = 0; k < 4 * (D / 16); k++) {
        int d = 16 * (k / 4) + lane_id() % 4 * 2 + k % 4 / 2 * 8;
        int64_t at = k % 2 ? row[1] : row[0];
        left[k / 4][k % 4] = at >= 0 && d < dim ? *(const unsigned *)(x + at * dim + d) : 0u;
    }
}

__device__ inline void put_pair(bf16 *p, float low, float high, bool add)
{
    unsigned *both = (unsigned *)p;
    if (add) {
        low += f32_bits(*both << 16);
        high += f32_bits(*both & 0xffff0000u);
    }
    *both = bf16_pair(low, high);
}

__device__ inline void put_pair(float *p, float low, float high, bool add)
{
    put(p, low, add);
    put(p + 1, high, add);
}

/* x[row] (+)= factor[half] out; rows below 0 stay. */
template <int D, typename T>
__device__ inline void put_rows(T *x, const int64_t (&row)[2], int dim, const float (&out)[D / 8][4],
                                const float (&factor)[2], bool add)
{
    UNROLL
    for (int half = 0; half < 2; half++) {
        if (row[half] < 0)
            continue;
        UNROLL
        for (int n = 0; n < D / 8; n++)
            if (8 * n < dim)
                put_pair(x + row[half] * dim + 8 * n + lane_id() % 4 * 2, factor[half] * out[n][2 * half],
                         factor[half] * out[n][2 * half + 1], add);
    }
}

#endif
