#include "kernels/cuda/cuda.cuh"

constexpr int ROWS = 4;

/*
 * y[p] = scale a[u[p]] . b[v[p]]
 *
 * Grid     one warp per pair, ROWS pairs per block.
 * Memory   reads two rows a pair, which pairs beside one another share in the caches.
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

/*
 * d[p,:] = scale dy[p] x[ids[p],:]
 *
 * Grid     one warp per pair, ROWS pairs per block.
 * Memory   reads a row, writes a row.
 * Numbers  in f32, one rounding.
 */
template <typename T>
__global__ void __launch_bounds__(ROWS *WARP)
    pair_dot_backward_kernel(T *__restrict__ d, const float *__restrict__ dy, const T *__restrict__ x,
                             const int *__restrict__ ids, int64_t pairs, int64_t cols, float scale)
{
    int64_t p = grid_warp();
    if (p >= pairs)
        return;
    for (int64_t j = lane_id() * PACK; j < cols; j += WARP * PACK) {
        float v[PACK];
        load_pack(v, x + ids[p] * cols + j, cols - j);
        for (int k = 0; k < PACK; k++)
            v[k] *= scale * dy[p];
        store_pack(d + p * cols + j, v, cols - j);
    }
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

extern "C" void cuda_pair_dot_backward(struct ctx *c, struct tensor *d, const struct tensor *dy, const struct tensor *x,
                                       const struct tensor *ids, float scale)
{
    int64_t pairs = tensor_size(dy), cols = tensor_cols(x);
    if (pairs && cols)
        DTYPE_SWITCH(x->dtype,
                     LAUNCH(pair_dot_backward_kernel<T>, blocks_for(pairs, ROWS), ROWS * WARP, 0, cuda_stream(c),
                            data_of<T>(d), data_of<float>(dy), data_of<T>(x), data_of<int>(ids), pairs, cols, scale));
}
