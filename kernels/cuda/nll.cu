#include "kernels/cuda/cuda.cuh"

constexpr int ROW_THREADS = 512, THREADS = 256;

/* Extends the largest of some numbers, and the sum of exp(number - largest), by a pack. */
__device__ inline void take_pack(float *most, float *sum, const float (&v)[PACK])
{
    float high = *most;
    for (int k = 0; k < PACK; k++)
        high = fmaxf(high, v[k]);
    if (high == -INFINITY) /* -infinity minus itself would be NaN */
        return;
    float add = 0;
    for (int k = 0; k < PACK; k++)
        add += expf(v[k] - high);
    *sum = *sum * expf(*most - high) + add;
    *most = high;
}

/*
 * lse[t] = log sum exp(z[t,:]);  y[t] = lse[t] - z[t,target[t]], 0 where target[t] < 0
 *
 * Grid     one block per row.
 * Memory   reads z once: bandwidth bound.
 * Numbers  each thread rescales its f32 sum to the largest element so far; partial sums in a fixed order.
 */
__global__ void __launch_bounds__(ROW_THREADS)
    nll_kernel(float *__restrict__ y, float *__restrict__ lse, const float *__restrict__ z,
               const int *__restrict__ target, int64_t cols)
{
    int64_t t = block_id();
    float most = -INFINITY, sum = 0, v[PACK];
    z += t * cols;
    for (int64_t j = thread_id() * PACK; j < cols; j += ROW_THREADS * PACK) {
        load_pack(v, z + j, cols - j);
        for (int k = 0; k < PACK; k++)
            v[k] = j + k < cols ? v[k] : -INFINITY;
        take_pack(&most, &sum, v);
    }
    float all = block_max(most);
    sum = block_sum(sum * expf(most - all));
    if (thread_id() == 0) {
        lse[t] = all + logf(sum);
        y[t] = target[t] >= 0 ? all - z[target[t]] + logf(sum) : 0.0f;
    }
}

/*
 * y = cap tanh(y / cap)
 *
 * Grid     one thread per PACK numbers.
 * Memory   reads and writes y once: bandwidth bound.
 */
__global__ void __launch_bounds__(THREADS) soft_cap_kernel(float *y, int64_t n, float cap)
{
    int64_t at = grid_thread() * PACK;
    float v[PACK];
    if (at >= n)
        return;
    load_pack(v, y + at, n - at);
    for (int k = 0; k < PACK; k++)
        v[k] = cap * tanhf(v[k] / cap);
    store_pack(y + at, v, n - at);
}

extern "C" void cuda_soft_cap(struct ctx *c, struct tensor *y, float cap)
{
    int64_t n = tensor_size(y);
    if (n)
        LAUNCH(soft_cap_kernel, blocks_for(n, THREADS * PACK), THREADS, 0, cuda_stream(c), data_of<float>(y), n, cap);
}

/*
 * dz[t,j] = dy[t] (exp(z[t,j] - lse[t]) - (j == target[t])), 0 where target[t] < 0; with a cap times 1 - (z / cap)^2
 *
 * Grid     one thread per PACK columns of a row.
 * Memory   reads z once, writes dz once: bandwidth bound.
 * Numbers  in f32, one rounding.
 */
template <typename T>
__global__ void __launch_bounds__(THREADS)
    nll_backward_kernel(T *dz, const float *__restrict__ dy, const float *__restrict__ lse, const float *z,
                        const int *__restrict__ target, int64_t rows, int64_t cols, float cap) /* dz may be z */
{
    int64_t packs = (cols + PACK - 1) / PACK, t = grid_thread() / packs, j = grid_thread() % packs * PACK;
    float v[PACK];
    if (t >= rows)
        return;
    int64_t want = target[t];
    float factor = want >= 0 ? dy[t] : 0.0f;
    load_pack(v, z + t * cols + j, cols - j);
    for (int k = 0; k < PACK; k++) {
        float share = cap > 0 ? v[k] / cap : 0.0f, slope = factor * (1.0f - share * share);
        v[k] = want >= 0 ? slope * (expf(v[k] - lse[t]) - (j + k == want ? 1.0f : 0.0f)) : 0.0f;
    }
    store_pack(dz + t * cols + j, v, cols - j);
}

extern "C" void cuda_nll(struct ctx *c, struct tensor *y, struct tensor *lse, const struct tensor *z,
                         const struct tensor *target)
{
    if (z->shape[0])
        LAUNCH(nll_kernel, blocks_for(z->shape[0], 1), ROW_THREADS, 0, cuda_stream(c), data_of<float>(y),
               data_of<float>(lse), data_of<float>(z), data_of<int>(target), z->shape[1]);
}

extern "C" void cuda_nll_backward(struct ctx *c, struct tensor *dz, const struct tensor *dy, const struct tensor *lse,
                                  const struct tensor *z, const struct tensor *target, float cap)
{
    int64_t rows = z->shape[0], cols = z->shape[1];
    if (rows == 0 || cols == 0)
        return;
    DTYPE_SWITCH(dz->dtype, LAUNCH(nll_backward_kernel<T>, blocks_for(rows * ((cols + PACK - 1) / PACK), THREADS),
                                   THREADS, 0, cuda_stream(c), data_of<T>(dz), data_of<float>(dy), data_of<float>(lse),
                                   data_of<float>(z), data_of<int>(target), rows, cols, cap));
}
