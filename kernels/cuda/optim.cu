#include "kernels/cuda/optim.cuh"

constexpr int THREADS = UPDATE_THREADS, LAST_THREADS = 512;

/* Where in which row a block works. */
struct row_part {
    int row;
    int64_t first, end;
};

__device__ inline struct row_part row_part_of(const struct update_table &t)
{
    struct table_chunk c = chunk_of(t);
    int64_t first = c.number * UPDATE_CHUNK, end = first + UPDATE_CHUNK, n = t.rows[c.row].n;
    return { c.row, first, end < n ? end : n };
}

/*
 * part[p] = sum of g^2 over chunk p of the table
 *
 * Grid     one block per chunk.
 * Memory   reads g once: bandwidth bound.
 * Numbers  f32 sums in an order fixed by the shapes.
 */
__global__ void __launch_bounds__(THREADS) square_part_kernel(float *__restrict__ part, struct update_table t)
{
    struct row_part s = row_part_of(t);
    const float *g = t.rows[s.row].g;
    float sum = 0, v[PACK];
    for (int64_t i = s.first + thread_id() * PACK; i < s.end; i += THREADS * PACK) {
        load_pack(v, g + i, s.end - i);
        for (int k = 0; k < PACK; k++)
            sum += v[k] * v[k];
    }
    sum = block_sum(sum);
    if (thread_id() == 0)
        part[block_id()] = sum;
}

/* What all elements of a row share: factors of the gradient, of w, of m, of sqrt(v). */
struct row_factors {
    float scale, keep, rate, root;
};

__device__ inline struct row_factors factors_of(const struct adamw &a, const struct update_row &r, float norm, float lr,
                                                int step)
{
    double rate = (double)lr * (double)r.lr_scale;
    struct row_factors f;
    f.scale = clip_scale(a.clip, norm);
    f.keep = (float)(1.0 - rate * (double)r.decay);
    f.rate = (float)(rate / (1.0 - pow((double)a.beta1, (double)step)));
    f.root = (float)(1.0 / sqrt(1.0 - pow((double)a.beta2, (double)step)));
    return f;
}

/*
 * norm = sum of part;  lr = the schedule at step rng[2];  rng[2] += 1;  the factors of every row
 *
 * Grid     one block; step count and rate live on the device, so that a captured step needs no host number.
 * Memory   reads part once.
 * Numbers  f32 sums in an order fixed by the shapes, the rest in f64.
 */
__global__ void __launch_bounds__(LAST_THREADS)
    adamw_prepare_kernel(float *__restrict__ norm, float *__restrict__ lr, int *__restrict__ rng,
                         struct row_factors *__restrict__ factors, const float *__restrict__ part,
                         struct update_table t)
{
    int step = rng[2];
    float sum = 0;
    for (int64_t i = thread_id(); i < t.chunks; i += LAST_THREADS)
        sum += part[i];
    sum = block_sum(sum); /* behind its barriers every thread has read the step */
    float rate = rate_at(t.rules->schedule, step);
    for (int i = thread_id(); i < t.n; i += LAST_THREADS)
        factors[i] = factors_of(t.rules->adamw, t.rows[i], sum, rate, step + 1);
    if (thread_id() == 0) {
        *norm = sum;
        *lr = rate;
        rng[2] = step + 1;
    }
}

__device__ inline void update_pack(const struct update_row &r, int64_t i, int64_t left, const struct adamw &a,
                                   const struct row_factors &f)
{
    float weight[PACK], mean[PACK], square[PACK], grad[PACK];
    load_pack(weight, r.w + i, left);
    load_pack(mean, r.state[0] + i - r.first, left);
    load_pack(square, r.state[1] + i - r.first, left);
    load_pack(grad, r.g + i, left);
    for (int k = 0; k < PACK; k++) {
        float x = f.scale * grad[k];
        mean[k] = a.beta1 * mean[k] + (1.0f - a.beta1) * x;
        square[k] = a.beta2 * square[k] + (1.0f - a.beta2) * x * x;
        weight[k] = f.keep * weight[k] - f.rate * mean[k] / (sqrtf(square[k]) * f.root + a.eps);
        grad[k] = 0;
    }
    store_pack(r.state[0] + i - r.first, mean, left);
    store_pack(r.state[1] + i - r.first, square, left);
    store_pack(r.g + i, grad, left);
    store_pack(r.w + i, weight, left);
    if (r.half)
        store_pack((bf16 *)r.half + i, weight, left);
}

/* Of a chunk that another rank updates. */
__device__ inline void clear_pack(const struct update_row &r, int64_t i, int64_t left)
{
    const float none[PACK] = {};
    store_pack(r.g + i, none, left);
}

/*
 * m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g^2;
 * w = (1 - lr decay) w - lr m / (1 - beta1^step) / (sqrt(v / (1 - beta2^step)) + eps);  g = 0
 *
 * Grid     one block per chunk of the table.
 * Memory   reads and writes w, m, v and g once, writes half: bandwidth bound; of other ranks' chunks writes g alone.
 * Numbers  f32; a BF16 weight is rounded from its master.
 */
__global__ void __launch_bounds__(THREADS)
    adamw_kernel(struct update_table t, const struct row_factors *__restrict__ factors)
{
    struct row_part s = row_part_of(t);
    const struct update_row r = t.rows[s.row];
    const struct row_factors f = factors[s.row];
    const struct adamw a = t.rules->adamw;
    bool own = s.first >= r.first && s.first < r.end;
    for (int64_t i = s.first + thread_id() * PACK; i < s.end; i += THREADS * PACK)
        if (own)
            update_pack(r, i, s.end - i, a, f);
        else
            clear_pack(r, i, s.end - i);
}

extern "C" void cuda_adamw(struct ctx *c, struct tensor *norm, struct tensor *lr, struct tensor *rng,
                           const struct update_table *t)
{
    size_t factor_bytes = (size_t)t->n * sizeof(struct row_factors);
    struct row_factors *factors =
        (struct row_factors *)cuda_scratch(c, factor_bytes + (size_t)t->chunks * sizeof(float));
    float *part = (float *)(factors + t->n);
    if (t->chunks)
        LAUNCH(square_part_kernel, blocks_for(t->chunks, 1), THREADS, 0, cuda_stream(c), part, *t);
    LAUNCH(adamw_prepare_kernel, 1, LAST_THREADS, 0, cuda_stream(c), data_of<float>(norm), data_of<float>(lr),
           data_of<int>(rng), factors, part, *t);
    if (t->chunks)
        LAUNCH(adamw_kernel, blocks_for(t->chunks, 1), THREADS, 0, cuda_stream(c), *t, factors);
}
