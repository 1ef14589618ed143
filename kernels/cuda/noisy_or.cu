#include "kernels/cuda/activation.cuh"

constexpr int THREADS = 128;
constexpr float LOGIT_OF_NONE = -30.0f; /* of an empty segment */

/*
 * y[s] = log(exp(sum) - 1), the logit of 1 - prod (1 - sigmoid(x[t])), where sum adds softplus(x[t]) over segment s
 *
 * Grid     one warp per segment.
 * Memory   reads x once, writes y once.
 * Numbers  f32; two forms of the logarithm, so that neither overflows nor cancels; not below -30.
 */
__global__ void __launch_bounds__(THREADS) noisy_or_kernel(float *__restrict__ y, const float *__restrict__ x,
                                                           const int *__restrict__ offsets, int64_t segments)
{
    int64_t s = grid_warp();
    float sum = 0;
    if (s >= segments)
        return;
    for (int64_t t = offsets[s] + lane_id(); t < offsets[s + 1]; t += WARP)
        sum += softplus(x[t]);
    sum = warp_sum(sum);
    float logit = sum < 1.0f ? logf(expm1f(sum)) : sum + log1pf(-expf(-sum));
    if (lane_id() == 0)
        y[s] = fmaxf(logit, LOGIT_OF_NONE);
}

/*
 * dx[t] (+)= dy[s] sigmoid(x[t]) / sigmoid(y[s])
 *
 * Grid     one warp per segment.
 * Memory   reads x once, writes dx once.
 * Numbers  the quotient is taken of logarithms, which cannot overflow.
 */
__global__ void __launch_bounds__(THREADS)
    noisy_or_backward_kernel(float *__restrict__ dx, const float *__restrict__ dy, const float *__restrict__ x,
                             const float *__restrict__ y, const int *__restrict__ offsets, int64_t segments, bool add)
{
    int64_t s = grid_warp();
    if (s >= segments)
        return;
    for (int64_t t = offsets[s] + lane_id(); t < offsets[s + 1]; t += WARP)
        put(dx + t, dy[s] * expf(softplus(-y[s]) - softplus(-x[t])), add);
}

extern "C" void cuda_noisy_or(struct ctx *c, struct tensor *y, const struct tensor *x, const struct seqs *s)
{
    if (s->n)
        LAUNCH(noisy_or_kernel, blocks_for(s->n, THREADS / WARP), THREADS, 0, cuda_stream(c), data_of<float>(y),
               data_of<float>(x), data_of<int>(s->offsets), s->n);
}

extern "C" void cuda_noisy_or_backward(struct ctx *c, struct destination dx, const struct tensor *dy,
                                       const struct tensor *x, const struct tensor *y, const struct seqs *s)
{
    if (s->n && dx.t)
        LAUNCH(noisy_or_backward_kernel, blocks_for(s->n, THREADS / WARP), THREADS, 0, cuda_stream(c),
               data_of<float>(dx.t), data_of<float>(dy), data_of<float>(x), data_of<float>(y), data_of<int>(s->offsets),
               s->n, dx.add);
}
