#include "kernels/cuda/activation.cuh"

constexpr int THREADS = 256;

/*
 * y = a + b - log(1 + exp(a) + exp(b)): the logit of sigmoid(a) sigmoid(b)
 *
 * Grid     one thread per element.
 * Memory   reads a and b, writes y, once each.
 * Numbers  f32; two forms of the logarithm, so that neither overflows nor cancels.
 */
__global__ void __launch_bounds__(THREADS) and_logits_kernel(float *y, const float *a, const float *b, int64_t n)
{
    int64_t i = grid_thread();
    if (i >= n)
        return;
    float low = fminf(a[i], b[i]), high = fmaxf(a[i], b[i]);
    y[i] = high < 0 ? low + high - log1pf(expf(low) + expf(high)) : low - log1pf(expf(-high) + expf(low - high));
}

/*
 * da (+)= dy (1 + exp(b)) / (1 + exp(a) + exp(b))
 *
 * Grid     one thread per element.
 * Memory   reads dy, a and b once, da once when adding, writes da once.
 * Numbers  the quotient is sigmoid(softplus(b) - a), which cannot overflow.
 */
__global__ void __launch_bounds__(THREADS)
    and_logits_backward_kernel(float *da, const float *dy, const float *a, const float *b, int64_t n, bool add)
{
    int64_t i = grid_thread();
    if (i < n)
        put(da + i, dy[i] * expf(-softplus(a[i] - softplus(b[i]))), add);
}

extern "C" void cuda_and_logits(struct ctx *c, struct tensor *y, const struct tensor *a, const struct tensor *b)
{
    int64_t n = tensor_size(y);
    if (n)
        LAUNCH(and_logits_kernel, blocks_for(n, THREADS), THREADS, 0, cuda_stream(c), data_of<float>(y),
               data_of<float>(a), data_of<float>(b), n);
}

extern "C" void cuda_and_logits_backward(struct ctx *c, struct destination da, const struct tensor *dy,
                                         const struct tensor *a, const struct tensor *b)
{
    int64_t n = tensor_size(a);
    if (n && da.t)
        LAUNCH(and_logits_backward_kernel, blocks_for(n, THREADS), THREADS, 0, cuda_stream(c), data_of<float>(da.t),
               data_of<float>(dy), data_of<float>(a), data_of<float>(b), n, da.add);
}
