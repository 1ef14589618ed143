#include "kernels/cuda/cuda.cuh"

constexpr int THREADS = 256, LAST_THREADS = 1024;
constexpr int64_t SQUARE_PARTS = 1024;

/*
 * part[p] = sum of x^2 over the p-th cut of x
 *
 * Grid     at most SQUARE_PARTS blocks, each with a cut of its own.
 * Memory   reads x once: bandwidth bound.
 * Numbers  f32 sums in an order fixed by the shape.
 */
__global__ void __launch_bounds__(THREADS)
    square_part_kernel(float *__restrict__ part, const float *__restrict__ x, int64_t n, int64_t per)
{
    int64_t first = block_id() * per, end = first + per < n ? first + per : n;
    float sum = 0, v[PACK];
    for (int64_t i = first + thread_id() * PACK; i < end; i += THREADS * PACK) {
        load_pack(v, x + i, end - i);
        for (int k = 0; k < PACK; k++)
            sum += v[k] * v[k];
    }
    sum = block_sum(sum);
    if (thread_id() == 0)
        part[block_id()] = sum;
}

/*
 * y += sum of part
 *
 * Grid     one block.
 * Memory   reads part once.
 * Numbers  f32 sums in a fixed order.
 */
__global__ void __launch_bounds__(LAST_THREADS)
    square_finish_kernel(float *y, const float *__restrict__ part, int64_t n)
{
    float sum = 0;
    for (int64_t i = thread_id(); i < n; i += LAST_THREADS)
        sum += part[i];
    sum = block_sum(sum);
    if (thread_id() == 0)
        *y += sum;
}

extern "C" void cuda_sum_squares(struct ctx *c, struct tensor *y, const struct tensor *x)
{
    int64_t n = tensor_size(x), per = (n + SQUARE_PARTS - 1) / SQUARE_PARTS;
    if (n == 0)
        return;
    per = (per + THREADS * PACK - 1) / (THREADS * PACK) * (THREADS * PACK);
    int64_t parts = (n + per - 1) / per;
    float *part = (float *)cuda_scratch(c, (size_t)parts * sizeof(float));
    LAUNCH(square_part_kernel, blocks_for(parts, 1), THREADS, 0, cuda_stream(c), part, data_of<float>(x), n, per);
    LAUNCH(square_finish_kernel, 1, LAST_THREADS, 0, cuda_stream(c), data_of<float>(y), part, parts);
}

/*
 * lr = the schedule at step rng[2]; rng[2] += 1
 *
 * Grid     one thread: the step count lives on the device, so that a captured step needs no host number.
 * Memory   none to speak of.
 * Numbers  in f64.
 */
__global__ void schedule_kernel(float *lr, int *rng, struct schedule s)
{
    int64_t step = rng[2];
    double rate = s.lr;
    if (step < s.warmup) {
        rate *= (double)step / (double)s.warmup;
    } else if (step >= s.total) {
        rate = 0;
    } else {
        double u = (double)(step - s.warmup) / (double)(s.total - s.warmup);
        rate *= s.cosine ? 0.5 * (1.0 + cos(3.141592653589793 * u)) : 1.0 - u;
    }
    *lr = (float)rate;
    rng[2]++;
}

extern "C" void cuda_schedule(struct ctx *c, struct tensor *lr, struct tensor *rng, const struct schedule *s)
{
    LAUNCH(schedule_kernel, 1, 1, 0, cuda_stream(c), data_of<float>(lr), data_of<int>(rng), *s);
}

/* What all elements of one update share. */
struct adamw_factors {
    float scale, keep, rate, root; /* of the gradient, of w, of m, of sqrt(v) */
};

__device__ inline struct adamw_factors adamw_factors_of(const struct adamw &a, float norm, float lr, int step)
{
    double rate = (double)lr * (double)a.lr_scale, size = sqrt((double)norm);
    struct adamw_factors f;
    f.scale = a.clip > 0 && size > (double)a.clip ? (float)((double)a.clip / size) : 1.0f;
    f.keep = (float)(1.0 - rate * (double)a.decay);
    f.rate = (float)(rate / (1.0 - pow((double)a.beta1, (double)step)));
    f.root = (float)(1.0 / sqrt(1.0 - pow((double)a.beta2, (double)step)));
    return f;
}

/*
 * m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g^2;
 * w = (1 - lr decay) w - lr m / (1 - beta1^step) / (sqrt(v / (1 - beta2^step)) + eps);  g = 0
 *
 * Grid     one thread per PACK elements; the first of each block works out the factors in f64.
 * Memory   reads and writes w (master and copy), m, v and g once: bandwidth bound.
 * Numbers  f32; a BF16 weight is rounded from its master.
 */
template <typename T>
__global__ void __launch_bounds__(THREADS)
    adamw_kernel(T *__restrict__ w, float *__restrict__ master, float *__restrict__ m, float *__restrict__ v,
                 float *__restrict__ g, const float *__restrict__ norm, const float *__restrict__ lr,
                 const int *__restrict__ rng, int64_t n, struct adamw a)
{
    __shared__ struct adamw_factors f;
    int64_t i = grid_thread() * PACK, left = n - i;
    float weight[PACK], mean[PACK], square[PACK], grad[PACK];
    if (thread_id() == 0)
        f = adamw_factors_of(a, *norm, *lr, rng[2]);
    __syncthreads();
    if (left <= 0)
        return;
    if (master)
        load_pack(weight, master + i, left);
    else
        load_pack(weight, w + i, left);
    load_pack(mean, m + i, left);
    load_pack(square, v + i, left);
    load_pack(grad, g + i, left);
    for (int k = 0; k < PACK; k++) {
        float x = f.scale * grad[k];
        mean[k] = a.beta1 * mean[k] + (1.0f - a.beta1) * x;
        square[k] = a.beta2 * square[k] + (1.0f - a.beta2) * x * x;
        weight[k] = f.keep * weight[k] - f.rate * mean[k] / (sqrtf(square[k]) * f.root + a.eps);
        grad[k] = 0;
    }
    store_pack(m + i, mean, left);
    store_pack(v + i, square, left);
    store_pack(g + i, grad, left);
    if (master)
        store_pack(master + i, weight, left);
    store_pack(w + i, weight, left);
}

extern "C" void cuda_adamw(struct ctx *c, struct tensor *w, struct tensor *master, struct tensor *m, struct tensor *v,
                           struct tensor *g, const struct tensor *norm, const struct tensor *lr,
                           const struct tensor *rng, const struct adamw *a)
{
    int64_t n = tensor_size(w);
    if (n == 0)
        return;
    DTYPE_SWITCH(w->dtype,
                 LAUNCH(adamw_kernel<T>, blocks_for(n, THREADS * PACK), THREADS, 0, cuda_stream(c), data_of<T>(w),
                        data_of<float>(master), data_of<float>(m), data_of<float>(v), data_of<float>(g),
                        data_of<float>(norm), data_of<float>(lr), data_of<int>(rng), n, *a));
}
