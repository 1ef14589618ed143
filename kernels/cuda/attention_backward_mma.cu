/*
 * attention_backward_mma.cu - the backward of attention in bf16 on tensor cores, in five products.
 *
 * A block holds a tile of keys, and the queries pass through shared memory.  dk and dv stay in registers.  dq crosses
 * the tiles of keys: if a sequence has several, each tile stores its part and a second kernel adds the parts.
 */
#include "kernels/cuda/attention_backward.cuh"
#include "kernels/cuda/mma_tile.cuh"

/*
 * Shape of a block for rows of D columns.
 *
 * A warp holds M times 16 keys, a block KEYS of them.  Queries pass in tiles of QUERIES, STAGES of them in shared
 * memory. dk and dv of COLUMNS columns fit into registers; wider heads are computed in slices of columns.
 */
template <int D>
struct backward_shape {
    static constexpr int M = 1, COLUMNS = D == 256 ? 64 : D, SLICES = D / COLUMNS;
    static constexpr int WARPS = D == 256 ? 2 : 4, KEYS = 16 * M * WARPS, THREADS = WARP * WARPS;
    static constexpr int QUERIES = D <= 64 ? 32 : 16, DQ_COLUMNS = D == 32 || D == 128 ? 16 : 32,
                         STAGES = D == 256 ? 1 : 2;
};

/* Shared memory of a block. */
template <int D>
struct alignas(16) backward_tiles {
    static constexpr int KEYS = backward_shape<D>::KEYS, QUERIES = backward_shape<D>::QUERIES;
    static constexpr int STAGES = backward_shape<D>::STAGES;
    bf16 k[KEYS][D + TILE_GAP];
    bf16 q[STAGES][QUERIES][D + TILE_GAP], dy[STAGES][QUERIES][D + TILE_GAP];
    bf16 high[KEYS][QUERIES + TILE_GAP], low[KEYS][QUERIES + TILE_GAP]; /* ds, as split_left returns it */
    float lse[STAGES][QUERIES], delta[STAGES][QUERIES], sums[backward_shape<D>::WARPS][QUERIES];
    float diagonal[QUERIES + KEYS];
};

/* The work of a block: keys [first, first + keys) of a sequence, and columns from `column` on of dq, dk and dv. */
struct backward_work {
    struct attention_task t;
    int first, keys, column;
    const float *bias;
    bool whole;     /* these are all keys of the sequence */
    float *dq_part; /* row 0 of this block's part of dq in its head, or NULL */
    bool again;     /* a later tile of keys of the same block: dq_part is added to */
};

/* Starts copying the queries from i0 on into a stage. */
template <int D>
__device__ inline void fetch_queries(backward_tiles<D> &s, int stage, const attention_grads<bf16> &g,
                                     const attention_args<bf16> &a, const struct attention_task &t, int i0)
{
    int left = t.q_length - i0;
    int64_t row = t.q_first + i0, column = (int64_t)t.head * a.dim;
    fetch_tile(s.q[stage], a.q + row * a.q_stride + column, a.q_stride, left, a.dim);
    fetch_tile(s.dy[stage], g.dy + row * a.y_stride + column, a.y_stride, left, a.dim);
    copy_commit();
    for (int i = thread_id(); i < backward_shape<D>::QUERIES; i += block_threads()) {
        int64_t number = (row + i) * a.heads + t.head;
        s.lse[stage][i] = i < left ? LOG2_E * g.lse[number] : INFINITY; /* weight 0 */
        s.delta[stage][i] = i < left && t.k_length > backward_shape<D>::KEYS ? g.delta[number] : 0.0f;
    }
}

/*
 * The first two products: p = weights before dropout, dp = keep dy . v.
 *
 * Keys are rows of the results, the warp's from `mine` on, and queries are columns, from i0 on.  The scores are thus
 * transposed, and p and ds can be left factors of the products for dv and dk.  Returns a bit for each number of p:
 * whether dropout keeps it.
 */
template <int D, int M, int TILES>
__device__ inline unsigned score_queries(float (&p)[M][TILES][4], float (&dp)[M][TILES][4], const backward_tiles<D> &s,
                                         int stage, const attention_args<bf16> &a, const struct backward_work &w,
                                         int mine, int i0, int queries)
{
    static_assert(4 * M * TILES <= 32, "a bit each");
    int lane = lane_id();
    int ahead = w.first + mine - i0;
    int64_t row = (int64_t)(w.t.q_first + i0) * a.heads + w.t.head;
    int64_t own = (w.t.k_first + w.first + mine) * a.kv_stride + (int64_t)w.t.head * a.dim;
    unsigned kept = 0;
    zero(p);
    zero(dp);
    ROLLED
    for (int d = 0; d < D; d += 16) {
        unsigned rows[M][4];
        take_left(rows, s.k, mine, d);
        add_times_transposed(p, rows, s.q[stage], d, queries);
        load_left(rows, a.v + own, a.kv_stride, w.keys - mine, d, a.dim);
        add_times_transposed(dp, rows, s.dy[stage], d, queries);
    }
    UNROLL
    for (int t = 0; t < M * TILES; t++) {
        int m = t / TILES, n = t % TILES;
        /* A lane draws for one query and four keys; the lanes that hold these numbers get their bits by shuffles. */
        unsigned drawn = kept_keys(a, row + (8 * n + lane % 8) * a.heads, (w.first + mine) / 4 + 4 * m + lane / 8);
        UNROLL
        for (int e = 0; e < 4; e++) {
            int key = 16 * m + lane / 4 + e / 2 * 8, query = 8 * n + lane % 4 * 2 + e % 2;
            unsigned lent = __shfl_sync(ALL_LANES, drawn, lane / 16 * 8 + e / 2 * 16 + lane % 4 * 2 + e % 2);
            unsigned keep = lent >> (lane / 4 % 4) & 1;
            float x = LOG2_E * score_of(p[m][n][e], a, w.bias, ahead + key - query) - s.lse[stage][query];
            kept |= keep << (4 * t + e);
            p[m][n][e] = mine + key < w.keys ? exp2f(x) : 0.0f;
            dp[m][n][e] *= keep_factor(a, keep);
        }
    }
    return kept;
}

/*
 * Sums up this warp's share of delta_i = sum_j p_ij dp_ij over its keys.  The result is exact up to f32, whereas dy . y
 * with a rounded y is not.
 */
template <int D, int M, int TILES>
__device__ inline void sum_delta(backward_tiles<D> &s, const float (&p)[M][TILES][4], const float (&dp)[M][TILES][4])
{
    UNROLL
    for (int i = 0; i < 2 * TILES; i++) {
        int n = i / 2, e = i % 2;
        float sum = 0;
        UNROLL
        for (int m = 0; m < M; m++)
            sum += p[m][n][e] * dp[m][n][e] + p[m][n][e + 2] * dp[m][n][e + 2];
        /* The eight lanes of a column differ in bits 2 to 4 of their index. */
        for (int lane = 4; lane < WARP; lane *= 2)
            sum += __shfl_xor_sync(ALL_LANES, sum, lane);
        if (lane_id() < 4)
            s.sums[warp_id()][8 * n + 2 * lane_id() + e] = sum;
    }
}

/* Replaces p by the weights after dropout, and dp by ds. */
template <int D, int M, int TILES>
__device__ inline void finish_weights(float (&p)[M][TILES][4], float (&dp)[M][TILES][4], const backward_tiles<D> &s,
                                      int stage, const attention_args<bf16> &a, const struct backward_work &w,
                                      unsigned kept)
{
    UNROLL
    for (int i = 0; i < 2 * TILES; i++) {
        int n = i / 2, query = 8 * n + lane_id() % 4 * 2 + i % 2;
        float delta = s.delta[stage][query];
        for (int from = 0; w.whole && from < w.keys; from += 16 * M)
            delta += s.sums[from / (16 * M)][query];
        UNROLL
        for (int k = 0; k < 2 * M; k++) {
            int m = k / 2, e = k % 2 * 2 + i % 2;
            float weight = p[m][n][e];
            p[m][n][e] = weight * keep_factor(a, kept >> (4 * (m * TILES + n) + e));
            dp[m][n][e] = w.t.k_length > 1 ? weight * (dp[m][n][e] - delta)
                                           : 0.0f; /* a single key has weight 1 whatever its score */
        }
    }
}

/* Stores the warp's ds in shared memory, for the product of all keys. */
template <int D, int M, int QUERIES>
__device__ inline void store_ds(backward_tiles<D> &s, const struct left_pair<M, QUERIES> &ds, int mine)
{
    UNROLL
    for (int m = 0; m < M; m++) {
        UNROLL
        for (int k = 0; k < QUERIES / 4; k++) {
            int key = mine + 16 * m + lane_id() / 4 + k % 2 * 8;
            int query = 16 * (k / 4) + lane_id() % 4 * 2 + k % 4 / 2 * 8;
            store_pair(&s.high[key][query], ds.high[k / 4][m][k % 4]);
            store_pair(&s.low[key][query], ds.low[k / 4][m][k % 4]);
        }
    }
}

/* The next two products, dv and dk of the warp's keys.  It also stores ds in shared memory. */
template <int D, int M, int COLUMNS, int TILES>
__device__ inline void add_queries(float (&dk)[M][COLUMNS][4], float (&dv)[M][COLUMNS][4], backward_tiles<D> &s,
                                   int stage, const float (&p)[M][TILES][4], const float (&ds)[M][TILES][4], int column,
                                   int mine, int queries)
{
    struct left_pair<M, 8 * TILES> left;
    split_left(left, p);
    add_times_tile<8 * COLUMNS>(dv, left, s.dy[stage], column, queries);
    split_left(left, ds);
    store_ds(s, left, mine);
    add_times_tile<8 * COLUMNS>(dk, left, s.q[stage], column, queries);
}

/* The fifth product: ds of all keys of the block times the keys.  A warp takes units of 16 queries and DQ_COLUMNS
 * columns. */
template <int D>
__device__ inline void put_dq(const backward_tiles<D> &s, const attention_grads<bf16> &g, const attention_args<bf16> &a,
                              const struct backward_work &w, int i0, int queries)
{
    constexpr int COLUMNS = backward_shape<D>::DQ_COLUMNS, TILES = backward_shape<D>::QUERIES / 16;
    constexpr int UNITS = TILES * (backward_shape<D>::COLUMNS / COLUMNS);
    bool even = a.dim % 2 == 0;
    ROLLED
    for (int unit = warp_id(); unit < UNITS; unit += block_threads() / WARP) {
        int from = unit % TILES * 16, column = w.column + unit / TILES * COLUMNS;
        if (from >= queries || column >= a.dim)
            continue;
        float dq[1][COLUMNS / 8][4];
        zero(dq);
        ROLLED
        for (int key = 0; key < w.keys; key += 16) {
            unsigned high[1][4], low[1][4];
            take_left_transposed(high[0], s.high, key, from);
            take_left_transposed(low[0], s.low, key, from);
            add_times_rows<COLUMNS>(dq, high, low, s.k, key, column);
        }
        int64_t row = w.t.q_first + i0 + from, stride = (int64_t)a.n_heads * a.dim;
        const float scale[1][2] = { { a.scale, a.scale } }, one[1][2] = { { 1, 1 } };
        if (w.dq_part)
            put_tile_rows<COLUMNS>(w.dq_part + row * stride + column, stride, queries - from, a.dim - column, dq, one,
                                   even, w.again);
        else
            put_tile_rows<COLUMNS>(g.dq + row * a.q_stride + (int64_t)w.t.head * a.dim + column, a.q_stride,
                                   queries - from, a.dim - column, dq, scale, even, g.dq_add);
    }
}

/* Multiplies one tile of keys by all queries of its sequence. */
template <int D>
__device__ inline void key_tile_backward(backward_tiles<D> &s, float *cells, const attention_grads<bf16> &g,
                                         const attention_args<bf16> &a, const struct backward_work &w)
{
    using shape = backward_shape<D>;
    constexpr int M = shape::M, QUERIES = shape::QUERIES, STAGES = shape::STAGES, COLUMNS = shape::COLUMNS;
    int mine = warp_id() * 16 * M, stage = 0;
    int64_t at = (w.t.k_first + w.first) * a.kv_stride + (int64_t)w.t.head * a.dim, own = at + mine * a.kv_stride;
    float dk[M][COLUMNS / 8][4], dv[M][COLUMNS / 8][4];
    zero(dk);
    zero(dv);
    __syncthreads(); /* no thread reads the last tile of keys any more */
    fetch_tile(s.k, a.k + at, a.kv_stride, w.keys, a.dim);
    fetch_queries(s, 0, g, a, w.t, 0);

    for (int i0 = 0; i0 < w.t.q_length; i0 += QUERIES, stage = STAGES - 1 - stage) {
        int queries = w.t.q_length - i0 < QUERIES ? w.t.q_length - i0 : QUERIES;
        if (STAGES == 1 && i0 > 0)
            fetch_queries(s, 0, g, a, w.t, i0);
        copy_wait<0>();
        __syncthreads(); /* all threads have these queries, and none reads the last ds */
        if (STAGES == 2 && i0 + QUERIES < w.t.q_length)
            fetch_queries(s, 1 - stage, g, a, w.t, i0 + QUERIES);
        float p[M][QUERIES / 8][4], ds[M][QUERIES / 8][4];
        unsigned kept = mine < w.keys ? score_queries(p, ds, s, stage, a, w, mine, i0, queries) : 0;
        if (w.whole) {
            if (mine < w.keys)
                sum_delta(s, p, ds);
            __syncthreads(); /* every warp has stored its share of delta */
        }
        if (mine < w.keys) {
            finish_weights(p, ds, s, stage, a, w, kept);
            add_queries(dk, dv, s, stage, p, ds, w.column, mine, queries);
        }
        __syncthreads(); /* every warp has stored its ds */
        if (g.dq)
            put_dq(s, g, a, w, i0, queries);
        if (cells)
            add_diagonals<QUERIES, shape::KEYS>(cells, s.diagonal, a, w.first - i0, [&](int i, int j) {
                return i < queries && j < w.keys ? (float)s.high[j][i] + (float)s.low[j][i] : 0.0f;
            });
    }
    copy_wait<0>(); /* the copies of the keys, if there was no query */
    if (!g.dk)
        return;
    float scale[M][2], one[M][2];
    for (int m = 0; m < 2 * M; m++)
        scale[m / 2][m % 2] = a.scale, one[m / 2][m % 2] = 1;
    bool even = a.dim % 2 == 0;
    put_tile_rows<COLUMNS>(g.dk + own + w.column, a.kv_stride, w.keys - mine, a.dim - w.column, dk, scale, even,
                           g.dkv_add);
    put_tile_rows<COLUMNS>(g.dv + own + w.column, a.kv_stride, w.keys - mine, a.dim - w.column, dv, one, even,
                           g.dkv_add);
}

/*
 * p_ij = exp(score_ij - lse_i);  dp_ij = keep_ij dy_i . v_j;  ds_ij = p_ij (dp_ij - delta_i);
 * dv_j (+)= sum_i keep_ij p_ij dy_i;  dk_j (+)= scale sum_i ds_ij q_i;  dq_i (+)= scale sum_j ds_ij k_j
 *
 * Grid     a.tiles blocks per sequence, head and slice of columns, which take turns at the tiles of keys; as few warps
 *          as the longest sequence needs.  Most sequences are one tile long: then dq is complete in its block.
 * Memory   k once, v into registers; q and dy once per tile of keys, a tile of queries ahead of their use.  In longer
 *          sequences each block stores its part of dq in scratch, f32, one tile after the other; parts are summed in
 *          order.
 * Numbers  products of bf16, sums in f32; weights and ds count as two bf16 each, some 16 bits.  delta is the sum of p
 *          dp if a tile holds all keys.  In longer sequences it is dy . y, whose y is small and has small rounding
 *          errors.
 */
template <int D>
__global__ void __launch_bounds__(backward_shape<D>::THREADS)
    attention_backward_mma_kernel(attention_grads<bf16> g, attention_args<bf16> a)
{
    using shape = backward_shape<D>;
    __shared__ backward_tiles<D> s;
    struct backward_work w;
    w.t = attention_task_of(a);
    int tiles = (int)a.tiles / shape::SLICES, tile = w.t.tile / shape::SLICES;
    w.column = w.t.tile % shape::SLICES * shape::COLUMNS;
    w.bias = bias_of(a, w.t.head);
    w.whole = w.t.k_length <= shape::KEYS;
    w.dq_part =
        g.dq_parts ? g.dq_parts + ((int64_t)tile * g.q_rows * a.n_heads + w.t.head - a.first_head) * a.dim : nullptr;
    float *cells = w.column ? nullptr : bias_part(g, a, w.t, tile, tiles);
    for (w.first = tile * shape::KEYS; w.first == 0 || w.first < w.t.k_length; w.first += tiles * shape::KEYS) {
        int left = w.t.k_length - w.first;
        w.keys = left < shape::KEYS ? left : shape::KEYS;
        w.again = w.first >= tiles * shape::KEYS;
        key_tile_backward(s, cells, g, a, w);
    }
}

/*
 * dq_i (+)= scale times the sum of its parts
 *
 * Grid     one block per sequence, head and SUM_QUERIES queries.
 * Numbers  f32 sums in the order of the parts, as many of them as the sequence has.
 */
constexpr int SUM_QUERIES = 32, SUM_THREADS = 128;

__global__ void __launch_bounds__(SUM_THREADS)
    attention_dq_sum_kernel(attention_grads<bf16> g, attention_args<bf16> a, int parts, int keys)
{
    struct attention_task t = attention_task_of(a);
    int first = t.tile * SUM_QUERIES, own = (t.k_length + keys - 1) / keys;
    int left = t.q_length - first < SUM_QUERIES ? t.q_length - first : SUM_QUERIES;
    for (int e = thread_id(); e < left * a.dim; e += SUM_THREADS) {
        int64_t row = t.q_first + first + e / a.dim, d = e % a.dim;
        float sum = 0;
        for (int part = 0; part < parts && part < own; part++)
            sum += g.dq_parts[((part * g.q_rows + row) * a.n_heads + t.head - a.first_head) * a.dim + d];
        put(g.dq + row * a.q_stride + (int64_t)t.head * a.dim + d, a.scale * sum, g.dq_add);
    }
}

template <int D>
static void launch(struct ctx *c, const attention_grads<bf16> &g, attention_args<bf16> a, const struct seqs *qs,
                   const struct seqs *ks)
{
    using shape = backward_shape<D>;
    int64_t parts = a.tiles, rows = 16 * shape::M, warps = (ks->max_len + rows - 1) / rows;
    warps = warps < 1 ? 1 : warps < shape::WARPS ? warps : shape::WARPS;
    a.tiles = parts * shape::SLICES;
    LAUNCH(attention_backward_mma_kernel<D>, blocks_for(qs->n * a.n_heads * a.tiles, 1), (unsigned)(warps * WARP), 0,
           cuda_stream(c), g, a);
    a.tiles = (qs->max_len + SUM_QUERIES - 1) / SUM_QUERIES;
    if (g.dq_parts && a.tiles)
        LAUNCH(attention_dq_sum_kernel, blocks_for(qs->n * a.n_heads * a.tiles, 1), SUM_THREADS, 0, cuda_stream(c), g,
               a, (int)parts, shape::KEYS);
}

int64_t attention_mma_keys(int head_dim)
{
    HEAD_SWITCH(head_dim, return backward_shape<D>::KEYS);
}

void attention_mma_backward(struct ctx *c, const attention_grads<bf16> &g, attention_args<bf16> a,
                            const struct seqs *qs, const struct seqs *ks)
{
    HEAD_SWITCH(a.dim, launch<D>(c, g, a, qs, ks));
}
