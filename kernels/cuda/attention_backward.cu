#include "kernels/cuda/attention_mma.cuh"

/* What both halves read beside the arguments of the forward, and where they write. */
template <typename T>
struct attention_grads {
    const T *dy;
    const float *lse;
    float *delta;    /* scratch [Tq, heads]: sum_j p_ij dp_ij, from the first half to the second */
    T *dq, *dk, *dv; /* laid out as q, k and v */
    bool dq_add, dkv_add;
};

/* One query against one tile of keys: p_ij and dp_ij of the keys this lane looks at, 0 where there is none. */
template <int D, int TILE>
__device__ inline void query_weights(float (&p)[TILE / 4], float (&dp)[TILE / 4], const attention_args<float> &a,
                                     const float *q, const float *dy, const float (&k)[TILE][D + 1],
                                     const float (&v)[TILE][D + 1], int64_t row, int64_t first, int64_t left, float lse)
{
    int part = thread_id() % 4;
    UNROLL
    for (int n = 0; n < TILE / 16; n++) {
        float keep[4];
        keep_quad(keep, a, row, first / 4 + part + 4 * n);
        for (int m = 0; m < 4; m++) {
            int j = 4 * (part + 4 * n) + m;
            float score = 0, up = 0;
            for (int d = 0; d < D && j < left; d++) {
                score += q[d] * k[j][d];
                up += dy[d] * v[j][d];
            }
            p[4 * n + m] = j < left ? expf(a.scale * score - lse) : 0.0f;
            dp[4 * n + m] = keep[m] * up;
        }
    }
}

/*
 * p_ij = exp(scale q_i . k_j - lse_i);  dp_ij = keep_ij dy_i . v_j;  delta_i = sum_j p_ij dp_ij;
 * dq_i (+)= scale sum_j p_ij (dp_ij - delta_i) k_j
 *
 * Grid     one block per sequence, head and tile of queries; four neighbouring lanes per query.
 * Memory   q and dy once, k and v twice per query tile, through shared memory as f32; scores are computed again.
 * Numbers  f32 sums in key order.  delta is summed first, not taken as dy . y: y was rounded, and where the terms of
 *          dq cancel that rounding would be all that is left.
 * Serves   f32.
 */
template <int D>
__global__ void __launch_bounds__(4 * attention_tile(D))
    attention_dq_kernel(attention_grads<float> g, attention_args<float> a)
{
    constexpr int TILE = attention_tile(D), THREADS = 4 * TILE;
    __shared__ float q[TILE][D + 1], k[TILE][D + 1], v[TILE][D + 1], ds[TILE][TILE + 1];
    struct attention_task t = attention_task_of(a);
    int64_t first = t.tile * TILE, column = (int64_t)t.head * D;
    int i = thread_id() / 4, part = thread_id() % 4;
    if (first >= t.q_length)
        return;
    int64_t row = t.q_first + first + i, number = row * a.heads + t.head;
    bool inside = first + i < t.q_length;
    const float *dy = g.dy + (inside ? row * a.y_stride + column : 0);
    float lse = inside ? g.lse[number] : 0.0f, delta = 0, dq[D / 4] = { 0 }, p[TILE / 4], dp[TILE / 4];
    load_rows(q, a.q + (t.q_first + first) * a.q_stride + column, a.q_stride, t.q_length - first, THREADS);

    for (int pass = 0; pass < (g.dq ? 2 : 1); pass++) {
        for (int64_t j0 = 0; j0 < t.k_length; j0 += TILE) {
            int64_t left = t.k_length - j0, at = (t.k_first + j0) * a.kv_stride + column;
            __syncthreads(); /* the last tile has been used */
            load_rows(k, a.k + at, a.kv_stride, left, THREADS);
            load_rows(v, a.v + at, a.kv_stride, left, THREADS);
            __syncthreads();
            query_weights<D, TILE>(p, dp, a, q[i], dy, k, v, number, j0, inside ? left : 0, lse);
            UNROLL
            for (int n = 0; n < TILE / 4; n++) {
                if (pass == 0)
                    delta += p[n] * dp[n];
                else
                    ds[i][4 * (part + 4 * (n / 4)) + n % 4] = p[n] * (dp[n] - delta);
            }
            __syncwarp(); /* the row's ds come from its own four lanes */
            if (pass == 0)
                continue;
            UNROLL
            for (int d = 0; d < D / 4; d++)
                for (int j = 0; j < TILE; j++)
                    dq[d] += ds[i][j] * k[j][4 * d + part];
        }
        if (pass == 0)
            delta = quad_sum(delta);
    }
    if (inside && part == 0)
        g.delta[number] = delta;
    if (!g.dq || !inside)
        return;
    UNROLL
    for (int d = 0; d < D / 4; d++)
        put(g.dq + row * a.q_stride + column + 4 * d + part, a.scale * dq[d], g.dq_add);
}

/*
 * dv_j (+)= sum_i keep_ij p_ij dy_i;  dk_j (+)= scale sum_i ds_ij q_i
 *
 * Grid     one block per sequence, head and tile of keys; four neighbouring lanes per key.
 * Memory   k and v once, q and dy once per key tile, through shared memory as f32; scores are computed again.
 * Numbers  f32 sums in query order.
 * Serves   f32.
 */
template <int D>
__global__ void __launch_bounds__(4 * attention_tile(D))
    attention_dkv_kernel(attention_grads<float> g, attention_args<float> a)
{
    constexpr int TILE = attention_tile(D), THREADS = 4 * TILE;
    __shared__ float q[TILE][D + 1], up[TILE][D + 1], p[TILE][TILE + 1], ds[TILE][TILE + 1], delta[TILE], lse[TILE];
    struct attention_task t = attention_task_of(a);
    int64_t first = t.tile * TILE, column = (int64_t)t.head * D;
    int j = thread_id() / 4, part = thread_id() % 4;
    if (first >= t.k_length)
        return;
    bool inside = first + j < t.k_length;
    int64_t key = (t.k_first + first + j) * a.kv_stride + column;
    float dk[D / 4] = { 0 }, dv[D / 4] = { 0 };

    for (int64_t i0 = 0; i0 < t.q_length; i0 += TILE) {
        int64_t left = t.q_length - i0, row = t.q_first + i0 + j; /* as a query, this thread's row is j too */
        __syncthreads();                                          /* the last tile has been used */
        load_rows(q, a.q + (t.q_first + i0) * a.q_stride + column, a.q_stride, left, THREADS);
        load_rows(up, g.dy + (t.q_first + i0) * a.y_stride + column, a.y_stride, left, THREADS);
        if (part == 0) {
            delta[j] = j < left ? g.delta[row * a.heads + t.head] : 0.0f;
            lse[j] = j < left ? g.lse[row * a.heads + t.head] : 0.0f;
        }
        __syncthreads();
        for (int i = part; i < TILE; i += 4) {
            float dot = 0, dp = 0;
            for (int d = 0; inside && d < D; d++) {
                dot += q[i][d] * a.k[key + d];
                dp += up[i][d] * a.v[key + d];
            }
            float kept = keep_one(a, (t.q_first + i0 + i) * a.heads + t.head, first + j);
            float w = inside && i < left ? expf(a.scale * dot - lse[i]) : 0.0f;
            p[j][i] = kept * w;
            ds[j][i] = w * (kept * dp - delta[i]);
        }
        __syncwarp(); /* the row's numbers come from its own four lanes */
        UNROLL
        for (int d = 0; d < D / 4; d++)
            for (int i = 0; i < TILE; i++) {
                dv[d] += p[j][i] * up[i][4 * d + part];
                dk[d] += ds[j][i] * q[i][4 * d + part];
            }
    }
    if (!inside)
        return;
    UNROLL
    for (int d = 0; d < D / 4; d++) {
        put(g.dk + key + 4 * d + part, a.scale * dk[d], g.dkv_add);
        put(g.dv + key + 4 * d + part, dv[d], g.dkv_add);
    }
}

/*
 * Scores and dy . v of one tile of keys: dp gets dropout; p becomes the weights, or, when `last`, ds.  Without `last`,
 * this lane's part of delta is summed up.  row is the dropout row of the warp's first query.
 */
template <int KEYS>
__device__ inline void query_tile(float (&p)[KEYS / 8][4], float (&dp)[KEYS / 8][4], float (&delta)[2],
                                  const float (&lse)[2], const attention_args<bf16> &a, int64_t row, int64_t first,
                                  int64_t left, bool last)
{
    UNROLL
    for (int n = 0; n < KEYS / 8; n++) {
        int key = 8 * n + lane_id() % 4 * 2;
        UNROLL
        for (int half = 0; half < 2; half++) {
            float keep[2];
            keep_pair(keep, a, row + (lane_id() / 4 + 8 * half) * a.heads, first + key);
            UNROLL
            for (int m = 0; m < 2; m++) {
                float w = key + m < left ? exp2f(LOG2_E * a.scale * p[n][2 * half + m] - lse[half]) : 0.0f;
                float up = keep[m] * dp[n][2 * half + m];
                if (last)
                    p[n][2 * half + m] = w * (up - delta[half]);
                else
                    delta[half] += w * up;
            }
        }
    }
}

/*
 * The same with keys as rows: s becomes the dropped weights, dp becomes ds.  row is the dropout row of the tile's first
 * query, first the warp's first key.
 */
template <int QUERIES>
__device__ inline void key_tile(float (&s)[QUERIES / 8][4], float (&dp)[QUERIES / 8][4], const float (&lse)[QUERIES],
                                const float (&delta)[QUERIES], const attention_args<bf16> &a, int64_t row,
                                int64_t first)
{
    UNROLL
    for (int n = 0; n < QUERIES / 8; n++) {
        UNROLL
        for (int m = 0; m < 4; m++) {
            int query = 8 * n + lane_id() % 4 * 2 + m % 2;
            float keep = keep_one(a, row + query * a.heads, first + lane_id() / 4 + m / 2 * 8);
            float w = exp2f(LOG2_E * a.scale * s[n][m] - lse[query]);
            s[n][m] = keep * w;
            dp[n][m] = w * (keep * dp[n][m] - delta[query]);
        }
    }
}

/*
 * attention_dq_kernel for bf16 on tensor cores.
 *
 * Grid     one block per sequence, head and tile of 16 queries a warp; as few warps as the longest sequence needs.
 * Memory   q and dy once into registers; k and v once per query tile and pass, or once when one tile holds all keys.
 * Numbers  products of bf16, sums in f32; ds counts as two bf16 each, some 16 bits.
 */
template <int D>
__global__ void __launch_bounds__(MMA_THREADS) attention_dq_mma_kernel(attention_grads<bf16> g, attention_args<bf16> a)
{
    constexpr int KEYS = mma_back_tile(D);
    alignas(16) __shared__ bf16 k[KEYS][D + TILE_PAD];
    alignas(16) __shared__ bf16 v[KEYS][D + TILE_PAD];
    struct attention_task t = attention_task_of(a);
    int64_t first = t.tile * (block_threads() / WARP) * MMA_ROWS, column = (int64_t)t.head * D;
    if (first >= t.q_length)
        return;
    first += warp_id() * MMA_ROWS;
    int64_t rows = t.q_length - first, row = t.q_first + first, number = row * a.heads + t.head;
    unsigned q[D / 16][4], dy[D / 16][4];
    float dq[D / 8][4] = { { 0 } }, delta[2] = { 0, 0 }, lse[2];
    load_left<D>(q, a.q + row * a.q_stride + column, a.q_stride, rows);
    load_left<D>(dy, g.dy + row * a.y_stride + column, a.y_stride, rows);
    UNROLL
    for (int half = 0; half < 2; half++) {
        int r = lane_id() / 4 + 8 * half;
        lse[half] = r < rows ? LOG2_E * g.lse[number + r * a.heads] : 0.0f;
    }

    for (int pass = 0; pass < (g.dq ? 2 : 1); pass++) {
        for (int64_t j0 = 0; j0 < t.k_length; j0 += KEYS) {
            int64_t left = t.k_length - j0, at = (t.k_first + j0) * a.kv_stride + column;
            if (pass == 0 || t.k_length > KEYS) {
                __syncthreads(); /* the last tile has been used */
                copy_tile(k, a.k + at, a.kv_stride, left);
                copy_tile(v, a.v + at, a.kv_stride, left);
                copy_commit();
                copy_wait<0>();
                __syncthreads();
            }
            if (rows <= 0)
                continue;
            float p[KEYS / 8][4], dp[KEYS / 8][4];
            times_transposed<D, KEYS>(p, q, k, left);
            times_transposed<D, KEYS>(dp, dy, v, left);
            query_tile<KEYS>(p, dp, delta, lse, a, number, j0, left, pass == 1);
            if (pass == 1)
                add_times<D, KEYS>(dq, p, k, left);
        }
        if (pass == 0) {
            delta[0] = quad_sum(delta[0]);
            delta[1] = quad_sum(delta[1]);
        }
    }
    UNROLL
    for (int half = 0; half < 2; half++) {
        int r = lane_id() / 4 + 8 * half;
        if (r < rows && lane_id() % 4 == 0)
            g.delta[number + r * a.heads] = delta[half];
    }
    const float factor[2] = { a.scale, a.scale };
    if (g.dq)
        store_rows<D>(g.dq + row * a.q_stride + column, a.q_stride, rows, dq, factor, g.dq_add);
}

/*
 * attention_dkv_kernel for bf16 on tensor cores.
 *
 * Grid     one block per sequence, head and tile of 16 keys a warp; as few warps as the longest sequence needs.
 * Memory   k and v once into registers; q and dy once per key tile, through shared memory.
 * Numbers  products of bf16, sums in f32; weights and ds count as two bf16 each, some 16 bits.
 */
template <int D>
__global__ void __launch_bounds__(MMA_THREADS) attention_dkv_mma_kernel(attention_grads<bf16> g, attention_args<bf16> a)
{
    constexpr int QUERIES = mma_back_tile(D);
    alignas(16) __shared__ bf16 q[QUERIES][D + TILE_PAD];
    alignas(16) __shared__ bf16 dy[QUERIES][D + TILE_PAD];
    __shared__ float lse[QUERIES], delta[QUERIES];
    struct attention_task t = attention_task_of(a);
    int64_t first = t.tile * (block_threads() / WARP) * MMA_ROWS, column = (int64_t)t.head * D;
    if (first >= t.k_length)
        return;
    first += warp_id() * MMA_ROWS;
    int64_t rows = t.k_length - first, at = (t.k_first + first) * a.kv_stride + column;
    unsigned k[D / 16][4], v[D / 16][4];
    float dk[D / 8][4] = { { 0 } }, dv[D / 8][4] = { { 0 } };
    load_left<D>(k, a.k + at, a.kv_stride, rows);
    load_left<D>(v, a.v + at, a.kv_stride, rows);

    for (int64_t i0 = 0; i0 < t.q_length; i0 += QUERIES) {
        int64_t left = t.q_length - i0, row = t.q_first + i0;
        __syncthreads(); /* the last tile has been used */
        copy_tile(q, a.q + row * a.q_stride + column, a.q_stride, left);
        copy_tile(dy, g.dy + row * a.y_stride + column, a.y_stride, left);
        copy_commit();
        for (int i = thread_id(); i < QUERIES; i += block_threads()) {
            lse[i] = i < left ? LOG2_E * g.lse[(row + i) * a.heads + t.head] : INFINITY; /* weight 0 */
            delta[i] = i < left ? g.delta[(row + i) * a.heads + t.head] : 0.0f;
        }
        copy_wait<0>();
        __syncthreads();
        if (rows <= 0)
            continue;
        float p[QUERIES / 8][4], ds[QUERIES / 8][4];
        times_transposed<D, QUERIES>(p, k, q, left);
        times_transposed<D, QUERIES>(ds, v, dy, left);
        key_tile<QUERIES>(p, ds, lse, delta, a, row * a.heads + t.head, first);
        add_times<D, QUERIES>(dv, p, dy, left);
        add_times<D, QUERIES>(dk, ds, q, left);
    }
    const float factor[2] = { a.scale, a.scale }, one[2] = { 1, 1 };
    store_rows<D>(g.dk + at, a.kv_stride, rows, dk, factor, g.dkv_add);
    store_rows<D>(g.dv + at, a.kv_stride, rows, dv, one, g.dkv_add);
}

template <int D>
static void attention_backward(struct ctx *c, const attention_grads<float> &g, attention_args<float> a,
                               const struct seqs *qs, const struct seqs *ks)
{
    constexpr int TILE = attention_tile(D);
    a.tiles = (qs->max_len + TILE - 1) / TILE;
    if (a.tiles)
        LAUNCH(attention_dq_kernel<D>, blocks_for(qs->n * a.heads * a.tiles, 1), 4 * TILE, 0, cuda_stream(c), g, a);
    a.tiles = (ks->max_len + TILE - 1) / TILE;
    if (g.dk && a.tiles)
        LAUNCH(attention_dkv_kernel<D>, blocks_for(ks->n * a.heads * a.tiles, 1), 4 * TILE, 0, cuda_stream(c), g, a);
}

template <int D>
static void attention_backward(struct ctx *c, const attention_grads<bf16> &g, attention_args<bf16> a,
                               const struct seqs *qs, const struct seqs *ks)
{
    int warps = mma_warps(qs->max_len);
    if (warps) {
        a.tiles = (qs->max_len + warps * MMA_ROWS - 1) / (warps * MMA_ROWS);
        LAUNCH(attention_dq_mma_kernel<D>, blocks_for(qs->n * a.heads * a.tiles, 1), (unsigned)(warps * WARP), 0,
               cuda_stream(c), g, a);
    }
    warps = mma_warps(ks->max_len);
    if (g.dk && warps) {
        a.tiles = (ks->max_len + warps * MMA_ROWS - 1) / (warps * MMA_ROWS);
        LAUNCH(attention_dkv_mma_kernel<D>, blocks_for(ks->n * a.heads * a.tiles, 1), (unsigned)(warps * WARP), 0,
               cuda_stream(c), g, a);
    }
}

template <typename T>
static attention_grads<T> grads_of(struct ctx *c, struct destination dq, struct destination dkv,
                                   const struct tensor *dy, const struct tensor *lse, const struct tensor *q,
                                   const struct tensor *kv, int heads)
{
    struct attention_view view = attention_view_of(q, kv, heads);
    struct destination to_kv = q == kv ? dq : dkv;
    attention_grads<T> g = {};
    g.dy = data_of<T>(dy), g.lse = data_of<float>(lse);
    g.delta = (float *)cuda_scratch(c, tensor_bytes(lse));
    g.dq = data_of<T>(dq.t), g.dq_add = dq.add, g.dkv_add = to_kv.add;
    if (to_kv.t) {
        g.dk = data_of<T>(to_kv.t) + view.k_offset;
        g.dv = data_of<T>(to_kv.t) + view.v_offset;
    }
    return g;
}

extern "C" void cuda_attention_backward(struct ctx *c, struct destination dq, struct destination dkv,
                                        const struct tensor *dy, const struct tensor *y, const struct tensor *lse,
                                        const struct tensor *q, const struct tensor *kv, const struct seqs *qs,
                                        const struct seqs *ks, int heads, float p, uint32_t site)
{
    int64_t dim = tensor_cols(y) / heads;
    if (qs->n == 0 || (!dq.t && !dkv.t))
        return;
    DTYPE_SWITCH(q->dtype, HEAD_SWITCH(dim, attention_backward<D>(
                                                c, grads_of<T>(c, dq, dkv, dy, lse, q, kv, heads),
                                                attention_args_of<T>(c, q, kv, qs, ks, heads, p, site), qs, ks)));
}
