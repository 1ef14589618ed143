/*
 * swizzled.cuh - tiles in shared memory without padding, and products on tensor cores between them.
 *
 * A row of a tile has WIDTH elements, 64 or a multiple, in pieces of 16 bytes.  Piece p of row r lies at the place of
 * piece p ^ (r % 8).  The same piece of eight neighbouring rows thus lies in eight different groups of four banks.
 * Therefore neither ldmatrix nor the stores of a product's fragments have bank conflicts.
 *
 * An offset is a constant of the lane, xor a constant of the code.
 */
#ifndef KERNELS_CUDA_SWIZZLED_CUH
#define KERNELS_CUDA_SWIZZLED_CUH

#include "kernels/cuda/mma_tile.cuh"

/* Returns the element of the row at which a piece begins. */
__device__ inline int swizzled(int row, int piece)
{
    return (piece ^ (row & 7)) * PACK;
}

/* Fetches eight numbers of a row of `dim` numbers, with zeros from `left` on.  Rows of whole 16 bytes are copied in the
 * background: the caller commits the copies and waits for them.  Other rows are complete at once. */
__device__ inline void fetch_piece(bf16 *to, const bf16 *from, int left, int dim)
{
    if (dim % PACK == 0) {
        copy_async(to, from, left > 0 ? 16 : 0);
        return;
    }
    for (int i = 0; i < PACK; i++)
        to[i] = i < left ? from[i] : bf16(0.0f);
}

/* Stores the first `left` of eight numbers. */
__device__ inline void store_piece(bf16 *to, const bf16 *from, int left, int dim)
{
    if (dim % PACK == 0) {
        *(uint4 *)to = *(const uint4 *)from;
        return;
    }
    for (int i = 0; i < PACK && i < left; i++)
        to[i] = from[i];
}

/*
 * Starts filling a tile with n rows of x, and with zeros behind them, by a block of THREADS.  Row i begins at x +
 * offset(i).  Whole tiles of whole pieces need no test of bounds.
 */
template <int THREADS, int D, int ROWS, class F>
__device__ inline void copy_swizzled(bf16 (&tile)[ROWS][D], const bf16 *x, int dim, int n, F offset)
{
    constexpr int PIECES = D / PACK, AT_ONCE = THREADS / PIECES;
    int thread = afresh(thread_id()), row = thread / PIECES, piece = thread % PIECES, left = dim - piece * PACK;
    /* AT_ONCE is a multiple of 8, so row % 8 and the swizzled place are the same for all rows of a thread. */
    bf16 *to = &tile[row][swizzled(row, piece)];
    x += left > 0 ? piece * PACK : 0;
    if (n >= ROWS && dim == D) {
        UNROLL
        for (int i = 0; i < ROWS; i += AT_ONCE)
            copy_async(to + i * D, x + offset(row + i), 16);
        return;
    }
    ROLLED
    for (int i = 0; i < ROWS; i += AT_ONCE)
        fetch_piece(to + i * D, x + (row + i < n ? offset(row + i) : 0), row + i < n ? left : 0, dim);
}

/*
 * Loads one 16 x 16 operand out of a tile, from a row that is a multiple of 8 and an even piece.
 *
 * ROWS_FIRST: lanes 0 .. 15 pass the rows of the first piece, lanes 16 .. 31 those of the second.  Otherwise each eight
 * lanes pass eight rows: first both pieces of the upper rows, then both of the lower rows.
 */
template <bool TRANSPOSED, bool ROWS_FIRST, int ROWS, int WIDTH>
__device__ inline void take_square(unsigned (&r)[4], const bf16 (&tile)[ROWS][WIDTH], int row, int piece, int lane)
{
    int down = ROWS_FIRST ? lane % 16 : lane / 16 * 8 + lane % 8, right = ROWS_FIRST ? lane / 16 : lane / 8 % 2;
    load_matrices<TRANSPOSED>(r, &tile[row + down][((right ^ (lane & 7)) ^ piece) * PACK]);
}

/* The row and the piece at which an operand begins in its tile. */
struct tile_corner {
    int row, piece;
};

/* out += left right over 16 of the inner dimension, for M x N squares of 16.  All factors are loaded before the first
 * product, so each of them is loaded once. */
template <bool A_TURNED, bool B_TURNED, int M, int N, int AR, int AW, int BR, int BW>
__device__ inline void add_product_step(float (&out)[M][2 * N][4], const bf16 (&left)[AR][AW], struct tile_corner a,
                                        const bf16 (&right)[BR][BW], struct tile_corner b, int lane)
{
    unsigned x[M][4], y[N][4];
    UNROLL
    for (int m = 0; m < M; m++)
        take_square<A_TURNED, !A_TURNED>(x[m], left, a.row + (A_TURNED ? 0 : 16 * m), a.piece + (A_TURNED ? 2 * m : 0),
                                         lane);
    UNROLL
    for (int n = 0; n < N; n++)
        take_square<!B_TURNED, !B_TURNED>(y[n], right, b.row + (B_TURNED ? 16 * n : 0),
                                          b.piece + (B_TURNED ? 0 : 2 * n), lane);
    UNROLL
    for (int n = 0; n < N; n++) {
        const unsigned first[2] = { y[n][0], y[n][1] }, second[2] = { y[n][2], y[n][3] };
        UNROLL
        for (int m = 0; m < M; m++) {
            mma_bf16(out[m][2 * n], x[m], first);
            mma_bf16(out[m][2 * n + 1], x[m], second);
        }
    }
}

/* out += a times 16 rows of the tile, from `row` on. */
template <int M, int N, int ROWS, int WIDTH>
__device__ inline void add_rows_product(float (&out)[M][N][4], const unsigned (&a)[M][4],
                                        const bf16 (&tile)[ROWS][WIDTH], int row, int lane)
{
    UNROLL
    for (int n = 0; n < N / 2; n++) {
        unsigned b[4];
        take_square<true, true>(b, tile, row, 2 * n, lane);
        const unsigned first[2] = { b[0], b[1] }, second[2] = { b[2], b[3] };
        UNROLL
        for (int m = 0; m < M; m++) {
            mma_bf16(out[m][2 * n], a[m], first);
            mma_bf16(out[m][2 * n + 1], a[m], second);
        }
    }
}

/*
 * out += left right over STEPS times 16 of the inner dimension; unless ALL, over the first `steps` of these.
 *
 * The inner dimension lies along the pieces of the left tile, or along its rows if A_TURNED.  It lies along the rows of
 * the right tile, or along its pieces if B_TURNED.
 */
template <bool A_TURNED, bool B_TURNED, int STEPS, bool ALL, int M, int N, int AR, int AW, int BR, int BW>
__device__ inline void add_product(float (&out)[M][N][4], const bf16 (&left)[AR][AW], struct tile_corner a,
                                   const bf16 (&right)[BR][BW], struct tile_corner b, int steps)
{
    int lane = afresh(lane_id());
    UNROLL
    for (int k = 0; k < STEPS; k++) {
        if (!ALL && k >= steps)
            continue;
        struct tile_corner x = { a.row + (A_TURNED ? 16 * k : 0), a.piece + (A_TURNED ? 0 : 2 * k) };
        struct tile_corner y = { b.row + (B_TURNED ? 0 : 16 * k), b.piece + (B_TURNED ? 2 * k : 0) };
        add_product_step<A_TURNED, B_TURNED, M, N / 2>(out, left, x, right, y, lane);
    }
}

#endif
