/*
 * attention_mma.cuh - the two products attention is made of, on tensor cores: a warp holds 16 rows, a tile lies in
 * shared memory.
 *
 * Numbers of a warp's product are laid out as mma_bf16 leaves them: s[n][0], s[n][1] belong to row lane / 4 and columns
 * 8 n + 2 (lane % 4) and the next, s[n][2], s[n][3] to the row 8 further down.
 */
#ifndef KERNELS_CUDA_ATTENTION_MMA_CUH
#define KERNELS_CUDA_ATTENTION_MMA_CUH

#include "kernels/cuda/attention.cuh"

constexpr int MMA_ROWS = 16, MMA_WARPS = 4, MMA_THREADS = MMA_WARPS * WARP;
constexpr float LOG2_E = 1.4426950408889634f, LN_2 = 0.6931471805599453f; /* exp2f is the GPU's own */
constexpr int TILE_PAD = 8; /* elements: the 8 rows of a matrix then lie in different banks */

/* Rows of a tile: fewer for long heads, whose accumulators fill the registers. */
__host__ __device__ constexpr int mma_tile(int head_dim)
{
    return head_dim == 128 ? 32 : 64;
}

/* The backward has two tiles of numbers and two accumulators in registers. */
__host__ __device__ constexpr int mma_back_tile(int head_dim)
{
    return mma_tile(head_dim) / 2;
}

/* Warps a block needs for sequences of this length. */
static inline int mma_warps(int64_t max_len)
{
    int64_t warps = (max_len + MMA_ROWS - 1) / MMA_ROWS;
    return (int)(warps < MMA_WARPS ? warps : MMA_WARPS);
}

/* Starts copying rows of x into the tile, zeros from `rows` and from `dim`, a multiple of 8, on.  The caller commits
 * and waits. */
template <int ROWS, int WIDTH>
__device__ inline void copy_tile(bf16 (&tile)[ROWS][WIDTH], const bf16 *x, int64_t stride, int64_t rows,
                                 int dim = WIDTH - TILE_PAD)
{
    constexpr int PIECES = (WIDTH - TILE_PAD) / 8; /* of 16 bytes */
    for (int t = thread_id(); t < ROWS * PIECES; t += block_threads()) {
        int i = t / PIECES, d = t % PIECES * 8;
        bool there = i < rows && d < dim;
        copy_async(&tile[i][d], there ? x + i * stride + d : x, there ? 16 : 0);
    }
}

/* The warp's 16 rows of x, D columns, as the left factor of a product; zeros from `rows` on. */
template <int D>
__device__ inline void load_left(unsigned (&a)[D / 16][4], const bf16 *x, int64_t stride, int64_t rows)
{
    int row = lane_id() / 4, column = lane_id() % 4 * 2;
    UNROLL
    for (int k = 0; k < 4 * (D / 16); k++) {
        int r = row + k % 2 * 8, d = 16 * (k / 4) + column + k % 4 / 2 * 8;
        a[k / 4][k % 4] = r < rows ? *(const unsigned *)(x + r * stride + d) : 0u;
    }
}

/* s = a tile^T for the first `rows` rows of the tile, a multiple of 8 being made of them; other columns are 0. */
template <int D, int ROWS>
__device__ inline void times_transposed(float (&s)[ROWS / 8][4], const unsigned (&a)[D / 16][4],
                                        const bf16 (&tile)[ROWS][D + TILE_PAD], int64_t rows)
{
    UNROLL
    for (int n = 0; n < ROWS / 8; n++) {
        for (int k = 0; k < 4; k++)
            s[n][k] = 0;
        if (8 * n >= rows)
            continue;
        UNROLL
        for (int k = 0; k < D / 32; k++) {
            unsigned b[4];
            load_matrices<false>(b, &tile[8 * n + lane_id() % 8][32 * k + lane_id() / 8 * 8]);
            const unsigned low[2] = { b[0], b[1] }, high[2] = { b[2], b[3] };
            mma_bf16(s[n], a[2 * k], low);
            mma_bf16(s[n], a[2 * k + 1], high);
        }
    }
}

/* Two numbers as a pair of bf16, and what that leaves of them as another. */
__device__ inline void split_pair(unsigned &high, unsigned &low, float a, float b)
{
    high = bf16_pair(a, b);
    low = bf16_pair(a - f32_bits(high << 16), b - f32_bits(high & 0xffff0000u));
}

/*
 * out += s tile over the first `rows` rows of the tile.  SPLIT: s goes in as two bf16 each, its rounding and the rest,
 * for twice the work: where few large terms cancel, one rounding of them would be most of the sum.
 */
template <int D, int ROWS, bool SPLIT = true>
__device__ inline void add_times(float (&out)[D / 8][4], const float (&s)[ROWS / 8][4],
                                 const bf16 (&tile)[ROWS][D + TILE_PAD], int64_t rows)
{
    UNROLL
    for (int k = 0; k < ROWS / 16; k++) {
        if (16 * k >= rows)
            continue;
        unsigned high[4], low[4];
        UNROLL
        for (int i = 0; i < 4; i++)
            split_pair(high[i], low[i], s[2 * k + i / 2][i % 2 * 2], s[2 * k + i / 2][i % 2 * 2 + 1]);
        UNROLL
        for (int n = 0; n < D / 16; n++) {
            unsigned b[4];
            load_matrices<true>(b, &tile[16 * k + lane_id() % 16][16 * n + lane_id() / 16 * 8]);
            const unsigned left[2] = { b[0], b[1] }, right[2] = { b[2], b[3] };
            mma_bf16(out[2 * n], high, left);
            mma_bf16(out[2 * n + 1], high, right);
            if (SPLIT) {
                mma_bf16(out[2 * n], low, left);
                mma_bf16(out[2 * n + 1], low, right);
            }
        }
    }
}

/* x[row,:] (+)= factor[half] out, for the warp's rows below `rows`. */
template <int D>
__device__ inline void store_rows(bf16 *x, int64_t stride, int64_t rows, const float (&out)[D / 8][4],
                                  const float (&factor)[2], bool add)
{
    UNROLL
    for (int half = 0; half < 2; half++) {
        int r = lane_id() / 4 + 8 * half;
        if (r >= rows)
            continue;
        UNROLL
        for (int n = 0; n < D / 8; n++) {
            unsigned *p = (unsigned *)(x + r * stride + 8 * n + lane_id() % 4 * 2);
            float low = factor[half] * out[n][2 * half], high = factor[half] * out[n][2 * half + 1];
            if (add) {
                low += f32_bits(*p << 16);
                high += f32_bits(*p & 0xffff0000u);
            }
            *p = bf16_pair(low, high);
        }
    }
}

/* What dropout multiplies the weights of keys `key` (even) and key + 1 of one query by. */
template <typename T>
__device__ inline void keep_pair(float (&keep)[2], const attention_args<T> &a, int64_t row, int64_t key)
{
    keep[0] = keep[1] = 1.0f;
    if (!a.drop)
        return;
    struct philox w = rng_quad(a.rng, a.site, (uint32_t)row, (uint32_t)(key / 4));
    bool upper = key % 4 != 0;
    keep[0] = (upper ? w.v[2] : w.v[0]) < a.threshold ? 0.0f : a.keep_scale;
    keep[1] = (upper ? w.v[3] : w.v[1]) < a.threshold ? 0.0f : a.keep_scale;
}

#endif
