#include "kernels/cuda/activation.cuh"

constexpr int THREADS = 256, LOSS_THREADS = 1024;

/*
 * loss = scale sum_i weight[i] (pos_weight t[i] softplus(-x[i]) + (1 - t[i]) softplus(x[i]))
 *
 * Grid     one block: a batch has thousands of terms, not millions.
 * Memory   reads everything once.
 * Numbers  f32 sums in an order fixed by the shape.
 */
__global__ void __launch_bounds__(LOSS_THREADS)
    bce_kernel(float *__restrict__ loss, const float *__restrict__ x, const float *__restrict__ target,
               const float *__restrict__ weight, int64_t n, float pos_weight, float scale)
{
    float sum = 0;
    for (int64_t i = thread_id(); i < n; i += LOSS_THREADS)
        sum += (weight ? weight[i] : 1.0f) *
               (pos_weight * target[i] * softplus(-x[i]) + (1.0f - target[i]) * softplus(x[i]));
    sum = block_sum(sum);
    if (thread_id() == 0)
        *loss = scale * sum;
}

/*
 * dx[i] (+)= dloss scale weight[i] ((1 - t[i]) sigmoid(x[i]) - pos_weight t[i] sigmoid(-x[i]))
 *
 * Grid     one thread per term.
 * Memory   reads everything once, writes dx once.
 * Numbers  in f32.
 */
__global__ void __launch_bounds__(THREADS)
    bce_backward_kernel(float *__restrict__ dx, const float *__restrict__ dloss, const float *__restrict__ x,
                        const float *__restrict__ target, const float *__restrict__ weight, int64_t n, float pos_weight,
                        float scale, bool add)
{
    int64_t i = grid_thread();
    if (i >= n)
        return;
    float slope = (1.0f - target[i]) * sigmoid(x[i]) - pos_weight * target[i] * sigmoid(-x[i]);
    put(dx + i, scale * *dloss * (weight ? weight[i] : 1.0f) * slope, add);
}

extern "C" void cuda_bce(struct ctx *c, struct tensor *loss, const struct tensor *x, const struct tensor *target,
                         const struct tensor *weight, float pos_weight, float scale)
{
    LAUNCH(bce_kernel, 1, LOSS_THREADS, 0, cuda_stream(c), data_of<float>(loss), data_of<float>(x),
           data_of<float>(target), data_of<float>(weight), tensor_size(x), pos_weight, scale);
}

extern "C" void cuda_bce_backward(struct ctx *c, struct destination dx, const struct tensor *dloss,
                                  const struct tensor *x, const struct tensor *target, const struct tensor *weight,
                                  float pos_weight, float scale)
{
    int64_t n = tensor_size(x);
    if (n && dx.t)
        LAUNCH(bce_backward_kernel, blocks_for(n, THREADS), THREADS, 0, cuda_stream(c), data_of<float>(dx.t),
               data_of<float>(dloss), data_of<float>(x), data_of<float>(target), data_of<float>(weight), n, pos_weight,
               scale, dx.add);
}
