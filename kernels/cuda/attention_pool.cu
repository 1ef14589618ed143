#include "kernels/cuda/columns.cuh"

constexpr int THREADS = 128;

/*
 * y[s,:] = sum of a[t] x[t,:] over the rows of segment s
 *
 * Grid     one block per segment and COLUMN_TILE columns; warps take turns at the rows.
 * Memory   reads x and a once, writes y once; 8 KiB of shared memory.
 * Numbers  f32 sums in an order fixed by the offsets.
 */
template <typename T>
__global__ void __launch_bounds__(COLUMN_THREADS)
    attention_pool_kernel(T *__restrict__ y, const float *__restrict__ a, const T *__restrict__ x,
                          const int *__restrict__ offsets, int64_t cols)
{
    int64_t s = tile_row(cols), j = tile_column(cols);
    float sum[PACK] = { 0 }, v[PACK];
    for (int64_t t = offsets[s] + warp_id(); t < offsets[s + 1]; t += COLUMN_WARPS) {
        load_pack(v, x + t * cols + j, cols - j);
        for (int k = 0; k < PACK; k++)
            sum[k] += a[t] * v[k];
    }
    sum_over_warps(sum);
    if (warp_id() == 0)
        store_pack(y + s * cols + j, sum, cols - j);
}

/*
 * dot[t] = dy[s] . x[t];  dx[t] (+)= a[t] dy[s];  dgate[t] (+)= a[t] (dot[t] - sum of a dot over the segment)
 *
 * Grid     one block per segment; warps take turns at the rows.
 * Memory   reads x once, writes dx once, dot goes through scratch.
 * Numbers  in f32; the sum runs in an order fixed by the offsets.
 */
template <typename T>
__global__ void __launch_bounds__(THREADS)
    attention_pool_backward_kernel(T *__restrict__ dx, bool dx_add, float *__restrict__ dgate, bool dgate_add,
                                   float *__restrict__ dot, const T *__restrict__ dy, const T *__restrict__ x,
                                   const float *__restrict__ a, const int *__restrict__ offsets, int64_t cols)
{
    int64_t s = block_id(), first = offsets[s], end = offsets[s + 1];
    float sum = 0;
    for (int64_t t = first + warp_id(); t < end; t += THREADS / WARP) {
        float d = 0, v[PACK], g[PACK];
        for (int64_t j = lane_id() * PACK; j < cols; j += WARP * PACK) {
            load_pack(v, x + t * cols + j, cols - j);
            load_pack(g, dy + s * cols + j, cols - j);
            for (int k = 0; k < PACK; k++) {
                d += g[k] * v[k];
                v[k] = a[t] * g[k];
            }
            if (dx)
                put_pack(dx + t * cols + j, v, cols - j, dx_add);
        }
        d = warp_sum(d);
        if (lane_id() == 0) {
            dot[t] = d;
            sum += a[t] * d;
        }
    }
    sum = block_sum(sum); /* its barriers also make dot visible to the other warps */
    for (int64_t t = first + thread_id(); dgate && t < end; t += THREADS)
        put(dgate + t, a[t] * (dot[t] - sum), dgate_add);
}

extern "C" void cuda_attention_pool(struct ctx *c, struct tensor *y, struct tensor *a, const struct tensor *x,
                                    const struct tensor *gate, const struct seqs *s)
{
    int64_t cols = tensor_cols(x);
    if (s->n == 0 || cols == 0)
        return;
    cuda_segment_softmax(c, a, gate, s);
    DTYPE_SWITCH(x->dtype, LAUNCH(attention_pool_kernel<T>, blocks_for(s->n * column_tiles(cols), 1), COLUMN_THREADS, 0,
                                  cuda_stream(c), data_of<T>(y), data_of<float>(a), data_of<T>(x),
                                  data_of<int>(s->offsets), cols));
}

extern "C" void cuda_attention_pool_backward(struct ctx *c, struct destination dx, struct destination dgate,
                                             const struct tensor *dy, const struct tensor *x, const struct tensor *a,
                                             const struct seqs *s)
{
    int64_t rows = tensor_rows(x), cols = tensor_cols(x);
    if (s->n == 0 || rows == 0)
        return;
    float *dot = (float *)cuda_scratch(c, (size_t)rows * sizeof(float));
    DTYPE_SWITCH(x->dtype, LAUNCH(attention_pool_backward_kernel<T>, blocks_for(s->n, 1), THREADS, 0, cuda_stream(c),
                                  data_of<T>(dx.t), dx.add, data_of<float>(dgate.t), dgate.add, dot, data_of<T>(dy),
                                  data_of<T>(x), data_of<float>(a), data_of<int>(s->offsets), cols));
}
