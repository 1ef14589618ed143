/*
 * pair_features.cu - features of a pair of elements: both vectors, their absolute difference and their product.
 */
#include "kernels/cuda/cuda.cuh"

constexpr int ROWS = 4;

/*
 * y[p,:] = x[u], x[v], |x[u] - x[v]|, x[u] x[v], extra[p]
 *
 * Grid     one warp per pair, ROWS pairs per block.
 * Memory   reads two rows and the extra one, writes 4 C + F elements.
 * Numbers  in f32, one rounding.
 */
template <typename T>
__global__ void __launch_bounds__(ROWS *WARP)
    pair_features_kernel(T *__restrict__ y, const T *__restrict__ x, const int *__restrict__ u,
                         const int *__restrict__ v, const T *__restrict__ extra, int64_t pairs, int64_t cols,
                         int64_t more)
{
    int64_t p = grid_warp();
    if (p >= pairs)
        return;
    T *out = y + p * (4 * cols + more);
    for (int64_t j = lane_id() * PACK; j < cols; j += WARP * PACK) {
        float a[PACK], b[PACK], apart[PACK], product[PACK];
        load_pack(a, x + u[p] * cols + j, cols - j);
        load_pack(b, x + v[p] * cols + j, cols - j);
        for (int k = 0; k < PACK; k++) {
            apart[k] = fabsf(a[k] - b[k]);
            product[k] = a[k] * b[k];
        }
        store_pack(out + j, a, cols - j);
        store_pack(out + cols + j, b, cols - j);
        store_pack(out + 2 * cols + j, apart, cols - j);
        store_pack(out + 3 * cols + j, product, cols - j);
    }
    for (int64_t j = lane_id(); j < more; j += WARP)
        out[4 * cols + j] = extra[p * more + j];
}

/*
 * du[p,:] = dy0 + sign(x[u] - x[v]) dy2 + x[v] dy3;  dv[p,:] = dy1 - sign(x[u] - x[v]) dy2 + x[u] dy3
 *
 * Grid     one warp per pair, ROWS pairs per block.
 * Memory   reads six rows, writes two.
 * Numbers  in f32, one rounding; |0| has slope 0.
 */
template <typename T>
__global__ void __launch_bounds__(ROWS *WARP)
    pair_features_backward_kernel(T *__restrict__ du, T *__restrict__ dv, const T *__restrict__ dy,
                                  const T *__restrict__ x, const int *__restrict__ u, const int *__restrict__ v,
                                  int64_t pairs, int64_t cols, int64_t width)
{
    int64_t p = grid_warp();
    if (p >= pairs)
        return;
    for (int64_t j = lane_id() * PACK; j < cols; j += WARP * PACK) {
        float a[PACK], b[PACK], d[4][PACK];
        load_pack(a, x + u[p] * cols + j, cols - j);
        load_pack(b, x + v[p] * cols + j, cols - j);
        for (int i = 0; i < 4; i++)
            load_pack(d[i], dy + p * width + i * cols + j, cols - j);
        for (int k = 0; k < PACK; k++) {
            /* The derivative of |a - b|. */
            float away = a[k] > b[k] ? d[2][k] : a[k] < b[k] ? -d[2][k] : 0.0f;
            d[0][k] += away + b[k] * d[3][k];
            d[1][k] += a[k] * d[3][k] - away;
        }
        store_pack(du + p * cols + j, d[0], cols - j);
        store_pack(dv + p * cols + j, d[1], cols - j);
    }
}

extern "C" void cuda_pair_features(struct ctx *c, struct tensor *y, const struct tensor *x, const struct tensor *u,
                                   const struct tensor *v, const struct tensor *extra)
{
    int64_t pairs = tensor_size(u), cols = tensor_cols(x);
    if (tensor_size(y) == 0)
        return;
    DTYPE_SWITCH(x->dtype, LAUNCH(pair_features_kernel<T>, blocks_for(pairs, ROWS), ROWS * WARP, 0, cuda_stream(c),
                                  data_of<T>(y), data_of<T>(x), data_of<int>(u), data_of<int>(v), data_of<T>(extra),
                                  pairs, cols, tensor_cols(y) - 4 * cols));
}

extern "C" void cuda_pair_features_backward(struct ctx *c, struct tensor *du, struct tensor *dv,
                                            const struct tensor *dy, const struct tensor *x, const struct tensor *u,
                                            const struct tensor *v)
{
    int64_t pairs = tensor_size(u), cols = tensor_cols(x);
    if (tensor_size(du) == 0)
        return;
    DTYPE_SWITCH(x->dtype, LAUNCH(pair_features_backward_kernel<T>, blocks_for(pairs, ROWS), ROWS * WARP, 0,
                                  cuda_stream(c), data_of<T>(du), data_of<T>(dv), data_of<T>(dy), data_of<T>(x),
                                  data_of<int>(u), data_of<int>(v), pairs, cols, tensor_cols(dy)));
}
