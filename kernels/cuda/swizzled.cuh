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
struct corner {
    int row, piece;
};

/* A step of 16 in the inner dimension of M x N squares of 16. */
template <bool A_TURNED, bool B_TURNED, int M, int N, int AR, int AW, int BR, int BW>
__device__ inline void add_product_step(float (&out)[M][2 * N][4], const bf16 (&left)[AR][AW], struct corner a,
                                        const bf16 (&right)[BR][BW], struct corner b, int lane)
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

/*
 * out += left right over STEPS times 16 of the inner dimension, or the first `steps` of these unless ALL.  That lies
 * along the pieces of the left operand's tile, or along its rows where it is TURNED; of the right operand's along the
 * rows, or along its pieces where it is TURNED.
 */
template <bool A_TURNED, bool B_TURNED, int STEPS, bool ALL, int M, int N, int AR, int AW, int BR, int BW>
__device__ inline void add_product(float (&out)[M][N][4], const bf16 (&left)[AR][AW], struct corner a,
                                   const bf16 (&right)[BR][BW], struct corner b, int steps)
{
    int lane = afresh(lane_id());
    UNROLL
    for (int k = 0; k < STEPS; k++) {
        if (!ALL && k >= steps)
            continue;
        struct corner x = { a.row + (A_TURNED ? 16 * k : 0), a.piece + (A_TURNED ? 0 : 2 * k) };
        struct corner y = { b.row + (B_TURNED ? 0 : 16 * k), b.piece + (B_TURNED ? 2 * k : 0) };
        add_product_step<A_TURNED, B_TURNED, M, N / 2>(out, left, x, right, y, lane);
    }
}

#endif
