/*
 * swizzled.cuh - tiles in shared memory without gaps, and products on tensor cores between them.
 *
 * A row of a tile is WIDTH elements, 64 or a multiple, in pieces of 16 bytes.  Piece p of row r lies where piece
 * p ^ (r % 8) would, so that the same piece of eight rows lies in eight different groups of banks: neither ldmatrix nor
 * stores of a product's fragments wait for each other.  Offsets are a constant of the lane, xor a constant of the code.
 */
#ifndef KERNELS_CUDA_SWIZZLED_CUH
#define KERNELS_CUDA_SWIZZLED_CUH

#include "kernels/cuda/mma_tile.cuh"

/* Where the piece of a row begins. */
__device__ inline int swizzled(int row, int piece)
{
    return (piece ^ (row & 7)) * PACK;
}

/* Eight numbers of a row of `dim`, zeros from `left` on: rows of whole 16 bytes are copied in the background, for the
 * caller to commit and wait for; others are there at once. */
__device__ inline void fetch_piece(bf16 *to, const bf16 *from, int left, int dim)
{
    if (dim % PACK == 0) {
        copy_async(to, from, left > 0 ? 16 : 0);
        return;
    }
    for (int i = 0; i < PACK; i++)
        to[i] = i < left ? from[i] : bf16(0.0f);
}

/* The way back: the first `left` of eight numbers. */
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
 * Starts filling a tile with rows of x, each where offset(its number) says, and with zeros from row n on, by a block of
 * THREADS.  Whole tiles of whole pieces have no bounds.
 */
template <int THREADS, int D, int ROWS, class F>
__device__ inline void copy_swizzled(bf16 (&tile)[ROWS][D], const bf16 *x, int dim, int n, F offset)
{
    constexpr int PIECES = D / PACK, AT_ONCE = THREADS / PIECES;
    int thread = afresh(thread_id()), row = thread / PIECES, piece = thread % PIECES, left = dim - piece * PACK;
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
 * One 16 x 16 operand out of a tile, from a row that is a multiple of 8 and an even piece.  ROWS_FIRST: lanes 0 .. 15
 * point to the rows of the first piece, the others to those of the second; else every eight lanes to eight rows, of
 * which two groups in a row are the two pieces.
 */
template <bool TRANSPOSED, bool ROWS_FIRST, int ROWS, int WIDTH>
__device__ inline void take_square(unsigned (&r)[4], const bf16 (&tile)[ROWS][WIDTH], int row, int piece, int lane)
{
    int down = ROWS_FIRST ? lane % 16 : lane / 16 * 8 + lane % 8, right = ROWS_FIRST ? lane / 16 : lane / 8 % 2;
    load_matrices<TRANSPOSED>(r, &tile[row + down][((right ^ (lane & 7)) ^ piece) * PACK]);
}

/* Where an operand begins in its tile. */
struct tile_corner {
    int row, piece;
};

/* A step of 16 in the inner dimension of M x N squares of 16. */
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

/* out += a times 16 rows of the tile from `row` on. */
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
 * out += left right over STEPS times 16 of the inner dimension, or the first `steps` of these unless ALL.  That lies
 * along the pieces of the left operand's tile, or along its rows where it is TURNED; of the right operand's along the
 * rows, or along its pieces where it is TURNED.
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
