#include "kernels/cuda/causal_mma.cuh"

/* What both halves read beside the arguments of the forward, and where they write. */
template <typename T>
struct causal_grads {
    const T *dy, *y;
    const float *lse;
    float *delta;    /* scratch [Tq, heads]: sum_j p_ij dp_ij, from the first half to the second */
    T *dq, *dk, *dv; /* laid out as q, k and v; null: not wanted */
    bool dq_add, dk_add, dv_add;
    const int *last; /* null without prefixes */
};

/*
 * p_ij = exp(scale q_i . k_j - lse_i);  dp_ij = dy_i . v_j;  delta_i = sum_j p_ij dp_ij;
 * dq_i (+)= scale sum_j p_ij (dp_ij - delta_i) k_j
 *
 * Grid     one warp per head and query, the rows of a sequence in one run of blocks.
 * Memory   k and v twice per row, mostly from cache.
 * Numbers  f32 sums in key order.  delta is summed first, not taken as dy . y, which was rounded.
 * Serves   f32 and long heads.
 */
template <typename T>
__global__ void __launch_bounds__(ROW_WARPS *WARP) causal_dq_kernel(causal_grads<T> g, causal_args<T> a)
{
    __shared__ float rows[2][ROW_WARPS][ROW_PARTS * WARP], weights[ROW_WARPS][WARP];
    struct packed_span s = packed_span_of(a, block_id() / a.tiles);
    int64_t number = block_id() % a.tiles * ROW_WARPS + warp_id(), t = number / a.heads;
    int head = (int)(number % a.heads), group = head / a.each;
    if (t >= s.n_queries)
        return; /* the whole warp */
    int64_t row = (s.q_from + t) * a.heads + head, keys = s.n_prefix + s.ahead + t + 1;
    float *q = rows[0][warp_id()], *dy = rows[1][warp_id()], *weight = weights[warp_id()];
    float dq[ROW_PARTS] = { 0 }, delta = 0;
    load_row(q, a.q + row * a.dim, a.dim);
    load_row(dy, g.dy + row * a.dim, a.dim);
    __syncwarp();

    for (int pass = 0; pass < (g.dq ? 2 : 1); pass++) {
        for (int64_t j0 = 0; j0 < keys; j0 += WARP) {
            int64_t j = j0 + lane_id();
            float p = 0, dp = 0;
            if (j < keys) {
                int64_t at = (causal_key(s, j) * a.groups + group) * a.dim;
                p = expf(a.scale * dot_row(q, a.k + at, a.dim) - g.lse[row]);
                dp = dot_row(dy, a.v + at, a.dim);
            }
            if (pass == 0) {
                delta += p * dp;
                continue;
            }
            weight[lane_id()] = p * (dp - delta);
            __syncwarp();
            for (int i = 0; i < WARP && j0 + i < keys; i++)
                add_row(dq, weight[i], a.k + (causal_key(s, j0 + i) * a.groups + group) * a.dim, a.dim);
            __syncwarp(); /* the weights have been used */
        }
        if (pass == 0)
            delta = warp_sum(delta);
    }
    if (lane_id() == 0)
        g.delta[row] = delta;
    if (g.dq)
        put_row(g.dq + row * a.dim, dq, a.scale, a.dim, g.dq_add);
}

/* What rows [from, end) of one sequence and group give a key: for 32 rows at a time a lane has one row's score. */
template <typename T>
__device__ inline void key_gets(float (&dk)[ROW_PARTS], float (&dv)[ROW_PARTS], const causal_grads<T> &g,
                                const causal_args<T> &a, const struct packed_span &s, int group, int from,
                                const float *k, const float *v, float *p, float *ds)
{
    int end = (int)s.n_queries * a.each;
    for (int r0 = from; r0 < end; r0 += WARP) {
        if (r0 + lane_id() < end) {
            int64_t row = causal_row(a, s, group, r0 + lane_id());
            p[lane_id()] = expf(a.scale * dot_row(k, a.q + row * a.dim, a.dim) - g.lse[row]);
            ds[lane_id()] = p[lane_id()] * (dot_row(v, g.dy + row * a.dim, a.dim) - g.delta[row]);
        }
        __syncwarp();
        for (int i = 0; i < WARP && r0 + i < end; i++) {
            int64_t row = causal_row(a, s, group, r0 + i);
            add_row(dv, p[i], g.dy + row * a.dim, a.dim);
            add_row(dk, ds[i], a.q + row * a.dim, a.dim);
        }
        __syncwarp(); /* the weights have been used */
    }
}

/*
 * dv_j (+)= sum_i p_ij dy_i;  dk_j (+)= scale sum_i p_ij (dp_ij - delta_i) q_i, over the group's rows that see key j
 *
 * Grid     one warp per group and key, the keys of a sequence in one run of blocks.
 * Memory   q and dy twice per key, mostly from cache.
 * Numbers  scores as above, bit for bit; f32 sums: the own queries, each one's heads in order, then the sequences that
 * have j in their prefix. Serves f32 and long heads.
 */
template <typename T>
__global__ void __launch_bounds__(ROW_WARPS *WARP) causal_dkv_kernel(causal_grads<T> g, causal_args<T> a)
{
    __shared__ float rows[2][ROW_WARPS][ROW_PARTS * WARP], weights[2][ROW_WARPS][WARP];
    int64_t sequence = block_id() / a.tiles, number = block_id() % a.tiles * ROW_WARPS + warp_id();
    int64_t j = number / a.groups;
    int group = (int)(number % a.groups);
    struct packed_span s = packed_span_of(a, sequence);
    if (j >= s.n_keys)
        return; /* the whole warp */
    int64_t at = ((s.key_from + j) * a.groups + group) * a.dim, last = g.last ? g.last[sequence] : sequence;
    float *k = rows[0][warp_id()], *v = rows[1][warp_id()], *p = weights[0][warp_id()], *ds = weights[1][warp_id()];
    float dk[ROW_PARTS] = { 0 }, dv[ROW_PARTS] = { 0 };
    load_row(k, a.k + at, a.dim);
    load_row(v, a.v + at, a.dim);
    __syncwarp();

    key_gets(dk, dv, g, a, s, group, j > s.ahead ? (int)(j - s.ahead) * a.each : 0, k, v, p, ds);
    for (int64_t other = sequence + 1; other <= last; other++)
        key_gets(dk, dv, g, a, packed_span_of(a, other), group, 0, k, v, p, ds);
    if (g.dk)
        put_row(g.dk + at, dk, a.scale, a.dim, g.dk_add);
    if (g.dv)
        put_row(g.dv + at, dv, 1.0f, a.dim, g.dv_add);
}

/* Tiles of the backward: fewer rows for long heads, whose accumulators fill the registers. */
__host__ __device__ constexpr int causal_back_tile(int dim)
{
    return dim > 64 ? 32 : 64;
}

/* delta of the lane's two rows: dy . y. */
template <int D>
__device__ inline void causal_delta(float (&delta)[2], const unsigned (&dy)[D / 16][4], const bf16 *y,
                                    const int64_t (&row)[2], int dim)
{
    unsigned out[D / 16][4];
    load_rows_left<D>(out, y, row, dim);
    delta[0] = delta[1] = 0;
    UNROLL
    for (int k = 0; k < 4 * (D / 16); k++) {
        unsigned a = dy[k / 4][k % 4], b = out[k / 4][k % 4];
        delta[k % 2] += f32_bits(a << 16) * f32_bits(b << 16) + f32_bits(a & 0xffff0000u) * f32_bits(b & 0xffff0000u);
    }
    delta[0] = quad_sum(delta[0]);
    delta[1] = quad_sum(delta[1]);
}

/*
 * causal_dq_kernel for bf16 on tensor cores.
 *
 * Grid     one block per sequence, group and tile of 16 rows a warp; as few warps as the longest sequence needs, the
 *          tiles with most keys first.
 * Memory   q and dy once into registers; k and v once per tile of rows, the next ones arriving while two are used.
 * Numbers  products of bf16, ds rounded to bf16 too; sums in f32.  delta is dy . y; a row that sees one key has ds 0.
 * Laid out for the shared memory and registers of an A100.
 */
template <int D>
__global__ void __launch_bounds__(MMA_THREADS) causal_dq_mma_kernel(causal_grads<bf16> g, causal_args<bf16> a)
{
    constexpr int KEYS = causal_back_tile(D);
    alignas(16) __shared__ bf16 k[2][KEYS][D + TILE_PAD];
    alignas(16) __shared__ bf16 v[2][KEYS][D + TILE_PAD];
    int64_t pair = block_id() / a.tiles;
    int height = block_threads() / WARP * MMA_ROWS, first = (int)(a.tiles - 1 - block_id() % a.tiles) * height;
    int group = (int)(pair % a.groups);
    struct packed_span s = packed_span_of(a, pair / a.groups);
    int rows = (int)s.n_queries * a.each;
    if (first >= rows)
        return;
    int end = (first + height - 1) / a.each + 1;
    end = end < s.n_queries ? end : (int)s.n_queries;
    int tiles = g.dq ? key_tiles<KEYS>(s, end) : 0, sees[2];
    int64_t row[2];
    unsigned q[D / 16][4], dy[D / 16][4];
    float dq[D / 8][4] = { { 0 } }, delta[2], lse[2];
    first += warp_id() * MMA_ROWS; /* from rows on: the warp only helps to copy */
    lane_rows(row, a, s, group, first, rows);
    load_rows_left<D>(q, a.q, row, a.dim);
    load_rows_left<D>(dy, g.dy, row, a.dim);
    causal_delta<D>(delta, dy, g.y, row, a.dim);
    UNROLL
    for (int half = 0; half < 2; half++) {
        lse[half] = row[half] >= 0 ? LOG2_E * g.lse[row[half]] : INFINITY; /* weights 0 */
        sees[half] = (int)s.ahead + (first + lane_id() / 4 + 8 * half) / a.each + 1;
        if (row[half] >= 0 && lane_id() % 4 == 0)
            g.delta[row[half]] = delta[half];
    }

    if (tiles > 0) {
        copy_keys(k[0], a.k, a, key_tile_of<KEYS>(s, 0, end), group);
        copy_keys(v[0], a.v, a, key_tile_of<KEYS>(s, 0, end), group);
    }
    copy_commit();
    for (int i = 0; i < tiles; i++) {
        struct key_tile t = key_tile_of<KEYS>(s, i, end);
        if (i + 1 < tiles) {
            copy_keys(k[(i + 1) % 2], a.k, a, key_tile_of<KEYS>(s, i + 1, end), group);
            copy_keys(v[(i + 1) % 2], a.v, a, key_tile_of<KEYS>(s, i + 1, end), group);
        }
        copy_commit();
        copy_wait<1>();
        __syncthreads(); /* the tile is there */
        if (first < rows) {
            float p[KEYS / 8][4], dp[KEYS / 8][4];
            times_transposed<D, KEYS>(p, q, k[i % 2], t.n);
            times_transposed<D, KEYS>(dp, dy, v[i % 2], t.n);
            UNROLL
            for (int n = 0; n < KEYS / 8; n++)
                for (int m = 0; m < 4; m++) {
                    int key = 8 * n + lane_id() % 4 * 2 + m % 2;
                    bool seen = key < t.n && key < sees[m / 2] - t.at && sees[m / 2] + s.n_prefix > 1;
                    float w = seen ? exp2f(LOG2_E * a.scale * p[n][m] - lse[m / 2]) : 0.0f;
                    p[n][m] = w * (dp[n][m] - delta[m / 2]);
                }
            add_times<D, KEYS, false>(dq, p, k[i % 2], t.n);
        }
        __syncthreads(); /* the tile has been used */
    }
    const float factor[2] = { a.scale, a.scale };
    if (g.dq)
        put_rows<D>(g.dq, row, a.dim, dq, factor, g.dq_add);
}

/* Rows of one tile beside the keys: what is copied, and of each its lse, delta and the last position it sees. */
template <int D>
struct causal_rows_tile {
    alignas(16) bf16 q[causal_back_tile(D) / 2][D + TILE_PAD];
    alignas(16) bf16 dy[causal_back_tile(D) / 2][D + TILE_PAD];
    float lse[causal_back_tile(D) / 2], delta[causal_back_tile(D) / 2];
    int limit[causal_back_tile(D) / 2];
};

/* Starts filling a tile with rows [first, ...) of a group, of which each sees the keys up to `ahead` + its query. */
template <int D>
__device__ inline void load_rows_tile(causal_rows_tile<D> &tile, const causal_grads<bf16> &g,
                                      const causal_args<bf16> &a, const struct packed_span &s, int group, int first,
                                      int64_t ahead)
{
    int rows = (int)s.n_queries * a.each;
    copy_rows(tile.q, a.q, a, s, group, first, rows);
    copy_rows(tile.dy, g.dy, a, s, group, first, rows);
    for (int i = thread_id(); i < causal_back_tile(D) / 2; i += block_threads()) {
        int r = first + i;
        int64_t row = r < rows ? causal_row(a, s, group, r) : -1;
        tile.lse[i] = row >= 0 ? LOG2_E * g.lse[row] : INFINITY; /* weights 0 */
        tile.delta[i] = row >= 0 ? g.delta[row] : 0.0f;
        tile.limit[i] = (int)ahead + r / a.each;
    }
}

/*
 * What rows [from, all) of a group of one sequence give the warp's 16 keys, at positions key and key + 8 of the lane;
 * ahead: see load_rows_tile.  alone: a row that sees key 0 only sees nothing else, so its ds is 0.
 */
template <int D>
__device__ inline void keys_get(float (&dk)[D / 8][4], float (&dv)[D / 8][4], causal_rows_tile<D> (&tile)[2],
                                const unsigned (&k)[D / 16][4], const unsigned (&v)[D / 16][4],
                                const causal_grads<bf16> &g, const causal_args<bf16> &a, const struct packed_span &s,
                                int group, int from, int64_t ahead, int key, bool alone)
{
    constexpr int ROWS = causal_back_tile(D) / 2;
    int rows = (int)s.n_queries * a.each;
    if (from < rows)
        load_rows_tile<D>(tile[0], g, a, s, group, from, ahead);
    copy_commit();
    for (int r0 = from, now = 0; r0 < rows; r0 += ROWS, now = 1 - now) {
        if (r0 + ROWS < rows)
            load_rows_tile<D>(tile[1 - now], g, a, s, group, r0 + ROWS, ahead);
        copy_commit();
        copy_wait<1>();
        __syncthreads(); /* the tile is there */
        float p[ROWS / 8][4], ds[ROWS / 8][4];
        times_transposed<D, ROWS>(p, k, tile[now].q, rows - r0);
        times_transposed<D, ROWS>(ds, v, tile[now].dy, rows - r0);
        UNROLL
        for (int n = 0; n < ROWS / 8; n++)
            for (int m = 0; m < 4; m++) {
                int i = 8 * n + lane_id() % 4 * 2 + m % 2, limit = tile[now].limit[i];
                bool seen = key + m / 2 * 8 <= limit;
                float w = seen ? exp2f(LOG2_E * a.scale * p[n][m] - tile[now].lse[i]) : 0.0f;
                p[n][m] = w;
                ds[n][m] = alone && limit == 0 ? 0.0f : w * (ds[n][m] - tile[now].delta[i]);
            }
        add_times<D, ROWS, false>(dv, p, tile[now].dy, rows - r0);
        add_times<D, ROWS, false>(dk, ds, tile[now].q, rows - r0);
        __syncthreads(); /* the tile has been used */
    }
}

/*
 * causal_dkv_kernel for bf16 on tensor cores.
 *
 * Grid     one block per sequence, group and tile of 16 keys a warp; as few warps as the longest sequence needs.
 * Memory   k and v once into registers; q and dy once per tile of keys, the next ones arriving while two are used.
 * Numbers  products of bf16, weights and ds rounded to bf16 too; sums in f32, in the order of causal_dkv_kernel.
 * Laid out for the shared memory and registers of an A100.
 */
template <int D>
__global__ void __launch_bounds__(MMA_THREADS) causal_dkv_mma_kernel(causal_grads<bf16> g, causal_args<bf16> a)
{
    __shared__ causal_rows_tile<D> tile[2];
    int64_t pair = block_id() / a.tiles, sequence = pair / a.groups;
    int first = (int)(block_id() % a.tiles) * (block_threads() / WARP) * MMA_ROWS, group = (int)(pair % a.groups);
    struct packed_span s = packed_span_of(a, sequence);
    if (first >= s.n_keys)
        return;
    int from = first > s.ahead ? (first - (int)s.ahead) * a.each : 0;
    int64_t last = g.last ? g.last[sequence] : sequence, row[2];
    int key = first + warp_id() * MMA_ROWS + lane_id() / 4;
    unsigned k[D / 16][4], v[D / 16][4];
    float dk[D / 8][4] = { { 0 } }, dv[D / 8][4] = { { 0 } };
    UNROLL
    for (int half = 0; half < 2; half++)
        row[half] = key + 8 * half < s.n_keys ? (s.key_from + key + 8 * half) * a.groups + group : -1;
    load_rows_left<D>(k, a.k, row, a.dim);
    load_rows_left<D>(v, a.v, row, a.dim);

    keys_get<D>(dk, dv, tile, k, v, g, a, s, group, from, s.ahead, key, s.n_prefix == 0);
    for (int64_t other = sequence + 1; other <= last; other++)
        keys_get<D>(dk, dv, tile, k, v, g, a, packed_span_of(a, other), group, 0, s.n_keys, key, false);
    const float factor[2] = { a.scale, a.scale }, one[2] = { 1, 1 };
    if (g.dk)
        put_rows<D>(g.dk, row, a.dim, dk, factor, g.dk_add);
    if (g.dv)
        put_rows<D>(g.dv, row, a.dim, dv, one, g.dv_add);
}

template <typename T>
static void backward_rows(struct ctx *c, const causal_grads<T> &g, causal_args<T> a, const struct causal *s)
{
    a.tiles = (s->qs.max_len * a.heads + ROW_WARPS - 1) / ROW_WARPS;
    if (a.tiles)
        LAUNCH(causal_dq_kernel<T>, blocks_for(s->qs.n * a.tiles, 1), ROW_WARPS * WARP, 0, cuda_stream(c), g, a);
    a.tiles = (s->max_keys * a.groups + ROW_WARPS - 1) / ROW_WARPS;
    if ((g.dk || g.dv) && a.tiles)
        LAUNCH(causal_dkv_kernel<T>, blocks_for(s->qs.n * a.tiles, 1), ROW_WARPS * WARP, 0, cuda_stream(c), g, a);
}

static void causal_backward(struct ctx *c, const causal_grads<float> &g, causal_args<float> a, const struct causal *s)
{
    backward_rows(c, g, a, s);
}

static void causal_backward(struct ctx *c, const causal_grads<bf16> &g, causal_args<bf16> a, const struct causal *s)
{
    if (a.dim > CAUSAL_MMA_DIM) {
        backward_rows(c, g, a, s);
        return;
    }
    int64_t pairs = s->qs.n * a.groups, rows = s->qs.max_len * a.each;
    int warps = mma_warps(rows);
    if (warps) {
        a.tiles = (rows + warps * MMA_ROWS - 1) / (warps * MMA_ROWS);
        CAUSAL_SWITCH(a.dim, LAUNCH(causal_dq_mma_kernel<D>, blocks_for(pairs * a.tiles, 1), (unsigned)(warps * WARP),
                                    0, cuda_stream(c), g, a));
    }
    warps = mma_warps(s->max_keys);
    if ((g.dk || g.dv) && warps) {
        a.tiles = (s->max_keys + warps * MMA_ROWS - 1) / (warps * MMA_ROWS);
        CAUSAL_SWITCH(a.dim, LAUNCH(causal_dkv_mma_kernel<D>, blocks_for(pairs * a.tiles, 1), (unsigned)(warps * WARP),
                                    0, cuda_stream(c), g, a));
    }
}

template <typename T>
static causal_grads<T> causal_grads_of(struct ctx *c, struct destination dq, struct destination dk,
                                       struct destination dv, const struct tensor *dy, const struct tensor *y,
                                       const struct tensor *lse, const struct causal *s)
{
    causal_grads<T> g = {};
    g.dy = data_of<T>(dy), g.y = data_of<T>(y), g.lse = data_of<float>(lse);
    g.delta = (float *)cuda_scratch(c, tensor_bytes(lse));
    g.dq = data_of<T>(dq.t), g.dk = data_of<T>(dk.t), g.dv = data_of<T>(dv.t);
    g.dq_add = dq.add, g.dk_add = dk.add, g.dv_add = dv.add;
    g.last = s->prefix_len ? data_of<int>(s->last) : nullptr;
    return g;
}

extern "C" void cuda_causal_attention_backward(struct ctx *c, struct destination dq, struct destination dk,
                                               struct destination dv, const struct tensor *dy, const struct tensor *y,
                                               const struct tensor *lse, const struct tensor *q, const struct tensor *k,
                                               const struct tensor *v, const struct causal *s, int heads, int groups)
{
    if (s->qs.n == 0 || (!dq.t && !dk.t && !dv.t))
        return;
    DTYPE_SWITCH(q->dtype, causal_backward(c, causal_grads_of<T>(c, dq, dk, dv, dy, y, lse, s),
                                           causal_args_of<T>(q, k, v, s, heads, groups), s));
}
