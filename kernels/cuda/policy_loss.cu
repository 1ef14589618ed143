/*
 * policy_loss.cu - the clipped policy loss of PPO (Schulman et al. 2017) for each token, with a divergence from the
 * start model.
 */
#include "kernels/cuda/cuda.cuh"

constexpr int THREADS = 256;

/* struct policy on the device. */
struct policy_rows {
    const float *drawn, *start, *advantage, *weight;
    float low, high, divergence;
};

static policy_rows rows_of(const struct policy *p)
{
    return { data_of<float>(p->drawn),
             p->start ? data_of<float>(p->start) : nullptr,
             data_of<float>(p->advantage),
             data_of<float>(p->weight),
             p->low,
             p->high,
             p->divergence };
}

/* The logarithm of a ratio of probabilities, limited so that its exponential is finite. */
__device__ __forceinline__ float log_ratio(float log_p, float other)
{
    return fminf(fmaxf(log_p - other, -POLICY_LOG_MAX), POLICY_LOG_MAX);
}

/* Whether the ratio has left the clip range on the side to which the advantage pushes it. */
__device__ __forceinline__ bool moved(float ratio, float advantage, const policy_rows &p)
{
    return advantage > 0.0f ? ratio > 1.0f + p.high : ratio < 1.0f - p.low;
}

/*
 * y = weight (divergence (exp(d) - d - 1) - min(r a, clip(r) a)); 0 where weight is 0
 *
 * r = exp(-nll - drawn) is the ratio to the sampling policy, d = nll - start, and clip(r) is r within [1 - low, 1 +
 * high].
 *
 * Grid     one thread per token.
 * Memory   reads everything once, writes y once.
 * Numbers  in f32; logarithms of ratios within POLICY_LOG_MAX.
 */
__global__ void __launch_bounds__(THREADS)
    policy_loss_kernel(float *__restrict__ y, const float *__restrict__ nll, policy_rows p, int64_t n)
{
    int64_t i = grid_thread();
    if (i >= n)
        return;
    float weight = p.weight[i];
    if (weight == 0.0f) {
        y[i] = 0.0f;
        return;
    }
    float a = p.advantage[i], ratio = expf(log_ratio(-nll[i], p.drawn[i])), more = 0.0f;
    if (moved(ratio, a, p))
        ratio = a > 0.0f ? 1.0f + p.high : 1.0f - p.low;
    if (p.start) {
        float d = log_ratio(nll[i], p.start[i]);
        more = p.divergence * (expm1f(d) - d);
    }
    y[i] = weight * (more - ratio * a);
}

/*
 * dnll (+)= dy weight (r a + divergence (exp(d) - 1)); the first term is 0 if r was clipped, each if its logarithm was
 *
 * Grid     one thread per token.
 * Memory   reads everything once, writes dnll once.
 * Numbers  in f32.
 */
__global__ void __launch_bounds__(THREADS)
    policy_loss_backward_kernel(float *__restrict__ dnll, const float *__restrict__ dy, const float *__restrict__ nll,
                                policy_rows p, int64_t n, bool add)
{
    int64_t i = grid_thread();
    if (i >= n)
        return;
    float weight = p.weight[i], slope = 0.0f;
    if (weight != 0.0f) {
        float a = p.advantage[i], from = -nll[i] - p.drawn[i], ratio = expf(log_ratio(-nll[i], p.drawn[i]));
        if (!moved(ratio, a, p) && fabsf(from) <= POLICY_LOG_MAX)
            slope = ratio * a;
        if (p.start && fabsf(nll[i] - p.start[i]) <= POLICY_LOG_MAX)
            slope += p.divergence * expm1f(nll[i] - p.start[i]);
        slope *= dy[i] * weight;
    }
    put(dnll + i, slope, add);
}

extern "C" void cuda_policy_loss(struct ctx *c, struct tensor *y, const struct tensor *nll, const struct policy *policy)
{
    int64_t n = tensor_size(nll);
    if (n)
        LAUNCH(policy_loss_kernel, blocks_for(n, THREADS), THREADS, 0, cuda_stream(c), data_of<float>(y),
               data_of<float>(nll), rows_of(policy), n);
}

extern "C" void cuda_policy_loss_backward(struct ctx *c, struct destination dnll, const struct tensor *dy,
                                          const struct tensor *nll, const struct policy *policy)
{
    int64_t n = tensor_size(nll);
    if (n && dnll.t)
        LAUNCH(policy_loss_backward_kernel, blocks_for(n, THREADS), THREADS, 0, cuda_stream(c), data_of<float>(dnll.t),
               data_of<float>(dy), data_of<float>(nll), rows_of(policy), n, dnll.add);
}
