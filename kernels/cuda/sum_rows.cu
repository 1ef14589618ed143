#include "kernels/cuda/columns.cuh"

/*
 * part[p,j] = sum over rows p * per .. of x[r,j]
 *
 * Grid     one block per part and COLUMN_TILE columns; warps take turns at the rows.
 * Memory   reads x once; 8 KiB of shared memory; bandwidth bound.
 * Numbers  f32 sums in an order fixed by the shape.
 */
template <typename T>
__global__ void __launch_bounds__(COLUMN_THREADS) sum_part_kernel(float *__restrict__ part, const T *__restrict__ x,
                                                                  int64_t rows, int64_t cols, int64_t per, bool add)
{
    int64_t p = tile_row(cols), j = tile_column(cols);
    int64_t end = (p + 1) * per < rows ? (p + 1) * per : rows;
    float sum[PACK] = { 0 }, v[PACK];
    for (int64_t r = p * per + warp_id(); r < end; r += COLUMN_WARPS) {
        load_pack(v, x + r * cols + j, cols - j);
        for (int k = 0; k < PACK; k++)
            sum[k] += v[k];
    }
    sum_over_warps(sum);
    if (warp_id() == 0)
        put_pack(part + p * cols + j, sum, cols - j, add);
}

/*
 * y[j] (+)= sum of x[r * stride + j] over few rows
 *
 * Grid     one block per PART_COLUMNS columns; warps take turns at the rows.
 * Memory   reads x once, a warp 32 neighbours at a time; 1 KiB of shared memory.
 * Numbers  f32 sums in an order fixed by the shape.
 */
__global__ void __launch_bounds__(PART_THREADS) sum_finish_kernel(float *__restrict__ y, const float *__restrict__ x,
                                                                  int64_t rows, int64_t cols, int64_t stride, bool add)
{
    int64_t j = part_column();
    float sum = sum_of_parts(x, rows, stride, j, cols);
    if (warp_id() == 0 && j < cols)
        put(y + j, sum, add);
}

void column_sums_of_parts(struct ctx *c, float *y, bool add, const float *x, int64_t rows, int64_t cols, int64_t stride)
{
    LAUNCH(sum_finish_kernel, blocks_for(cols, PART_COLUMNS), PART_THREADS, 0, cuda_stream(c), y, x, rows, cols, stride,
           add);
}

void column_sums(struct ctx *c, float *y, bool add, const struct tensor *x, int64_t rows, int64_t cols)
{
    if (cols == 0)
        return;
    int64_t per = rows_per_part(rows, cols), parts = rows > per ? (rows + per - 1) / per : 1;
    float *part = parts > 1 ? (float *)cuda_scratch(c, (size_t)(parts * cols) * sizeof(float)) : y;
    DTYPE_SWITCH(x->dtype, LAUNCH(sum_part_kernel<T>, blocks_for(parts * column_tiles(cols), 1), COLUMN_THREADS, 0,
                                  cuda_stream(c), part, data_of<T>(x), rows, cols, per, parts == 1 && add));
    if (parts > 1)
        column_sums_of_parts(c, y, add, part, parts, cols, cols);
}

extern "C" void cuda_sum_rows(struct ctx *c, struct destination y, const struct tensor *x)
{
    if (y.t)
        column_sums(c, data_of<float>(y.t), y.add, x, tensor_rows(x), tensor_cols(x));
}
