#include "kernels/cuda/cuda.cuh"

constexpr int THREADS = 128, LOSS_THREADS = 1024;

/*
 * lse[t] = log sum exp(x[t,:]);  term[t] = lse[t] - x[t,target[t]], 0 where target[t] < 0
 *
 * Grid     one block per row.
 * Memory   reads x twice (DRAM, then L1 or L2).
 * Numbers  the largest element is taken out first; f32 sums in a fixed order.
 */
template <typename T>
__global__ void __launch_bounds__(THREADS)
    cross_entropy_kernel(float *__restrict__ term, float *__restrict__ lse, const T *__restrict__ x,
                         const int *__restrict__ target, int64_t cols)
{
    int64_t t = block_id();
    float most = -INFINITY, sum = 0, v[PACK];
    x += t * cols;
    for (int64_t j = thread_id() * PACK; j < cols; j += THREADS * PACK) {
        load_pack(v, x + j, cols - j);
        for (int k = 0; k < PACK; k++)
            most = j + k < cols ? fmaxf(most, v[k]) : most;
    }
    most = block_max(most);
    for (int64_t j = thread_id() * PACK; j < cols; j += THREADS * PACK) {
        load_pack(v, x + j, cols - j);
        for (int k = 0; k < PACK; k++)
            sum += j + k < cols ? expf(v[k] - most) : 0.0f;
    }
    sum = block_sum(sum);
    if (thread_id() == 0) {
        lse[t] = most + logf(sum);
        term[t] = target[t] >= 0 ? most + logf(sum) - (float)x[target[t]] : 0.0f;
    }
}

/*
 * loss = scale sum of term
 *
 * Grid     one block.
 * Memory   reads term once.
 * Numbers  f32 sums in an order fixed by the shape.
 */
__global__ void __launch_bounds__(LOSS_THREADS)
    sum_terms_kernel(float *__restrict__ loss, const float *__restrict__ term, int64_t n, float scale)
{
    float sum = 0;
    for (int64_t i = thread_id(); i < n; i += LOSS_THREADS)
        sum += term[i];
    sum = block_sum(sum);
    if (thread_id() == 0)
        *loss = scale * sum;
}

/*
 * dx[t,j] (+)= dloss scale (exp(x[t,j] - lse[t]) - (j == target[t])), 0 where target[t] < 0
 *
 * Grid     one thread per PACK columns of a row.
 * Memory   reads x once, writes dx once.
 * Numbers  in f32, one rounding.
 */
template <typename T>
__global__ void __launch_bounds__(THREADS)
    cross_entropy_backward_kernel(T *__restrict__ dx, const float *__restrict__ dloss, const float *__restrict__ lse,
                                  const T *__restrict__ x, const int *__restrict__ target, int64_t rows, int64_t cols,
                                  float scale, bool add)
{
    int64_t packs = (cols + PACK - 1) / PACK, t = grid_thread() / packs, j = grid_thread() % packs * PACK;
    float v[PACK];
    if (t >= rows)
        return;
    int64_t want = target[t];
    float factor = want >= 0 ? scale * *dloss : 0.0f;
    load_pack(v, x + t * cols + j, cols - j);
    for (int k = 0; k < PACK; k++)
        v[k] = want >= 0 ? factor * (expf(v[k] - lse[t]) - (j + k == want ? 1.0f : 0.0f)) : 0.0f;
    put_pack(dx + t * cols + j, v, cols - j, add);
}

extern "C" void cuda_cross_entropy(struct ctx *c, struct tensor *loss, struct tensor *lse, const struct tensor *x,
                                   const struct tensor *target, float scale)
{
    int64_t rows = x->shape[0], cols = x->shape[1];
    float *term = (float *)cuda_scratch(c, (size_t)rows * sizeof(float));
    if (rows)
        DTYPE_SWITCH(x->dtype, LAUNCH(cross_entropy_kernel<T>, blocks_for(rows, 1), THREADS, 0, cuda_stream(c), term,
                                      data_of<float>(lse), data_of<T>(x), data_of<int>(target), cols));
    LAUNCH(sum_terms_kernel, 1, LOSS_THREADS, 0, cuda_stream(c), data_of<float>(loss), term, rows, scale);
}

extern "C" void cuda_cross_entropy_backward(struct ctx *c, struct destination dx, const struct tensor *dloss,
                                            const struct tensor *lse, const struct tensor *x,
                                            const struct tensor *target, float scale)
{
    int64_t rows = x->shape[0], cols = x->shape[1];
    if (rows == 0 || cols == 0 || !dx.t)
        return;
    DTYPE_SWITCH(x->dtype,
                 LAUNCH(cross_entropy_backward_kernel<T>, blocks_for(rows * ((cols + PACK - 1) / PACK), THREADS),
                        THREADS, 0, cuda_stream(c), data_of<T>(dx.t), data_of<float>(dloss), data_of<float>(lse),
                        data_of<T>(x), data_of<int>(target), rows, cols, scale, dx.add));
}
