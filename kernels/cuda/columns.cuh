/*
 * columns.cuh - sums down the columns of a matrix.
 *
 * A block takes COLUMN_TILE columns, each lane PACK of them, and its warps take turns at the rows.  A warp therefore
 * reads 32 neighbouring packs of one row at a time.  Long matrices are cut into parts of rows; a second kernel adds the
 * parts in order.  The cut depends on the shape alone, so that sums are the same on every run.
 */
#ifndef KERNELS_CUDA_COLUMNS_CUH
#define KERNELS_CUDA_COLUMNS_CUH

#include "kernels/cuda/cuda.cuh"

constexpr int COLUMN_WARPS = 8, COLUMN_THREADS = COLUMN_WARPS * WARP, COLUMN_TILE = WARP * PACK;

/* Returns the first of this lane's columns.  Tiles of columns vary fastest in the grid, rows or parts of
 * rows slowest. */
__device__ inline int64_t tile_column(int64_t cols)
{
    int64_t tiles = (cols + COLUMN_TILE - 1) / COLUMN_TILE;
    return block_id() % tiles * COLUMN_TILE + lane_id() * PACK;
}

/* Returns the row, or the part of the rows, that this block works on. */
__device__ inline int64_t tile_row(int64_t cols)
{
    return block_id() / ((cols + COLUMN_TILE - 1) / COLUMN_TILE);
}

/* Returns the number of tiles of columns. */
static inline int64_t column_tiles(int64_t cols)
{
    return (cols + COLUMN_TILE - 1) / COLUMN_TILE;
}

/* Replaces v in warp 0 by the sum of v over the warps of the block, in their order.  In `part` the lanes of a warp lie
 * side by side, so no two of them access the same bank. */
__device__ inline void sum_over_warps(float (&v)[PACK])
{
    __shared__ float part[COLUMN_WARPS][PACK][WARP];
    __syncthreads(); /* the previous call may still be reading part */
    for (int k = 0; k < PACK; k++)
        part[warp_id()][k][lane_id()] = v[k];
    __syncthreads();
    if (warp_id() == 0)
        for (int w = 1; w < COLUMN_WARPS; w++)
            for (int k = 0; k < PACK; k++)
                v[k] += part[w][k][lane_id()];
}

constexpr int PART_THREADS = COLUMN_THREADS, PART_COLUMNS = WARP; /* columns of a block of sum_of_parts */

/* Returns the first of the columns of a block of sum_of_parts, plus this lane's number. */
__device__ inline int64_t part_column()
{
    return block_id() * PART_COLUMNS + lane_id();
}

/* Returns in warp 0 the sum of part[p * stride + j] over all parts; 0 for columns from cols on.  Each warp adds up
 * every COLUMN_WARPS-th part, and warp 0 adds the sums of the warps in their order.  A block calls it once. */
__device__ inline float sum_of_parts(const float *__restrict__ part, int64_t parts, int64_t stride, int64_t j,
                                     int64_t cols)
{
    __shared__ float of_warp[COLUMN_WARPS][WARP];
    float sum = 0;
    UNROLL_4
    for (int64_t p = warp_id(); p < parts && j < cols; p += COLUMN_WARPS)
        sum += part[p * stride + j];
    of_warp[warp_id()][lane_id()] = sum;
    __syncthreads();
    if (warp_id() == 0)
        for (int w = 1; w < COLUMN_WARPS; w++)
            sum += of_warp[w][lane_id()];
    return sum;
}

/* y[cols] (+)= sum over the rows of x.  The rows are cut by shape alone, so the sum is the same on every run. */
void column_sums(struct ctx *c, float *y, bool add, const struct tensor *x, int64_t rows, int64_t cols);
/* y[cols] (+)= sum over the rows of x, which are F32, few, and `stride` apart.  It is the second half of such a sum. */
void column_sums_of_parts(struct ctx *c, float *y, bool add, const float *x, int64_t rows, int64_t cols,
                          int64_t stride);

/* Limits of the cut: at most PARTS parts, of at least PART_ROWS rows. */
constexpr int64_t PARTS = 256, PART_ROWS = 64;
/* Returns the rows that one block adds up, such that the sums of all parts fit the scratch memory. */
static inline int64_t rows_per_part(int64_t rows, int64_t floats_per_part)
{
    int64_t parts = (int64_t)(SCRATCH_BYTES / sizeof(float)) / (floats_per_part > 0 ? floats_per_part : 1);
    parts = parts > PARTS ? PARTS : parts;
    CHECK(parts > 0, "a row of %lld floats", (long long)floats_per_part);
    int64_t per = (rows + parts - 1) / parts;
    return per < PART_ROWS ? PART_ROWS : per;
}

#endif
