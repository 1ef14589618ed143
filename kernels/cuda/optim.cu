/*
 * optim.cu - AdamW (Loshchilov and Hutter 2019) for all parameters at once, with moments in f32 or in bytes.
 */
#include "kernels/cuda/optim.cuh"

constexpr int THREADS = UPDATE_THREADS;

/* The range of elements that a block updates, and their row of the table. */
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

/* Factors that all elements of a row share: of the gradient, of w, of m, of sqrt(v). */
struct row_factors {
    float scale, keep, rate, root;
};

__device__ inline struct row_factors factors_of(const struct adamw &a, const struct update_row &r, float norm, float lr,
                                                int step)
{
    /* Computed in f64 once a row, so that the powers of beta do not lose bits in long trainings. */
    double rate = (double)lr * (double)r.lr_scale;
    struct row_factors f;
    f.scale = clip_scale(a.clip, norm);
    f.keep = (float)(1.0 - rate * (double)r.decay);
    f.rate = (float)(rate / (1.0 - pow((double)a.beta1, (double)step)));
    f.root = (float)(1.0 / sqrt(1.0 - pow((double)a.beta2, (double)step)));
    return f;
}

/* Returns the sum of g^2 over the chunk of this block, to every thread. */
__device__ inline float squares_of_chunk(const struct update_table &t)
{
    struct row_part s = row_part_of(t);
    const float *g = t.rows[s.row].g;
    float sum = 0, v[PACK];
    for (int64_t i = s.first + thread_id() * PACK; i < s.end; i += THREADS * PACK) {
        load_pack(v, g + i, s.end - i);
        for (int k = 0; k < PACK; k++)
            sum += v[k] * v[k];
    }
    return block_sum(sum);
}

/*
 * part[p] = sum of g^2 over chunk p of the table;  norm = sum of part
 *
 * lr = the schedule at step rng[2];  rng[2] += 1;  the factors of every row
 *
 * Grid     one block per chunk, or one block without chunks.  The last block to end computes all but part.  Step count
 *          and rate live on the device, so that a captured step needs no host number.
 * Memory   reads g once: bandwidth bound.
 * Numbers  f32 sums in an order fixed by the shapes, the rest in f64.
 */
__global__ void __launch_bounds__(THREADS)
    adamw_prepare_kernel(float *__restrict__ norm, float *__restrict__ lr, int *__restrict__ rng,
                         struct row_factors *__restrict__ factors, float *part, struct update_table t, int *arrived)
{
    float sum = t.chunks ? squares_of_chunk(t) : 0.0f;
    if (t.chunks && thread_id() == 0)
        part[block_id()] = sum;
    if (!last_to_arrive(arrived, (int)(t.chunks ? t.chunks : 1)))
        return;
    int step = rng[2];
    sum = 0;
    for (int64_t i = thread_id(); i < t.chunks; i += THREADS)
        sum += part[i];
    sum = block_sum(sum); /* its barriers separate the reads of the step from its update */
    float rate = rate_at(t.rules->schedule, step);
    for (int i = thread_id(); i < t.n; i += THREADS)
        factors[i] = factors_of(t.rules->adamw, t.rows[i], sum, rate, step + 1);
    if (thread_id() == 0) {
        *norm = sum;
        *lr = rate;
        rng[2] = step + 1;
    }
}

/* Updates PACK numbers of a row: w and g in memory, m and v in the caller's registers. */
__device__ inline void adamw_pack(const struct update_row &r, int64_t i, int64_t left, float (&mean)[PACK],
                                  float (&square)[PACK], const struct adamw &a, const struct row_factors &f)
{
    float weight[PACK], grad[PACK];
    load_pack(weight, r.w + i, left);
    load_pack(grad, r.g + i, left);
    for (int k = 0; k < PACK; k++) {
        float x = f.scale * grad[k];
        mean[k] = a.beta1 * mean[k] + (1.0f - a.beta1) * x;
        square[k] = a.beta2 * square[k] + (1.0f - a.beta2) * x * x;
        weight[k] = f.keep * weight[k] - f.rate * mean[k] / (sqrtf(square[k]) * f.root + a.eps);
        grad[k] = 0;
    }
    store_pack(r.g + i, grad, left);
    store_pack(r.w + i, weight, left);
    if (r.half)
        store_pack((bf16 *)r.half + i, weight, left);
}

/* Updates PACK numbers with moments in f32.  Moments are stored for the rank's share only, which begins at r.first. */
__device__ inline void update_pack(const struct update_row &r, int64_t i, int64_t left, const struct adamw &a,
                                   const struct row_factors &f)
{
    float mean[PACK], square[PACK];
    load_pack(mean, r.state[0] + i - r.first, left);
    load_pack(square, r.state[1] + i - r.first, left);
    adamw_pack(r, i, left, mean, square, a, f);
    store_pack(r.state[0] + i - r.first, mean, left);
    store_pack(r.state[1] + i - r.first, square, left);
}

/*
 * Returns the code whose value is nearest to x; of two equally near ones the lower.
 *
 * A binary search in the ascending map: eight steps for 256 codes.
 */
__device__ inline unsigned moment_code(const float *map, float x)
{
    int code = 0;
    for (int step = MOMENT_CODES / 2; step; step /= 2)
        if (x > 0.5f * (map[code + step - 1] + map[code + step]))
            code += step;
    return (unsigned)code;
}

/* Decodes the lane's PACK numbers of a block of moments, with zeros from `left` on.  A block is one scale and WARP *
 * PACK bytes, four in a word. */
__device__ inline void decode_pack(float (&x)[PACK], const float *words, const float *map, int64_t left)
{
    const unsigned *codes = (const unsigned *)(words + 1) + lane_id() * (PACK / 4);
    for (int k = 0; k < PACK; k++)
        x[k] = k < left ? words[0] * map[codes[k / 4] >> 8 * (k % 4) & 255u] : 0.0f;
}

/* Encodes the lane's PACK numbers.  The scale of a block is its largest absolute value.  Codes from `left` on are 0. */
__device__ inline void encode_pack(float *words, const float (&x)[PACK], const float *map, int64_t left)
{
    float scale = 0;
    for (int k = 0; k < PACK; k++)
        scale = fmaxf(scale, k < left ? fabsf(x[k]) : 0.0f);
    scale = warp_max(scale);
    unsigned codes[PACK / 4] = {};
    for (int k = 0; k < PACK; k++)
        if (k < left && scale > 0)
            codes[k / 4] |= moment_code(map, x[k] / scale) << 8 * (k % 4);
    __syncwarp(); /* all lanes have read the old scale */
    for (int k = 0; k < PACK / 4; k++)
        ((unsigned *)(words + 1))[lane_id() * (PACK / 4) + k] = codes[k];
    if (lane_id() == 0)
        words[0] = scale;
}

/* Updates a block of moments by one warp (8-bit optimisers, Dettmers et al. 2022). */
__device__ inline void update_bytes(const struct update_row &r, int64_t first, int64_t end,
                                    const struct update_rules *rules, const struct row_factors &f)
{
    static_assert(MOMENT_BLOCK == WARP * PACK, "a warp's numbers are a block");
    int64_t i = first + lane_id() * PACK, left = end - i, block = first / MOMENT_BLOCK * MOMENT_WORDS;
    const struct moment_maps &maps = rules->maps;
    float mean[PACK], square[PACK];
    decode_pack(mean, r.state[0] + block, maps.signed_values, left);
    decode_pack(square, r.state[1] + block, maps.squares, left);
    adamw_pack(r, i, left, mean, square, rules->adamw, f);
    encode_pack(r.state[0] + block, mean, maps.signed_values, left);
    encode_pack(r.state[1] + block, square, maps.squares, left);
}

/* Clears the gradients of a chunk that another rank updates. */
__device__ inline void clear_pack(const struct update_row &r, int64_t i, int64_t left)
{
    const float none[PACK] = {};
    store_pack(r.g + i, none, left);
}

/*
 * m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g^2
 *
 * w = (1 - lr decay) w - lr m / (1 - beta1^step) / (sqrt(v / (1 - beta2^step)) + eps);  g = 0
 *
 * Grid     one block per chunk of the table.
 * Memory   reads and writes w, m, v and g once, writes the bf16 copy: bandwidth bound; for other ranks' chunks writes g
 *          alone. Moments in bytes take a quarter and a 64th of that, and the maps come from cache; a warp has a block
 *          of them.
 * Numbers  f32; a BF16 weight is rounded from its master, moments in bytes to the nearest value of their map.
 */
__global__ void __launch_bounds__(THREADS)
    adamw_kernel(struct update_table t, const struct row_factors *__restrict__ factors)
{
    struct row_part s = row_part_of(t);
    const struct update_row r = t.rows[s.row];
    const struct row_factors f = factors[s.row];
    const struct adamw a = t.rules->adamw;
    bool own = s.first >= r.first && s.first < r.end;
    if (own && r.bytes) {
        for (int64_t i = s.first + warp_id() * MOMENT_BLOCK; i < s.end; i += THREADS / WARP * MOMENT_BLOCK)
            update_bytes(r, i, s.end, t.rules, f);
        return; /* the whole block returns */
    }
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
    LAUNCH(adamw_prepare_kernel, blocks_for(t->chunks ? t->chunks : 1, 1), THREADS, 0, cuda_stream(c),
           data_of<float>(norm), data_of<float>(lr), data_of<int>(rng), factors, part, *t, cuda_counters(c));
    if (t->chunks)
        LAUNCH(adamw_kernel, blocks_for(t->chunks, 1), THREADS, 0, cuda_stream(c), *t, factors);
}
