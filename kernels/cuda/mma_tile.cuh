/*
 * mma_tile.cuh - products of a warp's rows with a tile in shared memory, on tensor cores, for rows of any width.
 *
 * A warp holds M times 16 rows, so that each load from a tile serves M products.  Tiles are D columns wide, a multiple
 * of 32.  An operand has `dim` columns and counts as 0 beyond.
 *
 * Registers are laid out as mma_bf16 leaves them.  s[m][n][0] and s[m][n][1] belong to row 16 m + lane / 4 and to the
 * columns from 8 n + 2 (lane % 4) on.  s[m][n][2] and s[m][n][3] belong to the row 8 further down.
 */
#ifndef KERNELS_CUDA_MMA_TILE_CUH
#define KERNELS_CUDA_MMA_TILE_CUH

#include "kernels/cuda/cuda.cuh"

constexpr int MMA_ROWS = 16, MMA_WARPS = 4, MMA_THREADS = MMA_WARPS * WARP;
constexpr float LOG2_E = 1.4426950408889634f,
                LN_2 = 0.6931471805599453f; /* exp2f is one instruction of the GPU, expf is not */
constexpr int TILE_GAP = 8; /* elements of padding behind a row: eight rows of ldmatrix lie in different banks */

/* s = 0. */
template <int M, int N>
__device__ inline void zero(float (&s)[M][N][4])
{
    UNROLL
    for (int i = 0; i < M * N * 4; i++)
        s[i / 4 / N][i / 4 % N][i % 4] = 0;
}

/* x[0] and x[1] as one register, with zeros from `left` on.  `even`: pairs are aligned to 4 bytes. */
__device__ inline unsigned load_pair(const bf16 *x, int left, bool even)
{
    if (left >= 2 && even)
        return *(const unsigned *)x;
    unsigned low = left > 0 ? x[0].bits : 0u, high = left > 1 ? x[1].bits : 0u;
    return low | high << 16;
}

__device__ inline void store_pair(bf16 *x, unsigned pair)
{
    *(unsigned *)x = pair;
}

/* x[0], x[1] (+)= low, high; only the first `left` of them are written. */
__device__ inline void put_pair(bf16 *x, float low, float high, int left, bool even, bool add)
{
    if (left < 2 || !even) {
        if (left > 0)
            put(x, low, add);
        if (left > 1)
            put(x + 1, high, add);
        return;
    }
    /* Read, add and write both numbers as one word. */
    if (add) {
        unsigned both = *(const unsigned *)x;
        low += f32_bits(both << 16);
        high += f32_bits(both & 0xffff0000u);
    }
    store_pair(x, bf16_pair(low, high));
}

__device__ inline void put_pair(float *x, float low, float high, int left, bool, bool add)
{
    if (left > 0)
        put(x, low, add);
    if (left > 1)
        put(x + 1, high, add);
}

/*
 * Fills the tile with `rows` rows of x.  Behind them it adds rows of zeros up to a multiple of 16, the last row that
 * products read.
 *
 * Rows of whole 16 bytes are copied in the background: the caller commits the copies and waits for them.  Other rows
 * are complete at once, after the caller's barrier.
 */
template <int ROWS, int WIDTH>
__device__ inline void fetch_tile(bf16 (&tile)[ROWS][WIDTH], const bf16 *x, int64_t stride, int64_t rows, int dim)
{
    constexpr int PIECES = (WIDTH - TILE_GAP) / PACK;
    int filled = rows < ROWS ? ((int)rows + 15) / 16 * 16 : ROWS;
    ROLLED
    for (int t = thread_id(); t < filled * PIECES; t += block_threads()) {
        int i = t / PIECES, d = t % PIECES * PACK, left = i < rows ? dim - d : 0;
        /* A copy of 0 bytes still needs a valid address, so it names the start of x. */
        const bf16 *from = left > 0 ? x + i * stride + d : x;
        if (dim % PACK == 0) {
            copy_async(&tile[i][d], from, left > 0 ? 16 : 0);
            continue;
        }
        bool even = dim % 2 == 0;
        for (int e = 0; e < PACK; e += 2)
            store_pair(&tile[i][d + e], load_pair(from + e, left - e, even));
    }
}

/* The same by one warp, for rows that fill the tile's columns. */
template <int ROWS, int WIDTH>
__device__ inline void fetch_whole_tile(bf16 (&tile)[ROWS][WIDTH], const bf16 *x, int64_t stride, int rows)
{
    constexpr int PIECES = (WIDTH - TILE_GAP) / PACK, STEP = WARP / PIECES;
    int filled = rows < ROWS ? (rows + 15) / 16 * 16 : ROWS, d = lane_id() % PIECES * PACK, i = lane_id() / PIECES;
    const bf16 *from = x + i * stride + d;
    ROLLED
    for (; i < filled; i += STEP, from += STEP * stride)
        copy_async(&tile[i][d], i < rows ? from : x, i < rows ? 16 : 0);
}

/* Loads sixteen columns of the warp's rows of x, from `column` on, as a left factor, with zeros from row `rows` on. */
template <int M>
__device__ inline void load_left(unsigned (&a)[M][4], const bf16 *x, int64_t stride, int64_t rows, int column, int dim)
{
    UNROLL
    for (int k = 0; k < 4 * M; k++) {
        int r = 16 * (k / 4) + lane_id() / 4 + k % 2 * 8, d = column + lane_id() % 4 * 2 + k % 4 / 2 * 8;
        a[k / 4][k % 4] = r < rows ? load_pair(x + r * stride + d, dim - d, dim % 2 == 0) : 0u;
    }
}

/* The same from sixteen columns of rows of a tile. */
template <int M, int ROWS, int WIDTH>
__device__ inline void take_left(unsigned (&a)[M][4], const bf16 (&tile)[ROWS][WIDTH], int row, int column)
{
    UNROLL
    for (int m = 0; m < M; m++)
        load_matrices<false>(a[m], &tile[row + 16 * m + lane_id() % 16][column + lane_id() / 16 * 8]);
}

/* Loads a left factor from a tile that holds its transpose: sixteen rows from `column` on, sixteen of the tile's rows
 * as columns. */
template <int ROWS, int WIDTH>
__device__ inline void take_left_transposed(unsigned (&a)[4], const bf16 (&tile)[ROWS][WIDTH], int row, int column)
{
    load_matrices<true>(a, &tile[row + lane_id() / 16 * 8 + lane_id() % 8][column + lane_id() / 8 % 2 * 8]);
}

/* s += a tile^T over 16 columns of both, for the first `rows` rows of the tile.  One load brings 16 rows of the tile,
 * which are the right factors of two products. */
template <int M, int ROWS, int WIDTH>
__device__ inline void add_times_transposed(float (&s)[M][ROWS / 8][4], const unsigned (&a)[M][4],
                                            const bf16 (&tile)[ROWS][WIDTH], int column, int rows)
{
    UNROLL
    for (int n = 0; n < ROWS / 16; n++) {
        if (16 * n >= rows)
            continue;
        unsigned b[4];
        load_matrices<false>(b, &tile[16 * n + lane_id() / 16 * 8 + lane_id() % 8][column + lane_id() / 8 % 2 * 8]);
        const unsigned upper[2] = { b[0], b[1] }, lower[2] = { b[2], b[3] };
        UNROLL
        for (int m = 0; m < M; m++) {
            mma_bf16(s[m][2 * n], a[m], upper);
            mma_bf16(s[m][2 * n + 1], a[m], lower);
        }
    }
}

/* s = a tile^T.  Columns of s behind the first `rows` rows of the tile, rounded up to 16, are 0. */
template <int D, int M, int ROWS, int WIDTH>
__device__ inline void times_tile_transposed(float (&s)[M][ROWS / 8][4], const unsigned (&a)[D / 16][M][4],
                                             const bf16 (&tile)[ROWS][WIDTH], int rows)
{
    zero(s);
    UNROLL
    for (int k = 0; k < D / 16; k++)
        add_times_transposed(s, a[k], tile, 16 * k, rows);
}

/*
 * Numbers  of a product as left factors of the next one.
 *
 * bf16 has 8 significant bits.  `high` is a number rounded to bf16, and `low` is its rounding error as another bf16, so
 * that both together keep some 16 bits.  With one bf16 alone, the rounding error would dominate a sum in which few
 * large terms cancel.
 */
template <int M, int COLUMNS>
struct left_pair {
    unsigned high[COLUMNS / 16][M][4], low[COLUMNS / 16][M][4];
};

template <int M, int COLUMNS>
__device__ inline void split_left(struct left_pair<M, COLUMNS> &a, const float (&s)[M][COLUMNS / 8][4])
{
    UNROLL
    for (int m = 0; m < M; m++) {
        UNROLL
        for (int k = 0; k < COLUMNS / 4; k++) {
            float x = s[m][k / 2][k % 2 * 2], y = s[m][k / 2][k % 2 * 2 + 1];
            unsigned high = bf16_pair(x, y);
            a.high[k / 4][m][k % 4] = high;
            a.low[k / 4][m][k % 4] = bf16_pair(x - f32_bits(high << 16), y - f32_bits(high & 0xffff0000u));
        }
    }
}

/* out += high tile + low tile over 16 rows of the tile from `row` on, and D of its columns from `column` on.  The
 * tile's rows are the inner dimension here, so the load transposes. */
template <int D, int M, int ROWS, int WIDTH>
__device__ inline void add_times_rows(float (&out)[M][D / 8][4], const unsigned (&high)[M][4],
                                      const unsigned (&low)[M][4], const bf16 (&tile)[ROWS][WIDTH], int row, int column)
{
    UNROLL
    for (int n = 0; n < D / 16; n++) {
        unsigned b[4];
        load_matrices<true>(b, &tile[row + lane_id() % 16][column + 16 * n + lane_id() / 16 * 8]);
        const unsigned left[2] = { b[0], b[1] }, right[2] = { b[2], b[3] };
        UNROLL
        for (int m = 0; m < M; m++) {
            mma_bf16(out[m][2 * n], high[m], left);
            mma_bf16(out[m][2 * n + 1], high[m], right);
            mma_bf16(out[m][2 * n], low[m], left);
            mma_bf16(out[m][2 * n + 1], low[m], right);
        }
    }
}

/* out += a tile over the first `rows` rows of the tile, and D of its columns from `column` on. */
template <int D, int M, int ROWS, int WIDTH>
__device__ inline void add_times_tile(float (&out)[M][D / 8][4], const struct left_pair<M, ROWS> &a,
                                      const bf16 (&tile)[ROWS][WIDTH], int column, int rows)
{
    UNROLL
    for (int k = 0; k < ROWS / 16; k++) {
        if (16 * k < rows)
            add_times_rows<D>(out, a.high[k], a.low[k], tile, 16 * k, column);
    }
}

/* x[row,:] (+)= factor[m][half] out for those of the warp's rows that are below `rows`, and at most `left` columns of
 * them. */
template <int D, int M, typename T>
__device__ inline void put_tile_rows(T *x, int64_t stride, int64_t rows, int left, const float (&out)[M][D / 8][4],
                                     const float (&factor)[M][2], bool even, bool add)
{
    UNROLL
    for (int m = 0; m < 2 * M; m++) {
        int r = 16 * (m / 2) + lane_id() / 4 + 8 * (m % 2);
        if (r >= rows)
            continue;
        UNROLL
        for (int n = 0; n < D / 8; n++) {
            int d = 8 * n + lane_id() % 4 * 2;
            float by = factor[m / 2][m % 2];
            put_pair(x + r * stride + d, by * out[m / 2][n][m % 2 * 2], by * out[m / 2][n][m % 2 * 2 + 1], left - d,
                     even, add);
        }
    }
}

#endif
