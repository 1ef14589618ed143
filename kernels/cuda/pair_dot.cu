#include "kernels/cuda/columns.cuh"

constexpr int ROWS = 4;

/*
 * y[p] = scale a[u[p]] . b[v[p]]
 *
 * Grid     one warp per pair, ROWS pairs per block.
 * Memory   reads two rows a pair; neighbouring pairs share rows in the caches.
 * Numbers  f32 sums in an order fixed by the columns.
 */
template <typename T>
__global__ void __launch_bounds__(ROWS *WARP)
    pair_dot_kernel(float *__restrict__ y, const T *__restrict__ a, const T *__restrict__ b, const int *__restrict__ u,
                    const int *__restrict__ v, int64_t pairs, int64_t cols, float scale)
{
    int64_t p = grid_warp();
    float sum = 0;
    if (p >= pairs)
        return;
    for (int64_t j = lane_id() * PACK; j < cols; j += WARP * PACK) {
        float s[PACK], t[PACK];
        load_pack(s, a + u[p] * cols + j, cols - j);
        load_pack(t, b + v[p] * cols + j, cols - j);
        for (int k = 0; k < PACK; k++)
            sum += s[k] * t[k];
    }
    sum = warp_sum(sum);
    if (lane_id() == 0)
        y[p] = scale * sum;
}

/* d = 0 for PACK columns of a row. */
template <typename U>
__device__ inline void clear_pack(U *d, int64_t left)
{
    const float none[PACK] = { 0 };
    store_pack(d, none, left);
}

/*
 * d[uniq[u],:] (+)= scale sum of dy[p] x[ids[p],:], p = order[s] for s in start[u] .. start[u+1]
 *
 * Grid     one block per u and COLUMN_TILE columns; its warps take turns at the pairs.
 * Memory   reads a row of x a pair, from L2 if pairs share it, writes each row of d once; 8 KiB of shared memory.
 *          Without add, a block also clears the rows between its own and that of the next u.
 * Numbers  f32 sums in an order fixed by the index, one rounding.
 */
template <typename T, typename U>
__global__ void __launch_bounds__(COLUMN_THREADS)
    pair_dot_backward_kernel(U *__restrict__ d, const float *__restrict__ dy, const T *__restrict__ x,
                             const int *__restrict__ uniq, const int *__restrict__ start, const int *__restrict__ order,
                             const int *__restrict__ ids, int64_t n, int64_t rows, int64_t cols, float scale, bool add)
{
    int64_t u = tile_row(cols), j = tile_column(cols), row = uniq[u], next = u + 1 < n ? uniq[u + 1] : -1;
    float sum[PACK] = { 0 }, v[PACK];
    if (row < 0) /* the whole block returns: uniq ends here */
        return;
    for (int64_t s = start[u] + warp_id(); s < start[u + 1]; s += COLUMN_WARPS) {
        int64_t p = order[s];
        float w = scale * dy[p];
        load_pack(v, x + ids[p] * cols + j, cols - j);
        for (int k = 0; k < PACK; k++)
            sum[k] += w * v[k];
    }
    sum_over_warps(sum);
    if (warp_id() == 0)
        put_pack(d + row * cols + j, sum, cols - j, add);
    for (int64_t r = (u ? row + 1 : 0) + warp_id(); !add && r < (next < 0 ? rows : next); r += COLUMN_WARPS)
        if (r != row)
            clear_pack(d + r * cols + j, cols - j);
}

extern "C" void cuda_pair_dot(struct ctx *c, struct tensor *y, const struct tensor *a, const struct tensor *b,
                              const struct tensor *u, const struct tensor *v, float scale)
{
    int64_t pairs = tensor_size(y);
    if (pairs)
        DTYPE_SWITCH(a->dtype, LAUNCH(pair_dot_kernel<T>, blocks_for(pairs, ROWS), ROWS * WARP, 0, cuda_stream(c),
                                      data_of<float>(y), data_of<T>(a), data_of<T>(b), data_of<int>(u), data_of<int>(v),
                                      pairs, tensor_cols(a), scale));
}

extern "C" void cuda_pair_dot_backward(struct ctx *c, struct destination d, const struct tensor *dy,
                                       const struct tensor *x, const struct index *i, const struct tensor *ids,
                                       float scale)
{
    if (!d.t || tensor_size(d.t) == 0)
        return;
    if (i->n == 0) {
        if (!d.add)
            cuda_fill(c, d.t, 0);
        return;
    }
    /* The list of different rows is as long as that of the pairs, but never has more entries than d has rows. */
    int64_t cols = tensor_cols(x), rows = tensor_rows(d.t), different = i->n < rows ? i->n : rows;
    DTYPE_SWITCH_2(x->dtype, d.t->dtype,
                   LAUNCH((pair_dot_backward_kernel<T, U>), blocks_for(different * column_tiles(cols), 1),
                          COLUMN_THREADS, 0, cuda_stream(c), data_of<U>(d.t), data_of<float>(dy), data_of<T>(x),
                          data_of<int>(i->uniq), data_of<int>(i->start), data_of<int>(i->order), data_of<int>(ids),
                          i->n, rows, cols, scale, d.add));
}
