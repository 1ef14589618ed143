#include "kernels/cuda/cuda.cuh"

constexpr int THREADS = 256, SUM_THREADS = 1024;

/*
 * y = scale sum x
 *
 * Grid     one block: a batch has thousands of terms, not millions.
 * Memory   reads x once.
 * Numbers  f32 sums in an order fixed by the shape.
 */
__global__ void __launch_bounds__(SUM_THREADS)
    sum_kernel(float *__restrict__ y, const float *__restrict__ x, int64_t n, const float *__restrict__ scale)
{
    float sum = 0;
    for (int64_t i = thread_id(); i < n; i += SUM_THREADS)
        sum += x[i];
    sum = block_sum(sum);
    if (thread_id() == 0)
        *y = *scale * sum;
}

/*
 * dx[i] (+)= scale dy
 *
 * Grid     one thread per term.
 * Memory   reads dx once when adding, writes it once.
 * Numbers  in f32.
 */
__global__ void __launch_bounds__(THREADS) sum_backward_kernel(float *__restrict__ dx, const float *__restrict__ dy,
                                                               int64_t n, const float *__restrict__ scale, bool add)
{
    int64_t i = grid_thread();
    if (i < n)
        put(dx + i, *scale * *dy, add);
}

extern "C" void cuda_sum(struct ctx *c, struct tensor *y, const struct tensor *x, const struct tensor *scale)
{
    LAUNCH(sum_kernel, 1, SUM_THREADS, 0, cuda_stream(c), data_of<float>(y), data_of<float>(x), tensor_size(x),
           data_of<float>(scale));
}

extern "C" void cuda_sum_backward(struct ctx *c, struct destination dx, const struct tensor *dy,
                                  const struct tensor *scale)
{
    int64_t n = dx.t ? tensor_size(dx.t) : 0;
    if (n)
        LAUNCH(sum_backward_kernel, blocks_for(n, THREADS), THREADS, 0, cuda_stream(c), data_of<float>(dx.t),
               data_of<float>(dy), n, data_of<float>(scale), dx.add);
}
