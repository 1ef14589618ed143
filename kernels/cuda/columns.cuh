/*
 * columns.cuh - sums down the columns of a matrix: a block takes COLUMN_TILE columns, each lane PACK of them, and its
 * warps take turns at the rows.
 */
#ifndef KERNELS_CUDA_COLUMNS_CUH
#define KERNELS_CUDA_COLUMNS_CUH

#include "kernels/cuda/cuda.cuh"

constexpr int COLUMN_WARPS = 8, COLUMN_THREADS = COLUMN_WARPS * WARP, COLUMN_TILE = WARP * PACK;

/* First of this lane's columns when tiles of `cols` columns go round fastest in the grid. */
__device__ inline int64_t tile_column(int64_t cols)
{
    int64_t tiles = (cols + COLUMN_TILE - 1) / COLUMN_TILE;
    return block_id() % tiles * COLUMN_TILE + lane_id() * PACK;
}

__device__ inline int64_t tile_row(int64_t cols)
{
    return block_id() / ((cols + COLUMN_TILE - 1) / COLUMN_TILE);
}

static inline int64_t column_tiles(int64_t cols)
{
    return (cols + COLUMN_TILE - 1) / COLUMN_TILE;
}

/* v of warp 0 becomes the sum of v over the warps of the block, in their order. */
__device__ inline void sum_over_warps(float (&v)[PACK])
{
    __shared__ float part[COLUMN_WARPS][PACK][WARP];
    __syncthreads(); /* part may still be read for the call before */
    for (int k = 0; k < PACK; k++)
        part[warp_id()][k][lane_id()] = v[k];
    __syncthreads();
    if (warp_id() == 0)
        for (int w = 1; w < COLUMN_WARPS; w++)
            for (int k = 0; k < PACK; k++)
                v[k] += part[w][k][lane_id()];
}

/* y[cols] (+)= sum over rows of x; the rows are cut by shape alone, so the sum is the same on every run. */
void column_sums(struct ctx *c, float *y, bool add, const struct tensor *x, int64_t rows, int64_t cols);
/* y[cols] (+)= sum over rows of x, F32 and few rows; the second half of such a sum. */
void column_sums_of_parts(struct ctx *c, float *y, bool add, const float *x, int64_t rows, int64_t cols,
                          int64_t stride);

/* Rows that one block adds up, and how many such blocks: at most PARTS of them. */
constexpr int64_t PARTS = 256, PART_ROWS = 64;
static inline int64_t rows_per_part(int64_t rows, int64_t floats_per_part)
{
    int64_t parts = (int64_t)(SCRATCH_BYTES / sizeof(float)) / (floats_per_part > 0 ? floats_per_part : 1);
    parts = parts > PARTS ? PARTS : parts;
    CHECK(parts > 0, "a row of %lld floats", (long long)floats_per_part);
    int64_t per = (rows + parts - 1) / parts;
    return per < PART_ROWS ? PART_ROWS : per;
}

#endif
