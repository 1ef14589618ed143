/*
 * rope.cu - rotary position embeddings (Su et al. 2021): angles, rotation, and the fused step of decoding with the
 * cache.
 *
 * Pairs of columns j and j + half are rotated, as Hugging Face's Llama does.
 */
#include "kernels/cuda/cuda.cuh"

constexpr int THREADS = 256;

/*
 * y[t,:] = cos(positions[t] freqs), sin(positions[t] freqs)
 *
 * Grid     one thread per position and frequency.
 * Memory   writes y once; once per step.
 * Numbers  the product is rounded to f32 before its cosine and sine, which have errors of at most 2 units in the last
 *          place.
 */
__global__ void __launch_bounds__(THREADS)
    rope_angles_kernel(float *__restrict__ y, const int *__restrict__ positions, const float *__restrict__ freqs,
                       int64_t rows, int64_t half)
{
    int64_t i = grid_thread(), t = i / half, j = i % half;
    if (t >= rows)
        return;
    float angle = (float)positions[t] * freqs[j];
    y[2 * t * half + j] = cosf(angle);
    y[(2 * t + 1) * half + j] = sinf(angle);
}

/*
 * y_j (+)= x_j cos - x_(j+half) sin,  y_(j+half) (+)= x_(j+half) cos + x_j sin in every head; back: by the negative
 * angle
 *
 * Grid     one thread per PACK pairs of columns.
 * Memory   reads x once, y once when adding, writes y once; the angles of a row come from L1 for all heads but one.
 * Numbers  in f32, one rounding.
 */
template <typename T>
__global__ void __launch_bounds__(THREADS)
    rope_kernel(T *__restrict__ y, const T *__restrict__ x, const float *__restrict__ angles, int64_t rows,
                int64_t heads, int64_t half, float sign, bool add)
{
    int64_t packs = (half + PACK - 1) / PACK, i = grid_thread(), j = i % packs * PACK;
    int64_t head = i / packs, t = head / heads, at = head * 2 * half + j;
    float a[PACK], b[PACK], cosine[PACK], sine[PACK], low[PACK], high[PACK];
    if (t >= rows)
        return;
    load_pack(a, x + at, half - j);
    load_pack(b, x + at + half, half - j);
    load_pack(cosine, angles + 2 * t * half + j, half - j);
    load_pack(sine, angles + (2 * t + 1) * half + j, half - j);
    for (int k = 0; k < PACK; k++) {
        float s = sign * sine[k];
        low[k] = a[k] * cosine[k] - b[k] * s;
        high[k] = b[k] * cosine[k] + a[k] * s;
    }
    put_pack(y + at, low, half - j, add);
    put_pack(y + at + half, high, half - j, add);
}

extern "C" void cuda_rope_angles(struct ctx *c, struct tensor *y, const struct tensor *positions,
                                 const struct tensor *freqs)
{
    int64_t rows = tensor_size(positions), half = tensor_size(freqs);
    if (rows * half > 0)
        LAUNCH(rope_angles_kernel, blocks_for(rows * half, THREADS), THREADS, 0, cuda_stream(c), data_of<float>(y),
               data_of<int>(positions), data_of<float>(freqs), rows, half);
}

extern "C" void cuda_rope(struct ctx *c, struct destination y, const struct tensor *x, const struct tensor *angles,
                          bool back)
{
    int64_t rows = tensor_rows(x), half = tensor_cols(angles) / 2, heads = tensor_cols(x) / tensor_cols(angles);
    int64_t threads = rows * heads * ((half + PACK - 1) / PACK);
    if (threads == 0 || !y.t)
        return;
    DTYPE_SWITCH(x->dtype,
                 LAUNCH(rope_kernel<T>, blocks_for(threads, THREADS), THREADS, 0, cuda_stream(c), data_of<T>(y.t),
                        data_of<T>(x), data_of<float>(angles), rows, heads, half, back ? -1.0f : 1.0f, y.add));
}

/*
 * Arguments of rope_cache_kernel.  With a cache (ids is not NULL), keys and values go to its rows ids.
 */
template <typename T>
struct rope_cache_view {
    T *q, *k;
    const T *v;
    const float *angles, *q_norm, *k_norm;
    T *k_cache, *v_cache;
    const int *ids;
    int64_t rows, heads, groups, half; /* half of a head's columns */
    float eps;
};

/* Norms and rotates one head by one warp, PACK pairs of columns a lane; y may be x. */
template <typename T>
__device__ inline void rotate_head(T *y, const T *x, const float *angles, const float *norm, int64_t half, float eps)
{
    int64_t j = lane_id() * PACK, left = half - j;
    float a[PACK], b[PACK], cosine[PACK], sine[PACK], square = 0;
    load_pack(a, x + j, left);
    load_pack(b, x + half + j, left);
    load_pack(cosine, angles + j, left);
    load_pack(sine, angles + half + j, left);
    if (norm) {
        for (int i = 0; i < PACK; i++)
            square += a[i] * a[i] + b[i] * b[i];
        float factor = rsqrtf(warp_sum(square) / (float)(2 * half) + eps), wa[PACK], wb[PACK];
        load_pack(wa, norm + j, left);
        load_pack(wb, norm + half + j, left);
        for (int i = 0; i < PACK; i++) {
            a[i] *= factor * wa[i];
            b[i] *= factor * wb[i];
        }
    }
    for (int i = 0; i < PACK; i++) {
        float low = a[i] * cosine[i] - b[i] * sine[i];
        b[i] = b[i] * cosine[i] + a[i] * sine[i];
        a[i] = low;
    }
    store_pack(y + j, a, left);
    store_pack(y + half + j, b, left);
}

/*
 * Each head of q and k is normed, if there are weights, and rotated;  with a cache, cache[ids[t],:] = k[t,:] and v[t,:]
 *
 * Grid     one warp per row and head, first of q, then of k, then of v.
 * Memory   reads and writes each head once, 16 bytes a lane.
 * Numbers  in f32, one rounding.
 */
template <typename T>
__global__ void __launch_bounds__(THREADS) rope_cache_kernel(rope_cache_view<T> a)
{
    int64_t each = a.heads + a.groups * (a.ids ? 2 : 1), t = grid_warp() / each, head = grid_warp() % each;
    int64_t size = 2 * a.half;
    dependents_launch();
    dependency_wait();
    if (t >= a.rows)
        return; /* the whole warp returns */
    const float *angles = a.angles + t * size;
    int64_t row = a.ids ? a.ids[t] : t;
    if (head < a.heads) {
        T *q = a.q + (t * a.heads + head) * size;
        rotate_head(q, q, angles, a.q_norm, a.half, a.eps);
        return;
    }
    if (row < 0)
        return;
    int64_t group = (head - a.heads) % a.groups, from = (t * a.groups + group) * size;
    int64_t to = (row * a.groups + group) * size;
    if (head < a.heads + a.groups) {
        rotate_head((a.ids ? a.k_cache : a.k) + to, a.k + from, angles, a.k_norm, a.half, a.eps);
        return;
    }
    for (int64_t j = lane_id() * PACK; j < size; j += WARP * PACK) {
        float v[PACK];
        load_pack(v, a.v + from + j, size - j);
        store_pack(a.v_cache + to + j, v, size - j);
    }
}

template <typename T>
static void launch_rope_cache(struct ctx *c, struct tensor *q, struct tensor *k, const struct tensor *v,
                              const struct rope_cache *r)
{
    rope_cache_view<T> a = {};
    int64_t size = tensor_cols(r->angles);
    a.q = data_of<T>(q), a.k = data_of<T>(k), a.v = data_of<T>(v);
    a.angles = data_of<float>(r->angles), a.q_norm = data_of<float>(r->q_norm), a.k_norm = data_of<float>(r->k_norm);
    if (r->k)
        a.k_cache = data_of<T>(r->k), a.v_cache = data_of<T>(r->v), a.ids = data_of<int>(r->ids);
    a.rows = tensor_rows(q), a.heads = tensor_cols(q) / size, a.groups = tensor_cols(k) / size;
    a.half = size / 2, a.eps = r->eps;
    int64_t warps = a.rows * (a.heads + a.groups * (a.ids ? 2 : 1));
    if (warps > 0)
        LAUNCH_EARLY(c, rope_cache_kernel<T>, blocks_for(warps * WARP, THREADS), THREADS, 0, a);
}

extern "C" void cuda_rope_cache(struct ctx *c, struct tensor *q, struct tensor *k, const struct tensor *v,
                                const struct rope_cache *r)
{
    DTYPE_SWITCH(q->dtype, launch_rope_cache<T>(c, q, k, v, r));
}
