#include "kernels/cuda/cuda.cuh"

constexpr int THREADS = 128;

/*
 * y[t] = exp(x[t] - max) / sum, max and sum over t's segment
 *
 * Grid     one warp per segment.
 * Memory   reads x three times, writes y once: segments are words of a question or elements of a schema.
 * Numbers  f32 sums in an order fixed by the offsets.
 */
__global__ void __launch_bounds__(THREADS) segment_softmax_kernel(float *__restrict__ y, const float *__restrict__ x,
                                                                  const int *__restrict__ offsets, int64_t segments)
{
    int64_t s = grid_warp();
    float max = -INFINITY, sum = 0;
    if (s >= segments)
        return;
    for (int64_t t = offsets[s] + lane_id(); t < offsets[s + 1]; t += WARP)
        max = fmaxf(max, x[t]);
    max = warp_max(max);
    for (int64_t t = offsets[s] + lane_id(); t < offsets[s + 1]; t += WARP)
        sum += expf(x[t] - max);
    sum = warp_sum(sum);
    for (int64_t t = offsets[s] + lane_id(); t < offsets[s + 1]; t += WARP)
        y[t] = expf(x[t] - max) / sum;
}

/*
 * dx[t] (+)= y[t] (dy[t] - sum over t's segment of dy y)
 *
 * Grid     one warp per segment.
 * Memory   reads y and dy twice, writes dx once.
 * Numbers  as above.
 */
__global__ void __launch_bounds__(THREADS)
    segment_softmax_backward_kernel(float *__restrict__ dx, const float *__restrict__ dy, const float *__restrict__ y,
                                    const int *__restrict__ offsets, int64_t segments, bool add)
{
    int64_t s = grid_warp();
    float sum = 0;
    if (s >= segments)
        return;
    for (int64_t t = offsets[s] + lane_id(); t < offsets[s + 1]; t += WARP)
        sum += dy[t] * y[t];
    sum = warp_sum(sum);
    for (int64_t t = offsets[s] + lane_id(); t < offsets[s + 1]; t += WARP)
        put(dx + t, y[t] * (dy[t] - sum), add);
}

extern "C" void cuda_segment_softmax(struct ctx *c, struct tensor *y, const struct tensor *x, const struct seqs *s)
{
    if (s->n)
        LAUNCH(segment_softmax_kernel, blocks_for(s->n, THREADS / WARP), THREADS, 0, cuda_stream(c), data_of<float>(y),
               data_of<float>(x), data_of<int>(s->offsets), s->n);
}

extern "C" void cuda_segment_softmax_backward(struct ctx *c, struct destination dx, const struct tensor *dy,
                                              const struct tensor *y, const struct seqs *s)
{
    if (s->n && dx.t)
        LAUNCH(segment_softmax_backward_kernel, blocks_for(s->n, THREADS / WARP), THREADS, 0, cuda_stream(c),
               data_of<float>(dx.t), data_of<float>(dy), data_of<float>(y), data_of<int>(s->offsets), s->n, dx.add);
}
