#include "kernels/cuda/cuda.cuh"

constexpr int THREADS = 256;

/*
 * cache[ids[t],:] = x[t,:] for each ids[t] that is not negative
 *
 * Grid     one thread per PACK elements of a row.
 * Memory   reads x and writes its rows once.
 * Numbers  copies.
 */
template <typename T>
__global__ void __launch_bounds__(THREADS) cache_rows_kernel(T *__restrict__ cache, const T *__restrict__ x,
                                                             const int *__restrict__ ids, int64_t rows, int64_t cols)
{
    int64_t packs = (cols + PACK - 1) / PACK, i = grid_thread(), t = i / packs, j = i % packs * PACK;
    float v[PACK];
    if (t >= rows || ids[t] < 0)
        return;
    load_pack(v, x + t * cols + j, cols - j);
    store_pack(cache + ids[t] * cols + j, v, cols - j);
}

extern "C" void cuda_cache_rows(struct ctx *c, struct tensor *cache, const struct tensor *x, const struct tensor *ids)
{
    int64_t rows = tensor_rows(x), cols = tensor_cols(x), packs = (cols + PACK - 1) / PACK;
    if (rows * cols == 0)
        return;
    DTYPE_SWITCH(x->dtype, LAUNCH(cache_rows_kernel<T>, blocks_for(rows * packs, THREADS), THREADS, 0, cuda_stream(c),
                                  data_of<T>(cache), data_of<T>(x), data_of<int>(ids), rows, cols));
}
