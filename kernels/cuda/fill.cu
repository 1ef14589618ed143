#include "kernels/cuda/cuda.cuh"

/*
 * y = value
 *
 * Grid     one thread per PACK elements.
 * Memory   writes y once.
 * Numbers  exact.
 */
constexpr int THREADS = 256;

template <typename T>
__global__ void __launch_bounds__(THREADS) fill_kernel(T *__restrict__ y, int64_t n, float value)
{
    int64_t i = grid_thread() * PACK;
    float v[PACK];
    for (int k = 0; k < PACK; k++)
        v[k] = value;
    if (i < n)
        store_pack(y + i, v, n - i);
}

extern "C" void cuda_fill(struct ctx *c, struct tensor *y, float value)
{
    int64_t n = tensor_size(y);
    if (n == 0)
        return;
    DTYPE_SWITCH(y->dtype, LAUNCH(fill_kernel<T>, blocks_for(n, THREADS * PACK), THREADS, 0, cuda_stream(c),
                                  data_of<T>(y), n, value));
}
