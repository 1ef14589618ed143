#include "kernels/cuda/columns.cuh"

/*
 * y[t,:] = x[ids[t],:]
 *
 * Grid     one warp per row, ROWS rows per block.
 * Memory   reads and writes each row once, 16 bytes a lane.
 * Numbers  exact.
 */
constexpr int ROWS = 4;

template <typename T>
__global__ void __launch_bounds__(ROWS *WARP)
    gather_kernel(T *__restrict__ y, const T *__restrict__ x, const int *__restrict__ ids, int64_t rows, int64_t cols)
{
    int64_t t = grid_warp();
    if (t >= rows)
        return;
    for (int64_t j = lane_id() * PACK; j < cols; j += WARP * PACK) {
        float v[PACK];
        load_pack(v, x + ids[t] * cols + j, cols - j);
        store_pack(y + t * cols + j, v, cols - j);
    }
}

extern "C" void cuda_gather(struct ctx *c, struct tensor *y, const struct tensor *x, const struct tensor *ids)
{
    int64_t rows = tensor_size(ids);
    if (tensor_size(y) == 0)
        return;
    DTYPE_SWITCH(x->dtype, LAUNCH(gather_kernel<T>, blocks_for(rows, ROWS), ROWS * WARP, 0, cuda_stream(c),
                                  data_of<T>(y), data_of<T>(x), data_of<int>(ids), rows, tensor_cols(x)));
}

/*
 * y[uniq[u],:] (+)= sum of x[order[s],:] for s in start[u] .. start[u+1]
 *
 * Grid     one block per u and COLUMN_TILE columns.  Its warps take turns at the rows: all of them may be those of one
 *          u, such as a token type or a position.
 * Memory   reads each row of x once, writes each row of y once; 8 KiB of shared memory.
 * Numbers  f32 sums in an order fixed by the index; no atomics.
 */
template <typename T, typename U>
__global__ void __launch_bounds__(COLUMN_THREADS)
    scatter_kernel(U *__restrict__ y, const T *__restrict__ x, const int *__restrict__ uniq,
                   const int *__restrict__ start, const int *__restrict__ order, int64_t cols, bool add)
{
    int64_t u = tile_row(cols), j = tile_column(cols), row = uniq[u];
    float sum[PACK] = { 0 }, v[PACK];
    if (row < 0) /* the whole block returns: uniq ends here */
        return;
    for (int64_t s = start[u] + warp_id(); s < start[u + 1]; s += COLUMN_WARPS) {
        load_pack(v, x + order[s] * cols + j, cols - j);
        for (int k = 0; k < PACK; k++)
            sum[k] += v[k];
    }
    sum_over_warps(sum);
    if (warp_id() == 0)
        put_pack(y + row * cols + j, sum, cols - j, add);
}

extern "C" void cuda_scatter(struct ctx *c, struct destination y, const struct tensor *x, const struct index *i)
{
    int64_t cols = tensor_cols(x);
    if (!y.t)
        return;
    if (!y.add)
        cuda_fill(c, y.t, 0);
    if (i->n == 0 || cols == 0)
        return;
    DTYPE_SWITCH_2(x->dtype, y.t->dtype,
                   LAUNCH((scatter_kernel<T, U>), blocks_for(i->n * column_tiles(cols), 1), COLUMN_THREADS, 0,
                          cuda_stream(c), data_of<U>(y.t), data_of<T>(x), data_of<int>(i->uniq), data_of<int>(i->start),
                          data_of<int>(i->order), cols, y.add));
}
