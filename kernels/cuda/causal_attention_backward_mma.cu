/* Part of causal_attention_backward.cuh: bf16 on tensor cores, five products. */
#include "kernels/cuda/causal_attention_backward.cuh"

#include "kernels/cuda/causal_mma.cuh"

constexpr int BACK_WARPS = 8, BACK_THREADS = BACK_WARPS * WARP;
constexpr int BACK_KEYS = BACK_WARPS * MMA_ROWS, BACK_ROWS = 32; /* of a block, and of one step of it */
constexpr int PREPARE_ROWS = 64;
constexpr float GRAINS = 0x1p30f; /* of a row's bound: partial sums stay within the integers */

/*
 * What sums dq: integers, so that the order in which blocks add is no matter.  A grain of a row's sum is 2^-30 of a
 * bound that no sum of slopes times keys can pass: twice |dy|, the longest v and the largest number of k multiplied.
 */
struct causal_sums {
    int *sum;     /* [Tq, heads, dim]; null: dq is not wanted */
    float *grain; /* [Tq, heads] */
    float *norms; /* [Tk, groups, 2]: of k the largest number, of v the length */
};

/*
 * norms
 *
 * Grid     one warp per key row and group.
 * Memory   k and v once.
 */
__global__ void __launch_bounds__(BACK_THREADS)
    causal_norms_kernel(struct causal_sums w, causal_args<bf16> a, int64_t numbers)
{
    int64_t number = grid_warp();
    float largest = 0, square = 0;
    if (number >= numbers)
        return; /* the whole warp */
    for (int d = lane_id() * PACK; d < a.dim; d += WARP * PACK) {
        float k[PACK], v[PACK];
        load_pack(k, a.k + number * a.dim + d, a.dim - d);
        load_pack(v, a.v + number * a.dim + d, a.dim - d);
        for (int i = 0; i < PACK; i++) {
            largest = fmaxf(largest, fabsf(k[i]));
            square += v[i] * v[i];
        }
    }
    largest = warp_max(largest);
    square = warp_sum(square);
    if (lane_id() == 0) {
        w.norms[2 * number] = largest;
        w.norms[2 * number + 1] = sqrtf(square);
    }
}

/*
 * delta, grain, and sums of 0
 *
 * Grid     one block per sequence, group and 64 rows.
 * Memory   dy and y once, the norms of a sequence's keys once per block.
 */
__global__ void __launch_bounds__(BACK_THREADS)
    causal_prepare_kernel(causal_grads<bf16> g, causal_args<bf16> a, struct causal_sums w)
{
    int pair = (int)block_id() / a.tiles, group = pair % a.groups;
    int first = (int)block_id() % a.tiles * PREPARE_ROWS;
    struct packed_span s = packed_span_of(a, pair / a.groups);
    int rows = s.n_queries * a.each, end = first + PREPARE_ROWS < rows ? first + PREPARE_ROWS : rows;
    float k = 0, v = 0;
    if (first >= rows)
        return;
    for (int j = thread_id(); w.sum && j < s.n_prefix + s.n_keys; j += BACK_THREADS) {
        const float *norm = w.norms + 2 * (causal_key(s, j) * a.groups + group);
        k = fmaxf(k, norm[0]);
        v = fmaxf(v, norm[1]);
    }
    k = block_max(k);
    v = block_max(v);

    for (int r = first + warp_id(); r < end; r += BACK_WARPS) {
        int64_t row = causal_row(a, s, group, r);
        float square, delta = causal_delta(&square, g.dy + row * a.dim, g.y + row * a.dim, a.dim);
        if (lane_id() == 0)
            g.delta[row] = delta;
        if (!w.sum)
            continue;
        if (lane_id() == 0)
            w.grain[row] = 2.0f / GRAINS * sqrtf(square) * k * v + 0.0f * delta; /* what is not finite stays so */
        for (int d = lane_id(); d < a.dim; d += WARP)
            w.sum[row * a.dim + d] = 0;
    }
}

/* Rows of one step: what is copied, and of each what its slopes are made of. */
template <int D>
struct back_rows {
    alignas(16) bf16 q[BACK_ROWS][D + TILE_GAP];
    alignas(16) bf16 dy[BACK_ROWS][D + TILE_GAP];
    float lse[BACK_ROWS], delta[BACK_ROWS], share[BACK_ROWS]; /* share: 0 for a row that sees one key, else 1 */
    float grains[BACK_ROWS];                                  /* in 1 */
    int at[BACK_ROWS], row[BACK_ROWS]; /* the last position seen; number in [Tq, heads], -1: none */
};

/* What a block has in shared memory.  slopes: of the step's rows, [keys, rows], for the product that sums over keys. */
template <int D>
struct back_tiles {
    alignas(16) bf16 k[BACK_KEYS][D + TILE_GAP];
    alignas(16) bf16 v[BACK_KEYS][D + TILE_GAP];
    alignas(16) bf16 slopes[BACK_KEYS][BACK_ROWS + TILE_GAP];
    struct back_rows<D> rows[2];
};

/* Starts filling a step with rows [first, ...) of a group, of which each sees the keys up to `ahead` + its query. */
template <int D>
__device__ inline void load_back_rows(back_rows<D> &tile, const causal_grads<bf16> &g, const causal_args<bf16> &a,
                                      const struct causal_sums &w, const struct packed_span &s, int group, int first,
                                      int ahead)
{
    int rows = s.n_queries * a.each, n = rows - first < BACK_ROWS ? (rows - first + 15) / 16 * 16 : BACK_ROWS;
    copy_rows(tile.q, a.q, a, s, group, first, n, rows);
    copy_rows(tile.dy, g.dy, a, s, group, first, n, rows);
    int i = thread_id(), r = first + i;
    if (i >= BACK_ROWS)
        return;
    int64_t row = r < rows ? causal_row(a, s, group, r) : 0;
    float grain = w.sum && r < rows ? w.grain[row] : 0.0f;
    tile.lse[i] = r < rows ? LOG2_E * g.lse[row] : INFINITY; /* weights 0 */
    tile.delta[i] = r < rows ? g.delta[row] : 0.0f;
    tile.share[i] = causal_alone(a, s.n_prefix + s.ahead + r / a.each) ? 0.0f : 1.0f;
    tile.grains[i] = grain > 0x1p-100f ? 1.0f / grain : 0.0f;
    tile.at[i] = ahead + r / a.each;
    tile.row[i] = r < rows ? (int)row : -1;
}

/* What `left` rows give the warp's 16 keys, of which the lane's are at positions key and key + 8, as far as these are
 * below `end`; their slopes stay. */
template <int D>
__device__ inline void back_keys(float (&dk)[1][D / 8][4], float (&dv)[1][D / 8][4], back_tiles<D> &tiles,
                                 const back_rows<D> &rows, const causal_args<bf16> &a, int key, int end, int left)
{
    const bool never[1] = { false };
    float p[1][BACK_ROWS / 8][4], ds[1][BACK_ROWS / 8][4], scale = LOG2_E * a.scale;
    int first = warp_id() * MMA_ROWS;
    zero(p);
    zero(ds);
    add_scores(p, tiles.k, first, rows.q, left);
    add_scores(ds, tiles.v, first, rows.dy, left);
    UNROLL
    for (int n = 0; n < BACK_ROWS / 8; n++) {
        UNROLL
        for (int m = 0; m < 4; m++) {
            int i = 8 * n + lane_id() % 4 * 2 + m % 2, behind = rows.at[i] - key - m / 2 * 8;
            float score = scale * p[0][n][m], slope = rows.share[i];
            if (a.cap > 0) {
                float capped = capped_score(score, a.cap, 2.0f / a.cap);
                slope *= causal_cap_slope(a, capped);
                score = LOG2_E * capped;
            }
            score -= rows.lse[i];
            if (a.bias && behind >= 0 && rows.row[i] >= 0)
                score += LOG2_E * causal_bias(a, rows.row[i] % a.heads, behind);
            float weight = causal_sees(a, behind) && key + m / 2 * 8 < end ? exp2f(score) : 0.0f;
            p[0][n][m] = weight;
            ds[0][n][m] = slope * weight * (ds[0][n][m] - rows.delta[i]);
        }
        UNROLL
        for (int half = 0; half < 2; half++)
            store_pair(&tiles.slopes[first + lane_id() / 4 + 8 * half][8 * n + lane_id() % 4 * 2],
                       bf16_pair(ds[0][n][2 * half], ds[0][n][2 * half + 1]));
    }
    add_weighted<D>(dv, p, rows.dy, left, never);
    add_weighted<D>(dk, ds, rows.q, left, never);
}

/* sum += slopes k, each warp 16 rows and a quarter of the columns, over the block's n keys. */
template <int D>
__device__ inline void back_queries(const struct causal_sums &w, const back_tiles<D> &tiles, const back_rows<D> &rows,
                                    int dim, int n)
{
    constexpr int WIDE = D * BACK_ROWS / MMA_ROWS / BACK_WARPS;
    int first = warp_id() % (BACK_ROWS / MMA_ROWS) * MMA_ROWS, column = warp_id() / (BACK_ROWS / MMA_ROWS) * WIDE;
    float dq[1][WIDE / 8][4];
    zero(dq);
    for (int key = 0; key < n; key += 16) {
        unsigned left[1][4];
        take_left_transposed(left[0], tiles.slopes, key, first);
        add_times_left<WIDE>(dq, left, tiles.k, key, column);
    }
    UNROLL
    for (int half = 0; half < 2; half++) {
        int r = first + lane_id() / 4 + 8 * half, row = rows.row[r];
        float grains = rows.grains[r];
        UNROLL
        for (int i = 0; i < WIDE / 4; i++) {
            int d = column + 8 * (i / 2) + lane_id() % 4 * 2 + i % 2;
            if (row >= 0 && d < dim)
                atomicAdd(w.sum + (int64_t)row * dim + d, (int)rintf(grains * dq[0][i / 2][2 * half + i % 2]));
        }
    }
}

/* What rows [from, all) of a group of one sequence give the block's n keys, and get of them; ahead: see load_back_rows.
 */
template <int D>
__device__ inline void back_sequence(float (&dk)[1][D / 8][4], float (&dv)[1][D / 8][4], back_tiles<D> &tiles,
                                     const causal_grads<bf16> &g, const causal_args<bf16> &a,
                                     const struct causal_sums &w, const struct packed_span &s, int group, int from,
                                     int ahead, int first, int n)
{
    int rows = causal_rows_until(a, s, first + n - 1 - ahead), mine = warp_id() * MMA_ROWS;
    __syncthreads(); /* the steps before have been used */
    if (from < rows)
        load_back_rows<D>(tiles.rows[0], g, a, w, s, group, from, ahead);
    copy_commit();
    for (int r0 = from, now = 0; r0 < rows; r0 += BACK_ROWS, now = 1 - now) {
        copy_wait<0>();
        __syncthreads(); /* the step is there, the one before and its slopes have been used */
        if (r0 + BACK_ROWS < rows)
            load_back_rows<D>(tiles.rows[1 - now], g, a, w, s, group, r0 + BACK_ROWS, ahead);
        copy_commit();
        if (mine < n)
            back_keys<D>(dk, dv, tiles, tiles.rows[now], a, first + mine + lane_id() / 4, first + n, rows - r0);
        __syncthreads(); /* the slopes are there */
        if (w.sum)
            back_queries<D>(w, tiles, tiles.rows[now], a.dim, n);
    }
}

/* The warp's keys x[row] (+)= factor out, through its part of `tall` rows of shared memory, as f32. */
template <int D>
__device__ inline void store_keys(bf16 *x, int64_t row, int n, const causal_args<bf16> &a, int group, float *stage,
                                  const float (&out)[1][D / 8][4], float factor, bool add)
{
    constexpr int WIDE = D + 4;
    __syncwarp(); /* what was there has been used */
    UNROLL
    for (int i = 0; i < D / 2; i++)
        stage[(lane_id() / 4 + i % 4 / 2 * 8) * WIDE + i / 4 * 8 + lane_id() % 4 * 2 + i % 2] =
            factor * out[0][i / 4][i % 4];
    __syncwarp();
    for (int t = lane_id(); t < MMA_ROWS * D / PACK; t += WARP) {
        int i = t / (D / PACK), d = t % (D / PACK) * PACK;
        float v[PACK];
        for (int e = 0; e < PACK; e++)
            v[e] = stage[i * WIDE + d + e];
        if (i < n && d < a.dim)
            put_pack(x + ((row + i) * a.groups + group) * a.dim + d, v, a.dim - d, add);
    }
}

/*
 * dv_j (+)= sum_i p_ij dy_i;  dk_j (+)= scale sum_i slope_ij q_i, over the group's rows that see key j;
 * sum_i += slope_ij k_j
 *
 * Grid     one block per tile of 128 keys, sequence and group: first the first tiles of all sequences, which most rows
 *          see, so that no long block begins late.
 * Memory   k and v once per block into shared memory; q and dy once per tile of keys, 32 rows in two stages.  dq
 * crosses the tiles: 4 bytes a number and tile, added where the memory's cache lies.  Tables of f32 for each tile,
 *          summed later, would be written and read, 8 bytes, and take a tile's share of all rows in flight; stored
 *          slopes 4 bytes at heads of 128 and 8 at 64, and as much memory; computing scores twice is two products in
 *          seven.
 * Numbers  products of bf16, weights and slopes rounded to bf16 too; dk, dv in f32: the own queries, each one's heads
 * in order, then the sequences that have the tile in their prefix; dq in grains. Laid out for the shared memory and
 * registers of an A100.
 */
template <int D>
__global__ void __launch_bounds__(BACK_THREADS)
    causal_backward_mma_kernel(causal_grads<bf16> g, causal_args<bf16> a, struct causal_sums w)
{
    DYNAMIC_SHARED(back_tiles<D>, tiles);
    int pairs = (int)gridDim.x / a.tiles, pair = (int)block_id() % pairs, group = pair % a.groups;
    int sequence = pair / a.groups, last = g.last ? g.last[sequence] : sequence;
    int first = (int)block_id() / pairs * BACK_KEYS;
    struct packed_span s = packed_span_of(a, sequence);
    if (first >= s.n_keys)
        return;
    int n = s.n_keys - first < BACK_KEYS ? s.n_keys - first : BACK_KEYS;
    int from = first > s.ahead ? (first - s.ahead) * a.each : 0, mine = warp_id() * MMA_ROWS;
    float dk[1][D / 8][4], dv[1][D / 8][4];
    zero(dk);
    zero(dv);
    copy_keys(tiles->k, a.k, a, s.key_from + first, n, group);
    copy_keys(tiles->v, a.v, a, s.key_from + first, n, group);

    for (int other = sequence; other <= last; other++) {
        struct packed_span o = packed_span_of(a, other);
        bool own = other == sequence;
        back_sequence<D>(dk, dv, *tiles, g, a, w, o, group, own ? from : 0, own ? o.ahead : o.n_prefix + o.ahead, first,
                         n);
    }
    copy_wait<0>();  /* the keys, should there be no query */
    __syncthreads(); /* keys and values have been used, and become room for what goes out */
    if (mine >= n)
        return; /* the whole warp */
    float *stage = (float *)tiles + warp_id() * MMA_ROWS * (D + 4);
    if (g.dk)
        store_keys<D>(g.dk, s.key_from + first + mine, n - mine, a, group, stage, dk, a.scale, g.dk_add);
    if (g.dv)
        store_keys<D>(g.dv, s.key_from + first + mine, n - mine, a, group, stage, dv, 1.0f, g.dv_add);
}

/*
 * dq_i (+)= scale grain_i sum_i
 *
 * Grid     one thread per eight numbers of a row.
 * Memory   the sums once.
 */
__global__ void __launch_bounds__(BACK_THREADS)
    causal_dq_sum_kernel(causal_grads<bf16> g, causal_args<bf16> a, struct causal_sums w, int64_t rows)
{
    int pieces = (a.dim + PACK - 1) / PACK;
    int64_t row = grid_thread() / pieces;
    int d = (int)(grid_thread() % pieces) * PACK;
    if (row >= rows)
        return;
    float factor = a.scale * w.grain[row], v[PACK];
    for (int i = 0; i < PACK; i++)
        v[i] = d + i < a.dim ? factor * (float)w.sum[row * a.dim + d + i] : 0.0f;
    put_pack(g.dq + row * a.dim + d, v, a.dim - d, g.dq_add);
}

template <int D>
static void backward_launch(struct ctx *c, const causal_grads<bf16> &g, causal_args<bf16> a,
                            const struct causal_sums &w, const struct causal *s, int64_t rows)
{
    int64_t pairs = s->qs.n * a.groups;
    a.tiles = (int)((s->qs.max_len * a.each + PREPARE_ROWS - 1) / PREPARE_ROWS);
    LAUNCH(causal_prepare_kernel, blocks_for(pairs * a.tiles, 1), BACK_THREADS, 0, cuda_stream(c), g, a, w);
    a.tiles = (int)((s->max_keys + BACK_KEYS - 1) / BACK_KEYS);
    LAUNCH_WIDE(causal_backward_mma_kernel<D>, blocks_for(pairs * a.tiles, 1), BACK_THREADS, sizeof(back_tiles<D>),
                cuda_stream(c), g, a, w);
    if (w.sum)
        LAUNCH(causal_dq_sum_kernel, blocks_for(rows * ((a.dim + PACK - 1) / PACK), BACK_THREADS), BACK_THREADS, 0,
               cuda_stream(c), g, a, w, rows);
}

bool causal_backward_mma(struct ctx *c, causal_grads<bf16> g, causal_args<bf16> a, const struct causal *s, int *sums,
                         int64_t q_rows, int64_t k_rows)
{
    struct causal_sums w = {};
    int64_t rows = q_rows * a.heads, norms = k_rows * a.groups;
    if (a.dim > CAUSAL_SUM_DIM)
        return false;
    if (q_rows == 0)
        return k_rows == 0;
    g.delta = (float *)sums, w.grain = g.delta + rows, w.norms = w.grain + rows;
    w.sum = g.dq ? sums + 2 * (rows + norms) : nullptr;
    if (w.sum)
        LAUNCH(causal_norms_kernel, blocks_for(norms, BACK_WARPS), BACK_THREADS, 0, cuda_stream(c), w, a, norms);
    if (a.dim <= 64)
        backward_launch<64>(c, g, a, w, s, rows);
    else
        backward_launch<128>(c, g, a, w, s, rows);
    return true;
}
