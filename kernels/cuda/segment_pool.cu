#include "kernels/cuda/columns.cuh"

/* The factor of a segment's sum: 1 / rows for a mean. */
__device__ inline float pool_factor(int64_t rows, bool mean)
{
    return mean && rows > 0 ? 1.0f / (float)rows : 1.0f;
}

/*
 * y[s,:] = sum or mean of rows offsets[s] .. offsets[s+1] of x
 *
 * Grid     one block per segment and COLUMN_TILE columns; warps take turns at the rows.
 * Memory   reads x once, writes y once; 8 KiB of shared memory.
 * Numbers  f32 sums in an order fixed by the offsets.
 */
template <typename T>
__global__ void __launch_bounds__(COLUMN_THREADS)
    segment_pool_kernel(T *__restrict__ y, const T *__restrict__ x, const int *__restrict__ offsets, int64_t cols,
                        bool mean)
{
    int64_t s = tile_row(cols), j = tile_column(cols), first = offsets[s], end = offsets[s + 1];
    float sum[PACK] = { 0 }, v[PACK];
    for (int64_t r = first + warp_id(); r < end; r += COLUMN_WARPS) {
        load_pack(v, x + r * cols + j, cols - j);
        for (int k = 0; k < PACK; k++)
            sum[k] += v[k];
    }
    sum_over_warps(sum);
    for (int k = 0; k < PACK; k++)
        sum[k] *= pool_factor(end - first, mean);
    if (warp_id() == 0)
        store_pack(y + s * cols + j, sum, cols - j);
}

/*
 * dx[r,:] (+)= dy[s,:] for the rows r of segment s, divided by their number for a mean
 *
 * Grid     one block per segment and COLUMN_TILE columns; warps take turns at the rows.
 * Memory   reads dy once, writes dx once.
 * Numbers  in f32, one rounding.
 */
template <typename T>
__global__ void __launch_bounds__(COLUMN_THREADS)
    segment_pool_backward_kernel(T *__restrict__ dx, const T *__restrict__ dy, const int *__restrict__ offsets,
                                 int64_t cols, bool mean, bool add)
{
    int64_t s = tile_row(cols), j = tile_column(cols), first = offsets[s], end = offsets[s + 1];
    float v[PACK];
    load_pack(v, dy + s * cols + j, cols - j);
    for (int k = 0; k < PACK; k++)
        v[k] *= pool_factor(end - first, mean);
    for (int64_t r = first + warp_id(); r < end; r += COLUMN_WARPS)
        put_pack(dx + r * cols + j, v, cols - j, add);
}

extern "C" void cuda_segment_pool(struct ctx *c, struct tensor *y, const struct tensor *x, const struct seqs *s,
                                  enum pool pool)
{
    int64_t cols = tensor_cols(x);
    if (s->n == 0 || cols == 0)
        return;
    DTYPE_SWITCH(x->dtype, LAUNCH(segment_pool_kernel<T>, blocks_for(s->n * column_tiles(cols), 1), COLUMN_THREADS, 0,
                                  cuda_stream(c), data_of<T>(y), data_of<T>(x), data_of<int>(s->offsets), cols,
                                  pool == POOL_MEAN));
}

extern "C" void cuda_segment_pool_backward(struct ctx *c, struct destination dx, const struct tensor *dy,
                                           const struct seqs *s, enum pool pool)
{
    int64_t cols = tensor_cols(dy);
    if (s->n == 0 || cols == 0 || !dx.t)
        return;
    DTYPE_SWITCH(dy->dtype, LAUNCH(segment_pool_backward_kernel<T>, blocks_for(s->n * column_tiles(cols), 1),
                                   COLUMN_THREADS, 0, cuda_stream(c), data_of<T>(dx.t), data_of<T>(dy),
                                   data_of<int>(s->offsets), cols, pool == POOL_MEAN, dx.add));
}
