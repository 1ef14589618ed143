#include "kernels/cuda/cuda.cuh"

constexpr int THREADS = 256, LOSS_THREADS = 1024;

/*
 * loss = -sum_i weight[i] (t[i] log q[i] + (1 - t[i]) log(1 - q[i])), q = p within [least, 1 - least]
 *
 * Grid     one block: a batch has thousands of terms, not millions.
 * Memory   reads everything once.
 * Numbers  f32 sums in an order fixed by the shape.
 */
__global__ void __launch_bounds__(LOSS_THREADS)
    probability_bce_kernel(float *__restrict__ loss, const float *__restrict__ p, const float *__restrict__ target,
                           const float *__restrict__ weight, int64_t n, float least)
{
    float sum = 0;
    for (int64_t i = thread_id(); i < n; i += LOSS_THREADS) {
        float q = fminf(fmaxf(p[i], least), 1.0f - least);
        sum -= weight[i] * (target[i] * logf(q) + (1.0f - target[i]) * log1pf(-q));
    }
    sum = block_sum(sum);
    if (thread_id() == 0)
        *loss = sum;
}

/*
 * dp[i] (+)= dloss weight[i] ((1 - t[i]) / (1 - p[i]) - t[i] / p[i]), 0 where p was limited
 *
 * Grid     one thread per term.
 * Memory   reads everything once, writes dp once.
 * Numbers  in f32.
 */
__global__ void __launch_bounds__(THREADS)
    probability_bce_backward_kernel(float *__restrict__ dp, const float *__restrict__ dloss,
                                    const float *__restrict__ p, const float *__restrict__ target,
                                    const float *__restrict__ weight, int64_t n, float least, bool add)
{
    int64_t i = grid_thread();
    if (i >= n)
        return;
    bool moved = p[i] < least || p[i] > 1.0f - least;
    float slope = (1.0f - target[i]) / (1.0f - p[i]) - target[i] / p[i];
    put(dp + i, moved ? 0.0f : *dloss * weight[i] * slope, add);
}

extern "C" void cuda_probability_bce(struct ctx *c, struct tensor *loss, const struct tensor *p,
                                     const struct tensor *target, const struct tensor *weight, float least)
{
    LAUNCH(probability_bce_kernel, 1, LOSS_THREADS, 0, cuda_stream(c), data_of<float>(loss), data_of<float>(p),
           data_of<float>(target), data_of<float>(weight), tensor_size(p), least);
}

extern "C" void cuda_probability_bce_backward(struct ctx *c, struct destination dp, const struct tensor *dloss,
                                              const struct tensor *p, const struct tensor *target,
                                              const struct tensor *weight, float least)
{
    int64_t n = tensor_size(p);
    if (n && dp.t)
        LAUNCH(probability_bce_backward_kernel, blocks_for(n, THREADS), THREADS, 0, cuda_stream(c),
               data_of<float>(dp.t), data_of<float>(dloss), data_of<float>(p), data_of<float>(target),
               data_of<float>(weight), n, least, dp.add);
}
