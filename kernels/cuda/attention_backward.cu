#include "kernels/cuda/attention_backward.cuh"

#include "kernels/cuda/columns.cuh"

/*
 * delta_i = dy_i . y_i, which is sum_j p_ij dp_ij, for every head of every query
 *
 * Grid     one warp per row and head.
 * Memory   reads dy and y once.
 * Numbers  f32 sums.
 */
constexpr int DELTA_WARPS = 4;

template <typename T>
__global__ void __launch_bounds__(DELTA_WARPS *WARP)
    attention_delta_kernel(float *__restrict__ delta, const T *__restrict__ dy, const T *__restrict__ y, int64_t n,
                           int dim)
{
    int64_t i = grid_warp();
    float sum = 0;
    if (i >= n)
        return;
    for (int d = lane_id(); d < dim; d += WARP)
        sum += (float)dy[i * dim + d] * (float)y[i * dim + d];
    sum = warp_sum(sum);
    if (lane_id() == 0)
        delta[i] = sum;
}

/*
 * p_ij = exp(score_ij - lse_i);  ds_ij = p_ij (keep_ij dy_i . v_j - delta_i);  dq_i (+)= scale sum_j ds_ij k_j
 *
 * Grid     a.tiles blocks per sequence and head, which take turns at the tiles of queries; four neighbouring lanes per
 *          query.
 * Memory   q and dy once a key tile; k and v once per query tile, through shared memory as f32.
 * Numbers  f32 sums in key order.  A single key weighs 1 whatever its score: its ds is 0.
 * Serves   f32.
 */
template <int D>
__global__ void __launch_bounds__(4 * attention_tile(D))
    attention_dq_kernel(attention_grads<float> g, attention_args<float> a)
{
    constexpr int TILE = attention_tile(D), THREADS = 4 * TILE;
    __shared__ float k[TILE][D + 1], v[TILE][D + 1], ds[TILE][TILE + 1], diagonal[2 * TILE];
    struct attention_task t = attention_task_of(a);
    const float *bias = bias_of(a, t.head);
    float *cells = bias_part(g, a, t, t.tile, (int)a.tiles);
    int64_t column = (int64_t)t.head * a.dim;
    int i = thread_id() / 4, part = thread_id() % 4;

    for (int first = t.tile * TILE; first < t.q_length; first += (int)a.tiles * TILE) {
        bool inside = first + i < t.q_length;
        int query = inside ? first + i : first;
        int64_t row = t.q_first + query, number = row * a.heads + t.head;
        float lse = g.lse[number], delta = g.delta[number], dq[D / 4] = { 0 }, p[TILE / 4], dp[TILE / 4];
        for (int j0 = 0; j0 < t.k_length; j0 += TILE) {
            int left = t.k_length - j0;
            int64_t at = (t.k_first + j0) * a.kv_stride + column;
            __syncthreads(); /* no thread reads the last tile any more */
            load_rows(k, a.k + at, a.kv_stride, left, a.dim, THREADS);
            load_rows(v, a.v + at, a.kv_stride, left, a.dim, THREADS);
            __syncthreads();
            quad_dots(p, a.q + row * a.q_stride + column, a.dim, k);
            quad_dots(dp, g.dy + row * a.y_stride + column, a.dim, v);
            UNROLL
            for (int n = 0; n < TILE / 4; n++) {
                int j = quad_row(n);
                unsigned kept = kept_keys(a, number, j0 / 4 + part + n / 4 * 4) >> n % 4;
                /* Scores are computed again: lse turns them into weights without another softmax. */
                float score = score_of(p[n], a, bias, j0 + j - query);
                float weight = inside && j < left ? expf(score - lse) : 0.0f;
                ds[i][j] = t.k_length > 1 ? weight * (keep_factor(a, kept) * dp[n] - delta) : 0.0f;
            }
            __syncwarp(); /* the four lanes of a row wrote its ds */
            quad_add(dq, ds[i], k);
            if (!cells)
                continue;
            __syncthreads(); /* every row has its ds */
            add_diagonals<TILE, TILE>(cells, diagonal, a, j0 - first, [&](int q, int j) { return ds[q][j]; });
        }
        /* Rows behind the last were computed like the first one, and are not stored. */
        UNROLL
        for (int d = 0; d < D / 4; d++)
            if (g.dq && inside && 4 * d + part < a.dim)
                put(g.dq + row * a.q_stride + column + 4 * d + part, a.scale * dq[d], g.dq_add);
    }
}

/*
 * dv_j (+)= sum_i keep_ij p_ij dy_i;  dk_j (+)= scale sum_i ds_ij q_i
 *
 * Grid     one block per sequence, head and tile of keys; four neighbouring lanes per key.
 * Memory   k and v once a query tile; q and dy once per key tile, through shared memory as f32; scores are computed
 *          again.
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
    const float *bias = bias_of(a, t.head);
    int64_t column = (int64_t)t.head * a.dim;
    int first = t.tile * TILE, j = thread_id() / 4, part = thread_id() % 4;
    if (first >= t.k_length)
        return;
    bool inside = first + j < t.k_length;
    int place = inside ? first + j : first;
    int64_t key = (t.k_first + place) * a.kv_stride + column;
    float dk[D / 4] = { 0 }, dv[D / 4] = { 0 }, dot[TILE / 4], dp[TILE / 4];

    for (int i0 = 0; i0 < t.q_length; i0 += TILE) {
        int left = t.q_length - i0;
        int64_t row = t.q_first + i0;
        __syncthreads(); /* no thread reads the last tile any more */
        load_rows(q, a.q + row * a.q_stride + column, a.q_stride, left, a.dim, THREADS);
        load_rows(up, g.dy + row * a.y_stride + column, a.y_stride, left, a.dim, THREADS);
        if (part == 0) { /* each quad also loads the numbers of one query, row j of the tile */
            delta[j] = j < left ? g.delta[(row + j) * a.heads + t.head] : 0.0f;
            lse[j] = j < left ? g.lse[(row + j) * a.heads + t.head] : 0.0f;
        }
        __syncthreads();
        quad_dots(dot, a.k + key, a.dim, q);
        quad_dots(dp, a.v + key, a.dim, up);
        UNROLL
        for (int n = 0; n < TILE / 4; n++) {
            int i = quad_row(n);
            /* The random numbers are those of the forward: they depend on row and key alone. */
            float keep = keep_factor(a, kept_keys(a, (row + i) * a.heads + t.head, place / 4) >> place % 4);
            float score = score_of(dot[n], a, bias, place - i0 - i);
            float weight = inside && i < left ? expf(score - lse[i]) : 0.0f;
            p[j][i] = keep * weight;
            ds[j][i] = t.k_length > 1 ? weight * (keep * dp[n] - delta[i]) : 0.0f;
        }
        __syncwarp(); /* the four lanes of a row wrote its numbers */
        quad_add(dv, p[j], up);
        quad_add(dk, ds[j], q);
    }
    UNROLL
    for (int d = 0; d < D / 4; d++)
        if (inside && 4 * d + part < a.dim) {
            put(g.dk + key + 4 * d + part, a.scale * dk[d], g.dkv_add);
            put(g.dv + key + 4 * d + part, dv[d], g.dkv_add);
        }
}

/* Launches the kernels of the gradients that are wanted. */
template <int D>
static void launch(struct ctx *c, const attention_grads<float> &g, attention_args<float> a, const struct seqs *qs,
                   const struct seqs *ks)
{
    constexpr int TILE = attention_tile(D);
    if (g.dq || g.bias_parts)
        LAUNCH(attention_dq_kernel<D>, blocks_for(qs->n * a.n_heads * a.tiles, 1), 4 * TILE, 0, cuda_stream(c), g, a);
    a.tiles = (ks->max_len + TILE - 1) / TILE;
    if (g.dk && a.tiles)
        LAUNCH(attention_dkv_kernel<D>, blocks_for(ks->n * a.n_heads * a.tiles, 1), 4 * TILE, 0, cuda_stream(c), g, a);
}

static void heads_backward(struct ctx *c, const attention_grads<float> &g, const attention_args<float> &a,
                           const struct seqs *qs, const struct seqs *ks)
{
    HEAD_SWITCH(a.dim, launch<D>(c, g, a, qs, ks));
}

static void heads_backward(struct ctx *c, const attention_grads<bf16> &g, const attention_args<bf16> &a,
                           const struct seqs *qs, const struct seqs *ks)
{
    attention_mma_backward(c, g, a, qs, ks);
}

/* The number of tiles that the blocks of a head take: of queries in f32, of keys in bf16. */
static int64_t tiles_of(const attention_args<float> &a, const struct seqs *qs, const struct seqs *ks)
{
    int64_t tile = attention_tile(a.dim);
    (void)ks;
    return (qs->max_len + tile - 1) / tile;
}

static int64_t tiles_of(const attention_args<bf16> &a, const struct seqs *qs, const struct seqs *ks)
{
    int64_t tile = attention_mma_keys(a.dim);
    (void)qs;
    return (ks->max_len + tile - 1) / tile;
}

/* The bf16 kernel cuts the work by keys.  If a sequence has several tiles of keys, each tile has a part of dq, and
 * delta must be known before.  Otherwise the kernel computes delta itself. */
static bool in_parts(float *dq, int64_t tiles)
{
    (void)dq, (void)tiles;
    return false;
}

static bool in_parts(bf16 *dq, int64_t tiles)
{
    return dq && tiles > 1;
}

static bool needs_delta(float *dq, int64_t tiles)
{
    (void)dq, (void)tiles;
    return true;
}

static bool needs_delta(bf16 *dq, int64_t tiles)
{
    (void)dq;
    return tiles > 1;
}

#ifdef __CUDACC__
constexpr int64_t PARTS_MOST = INT64_MAX;
#else
constexpr int64_t PARTS_MOST = 3; /* so that tests with few heads need several launches, and blocks several tiles */
#endif

/*
 * Computes delta, then all gradients.  A launch takes as many heads, and as many blocks a head, as have room for their
 * parts in scratch memory.  The cut depends on shapes alone, so sums have one order.
 */
template <typename T>
static void attention_backward(struct ctx *c, attention_grads<T> g, attention_args<T> a, const T *y,
                               const struct seqs *qs, const struct seqs *ks, struct destination dbias)
{
    /* A head needs `floats` floats of scratch memory for each of its tiles: a part of dq, and tables of the bias. */
    int64_t tiles = tiles_of(a, qs, ks) > 1 ? tiles_of(a, qs, ks) : 1, cells = dbias.t ? 2 * a.reach + 1 : 0;
    int64_t deltas = needs_delta(g.dq, tiles) ? g.q_rows * a.heads : 0;
    int64_t dq_floats = in_parts(g.dq, tiles) ? g.q_rows * a.dim : 0, floats = dq_floats + qs->n * cells;
    int64_t fit = floats ? ((int64_t)(SCRATCH_BYTES / sizeof(float)) - deltas) / floats : tiles * a.heads;
    CHECK(fit > 0, "attention: %lld rows of %d heads are too many", (long long)g.q_rows, a.heads);
    if (floats && fit > PARTS_MOST)
        fit = PARTS_MOST;
    a.tiles = fit / a.heads < 1 ? 1 : fit / a.heads < tiles ? fit / a.heads : tiles;
    int heads = fit < a.heads ? (int)fit : a.heads;

    float *delta = (float *)cuda_scratch(c, (size_t)(deltas + a.tiles * heads * floats) * sizeof(float));
    g.delta = delta;
    g.bias_parts = cells ? delta + deltas : nullptr;
    g.dq_parts = dq_floats ? delta + deltas + a.tiles * heads * qs->n * cells : nullptr;
    if (deltas)
        LAUNCH(attention_delta_kernel<T>, blocks_for(deltas, DELTA_WARPS), DELTA_WARPS * WARP, 0, cuda_stream(c), delta,
               g.dy, y, deltas, a.dim);
    for (a.first_head = 0; a.first_head < a.heads; a.first_head += heads) {
        a.n_heads = a.heads - a.first_head < heads ? a.heads - a.first_head : heads;
        if (qs->n)
            heads_backward(c, g, a, qs, ks);
        if (cells)
            column_sums_of_parts(c, data_of<float>(dbias.t) + a.first_head * cells, dbias.add, g.bias_parts,
                                 qs->n * a.tiles, a.n_heads * cells, a.n_heads * cells);
    }
}

template <typename T>
static attention_grads<T> grads_of(struct destination dq, struct destination dkv, const struct tensor *dy,
                                   const struct tensor *lse, const struct tensor *q, const struct tensor *kv, int heads)
{
    struct attention_view view = attention_view_of(q, kv, heads);
    struct destination to_kv = q == kv ? dq : dkv;
    attention_grads<T> g = {};
    g.dy = data_of<T>(dy), g.lse = data_of<float>(lse);
    g.q_rows = tensor_rows(lse);
    g.dq = data_of<T>(dq.t), g.dq_add = dq.add, g.dkv_add = to_kv.add;
    if (to_kv.t) {
        g.dk = data_of<T>(to_kv.t) + view.k_offset;
        g.dv = data_of<T>(to_kv.t) + view.v_offset;
    }
    return g;
}

extern "C" void cuda_attention_backward(struct ctx *c, struct destination dq, struct destination dkv,
                                        struct destination dbias, const struct tensor *dy, const struct tensor *y,
                                        const struct tensor *lse, const struct tensor *q, const struct tensor *kv,
                                        const struct seqs *qs, const struct seqs *ks, const struct attention_form *form,
                                        uint32_t site)
{
    if (!dq.t && !dkv.t && !dbias.t)
        return;
    DTYPE_SWITCH(q->dtype, attention_backward<T>(c, grads_of<T>(dq, dkv, dy, lse, q, kv, form->heads),
                                                 attention_args_of<T>(c, q, kv, qs, ks, form, site), data_of<T>(y), qs,
                                                 ks, dbias));
}
