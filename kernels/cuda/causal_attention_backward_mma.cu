/* Part of causal_attention_backward.cuh: bf16 on tensor cores, five products. */
#include "kernels/cuda/causal_attention_backward.cuh"

#include "kernels/cuda/causal_mma.cuh"

constexpr int BACK_WARPS = 8, BACK_THREADS = BACK_WARPS * WARP;
constexpr int BACK_KEYS = 128, PREPARE_ROWS = 64;
constexpr float GRAINS = 0x1p30f; /* of a row's bound: partial sums stay within the integers */

/*
 * What sums dq: integers, so that the order in which blocks add is no matter.  A grain of a row's sum is 2^-30 of a
 * bound that no sum of slopes times keys can pass: twice |dy|, the longest v and the largest number of k multiplied.
 *
 * The rows of a sequence and group have places one behind the other, from a multiple of 16 on.  Sums lie as a product
 * leaves them: 16 rows by 8 columns are 4 times 32 numbers, one of each lane, so that a warp adds to 128 bytes at once.
 */
struct causal_sums {
    int *sum;      /* [places / 16, D / 8, 4, 32]; null: dq is not wanted */
    float2 *row;   /* [places]: log2 of the sum of exp, delta */
    float2 *grain; /* [places]: a grain, and grains in 1 */
    float *norms;  /* [groups, Tk, 2]: of k the largest number, of v the length */
    int64_t k_rows, places;
};

/* The place of a group's first row of a sequence; one sequence's rows end before the next one's begin. */
__device__ inline int64_t first_place(const struct causal_sums &w, const causal_args<bf16> &a,
                                      const struct packed_span &s, int64_t sequence, int group)
{
    return group * w.places / a.groups + ((int64_t)s.q_from * a.each / 16 + sequence) * 16;
}

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
    int64_t at = number % a.groups * w.k_rows + number / a.groups;
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
        w.norms[2 * at] = largest;
        w.norms[2 * at + 1] = sqrtf(square);
    }
}

/*
 * Numbers that the rows of a step are read with, and sums of 0
 *
 * Grid     one block per sequence, group and 64 rows.
 * Memory   dy and y once, the norms of a sequence's keys once per block.
 */
template <int D>
__global__ void __launch_bounds__(BACK_THREADS)
    causal_prepare_kernel(causal_grads<bf16> g, causal_args<bf16> a, struct causal_sums w)
{
    int pair = (int)block_id() / a.tiles, group = pair % a.groups;
    int first = (int)block_id() % a.tiles * PREPARE_ROWS;
    struct packed_span s = packed_span_of(a, pair / a.groups);
    int rows = s.n_queries * a.each, end = first + PREPARE_ROWS < rows ? first + PREPARE_ROWS : rows;
    int64_t place = first_place(w, a, s, pair / a.groups, group);
    float k = 0, v = 0;
    if (first >= rows)
        return;
    for (int j = thread_id(); w.sum && j < s.n_prefix + s.n_keys; j += BACK_THREADS) {
        float2 norm = ((const float2 *)w.norms)[group * w.k_rows + causal_key(s, j)];
        k = fmaxf(k, norm.x);
        v = fmaxf(v, norm.y);
    }
    k = block_max(k);
    v = block_max(v);

    for (int r = first + warp_id(); r < end; r += BACK_WARPS) {
        int64_t row = causal_row(a, s, group, r);
        float square, delta = causal_delta(&square, g.dy + row * a.dim, g.y + row * a.dim, a.dim);
        float grain = 2.0f / GRAINS * sqrtf(square) * k * v + 0.0f * delta; /* what is not finite stays so */
        if (lane_id() == 0) {
            w.row[place + r] = float2{ LOG2_E * g.lse[row], delta };
            w.grain[place + r] = float2{ grain, grain > 0x1p-100f ? 1.0f / grain : 0.0f };
        }
    }
    int numbers = ((end - first + 15) / 16 * 16) * D / 4;
    for (int i = thread_id(); w.sum && i < numbers; i += BACK_THREADS)
        ((uint4 *)(w.sum + (place + first) * D))[i] = uint4{ 0, 0, 0, 0 };
}

/* How a block's eight warps share its products: of the scores each has 32 rows and WIDE keys, of dk and dv 32 keys and
 * half of the columns, of dq 32 rows and DQ columns. */
template <int D_>
struct back_shape {
    static constexpr int D = D_, ROWS = 64, ROW_WARPS = ROWS / 32, KEY_WARPS = BACK_WARPS / ROW_WARPS;
    static constexpr int WIDE = BACK_KEYS / KEY_WARPS, HALF = D_ / 2, DQ = D_ / KEY_WARPS;
};

/* A block's part of the work: n keys from number `first` of a sequence's own, and rows of a sequence that see some of
 * them, its own or another's. */
struct back_task {
    int group, first, n;
    int sequence;        /* whose rows */
    int64_t key;         /* where the first key's k and v begin */
    int from, rows;      /* the group's rows in the sequence: from the first to the last that sees a key of the block */
    int ahead, seen;     /* query t sees the own keys up to `ahead` + t, and `seen` + t keys before its own */
    int64_t base, place; /* where the sequence's first row begins in q and dy, and its place */
};

/* Shared memory of a block: its keys and values, two steps of rows, the weights and slopes of one, and its
 * task, for which there are no registers. */
template <class S>
struct back_tiles {
    alignas(16) bf16 k[BACK_KEYS][S::D], v[BACK_KEYS][S::D];
    struct {
        alignas(16) bf16 q[S::ROWS][S::D], dy[S::ROWS][S::D];
        float2 row[S::ROWS];
    } step[2];
    alignas(16) bf16 weights[S::ROWS][BACK_KEYS], slopes[S::ROWS][BACK_KEYS];
    struct back_task task;
};

/* Starts filling a step with the task's rows from number `first` on. */
template <class S>
__device__ inline void load_step(back_tiles<S> &tiles, int stage, const causal_grads<bf16> &g,
                                 const causal_args<bf16> &a, const struct causal_sums &w, const struct back_task &t,
                                 int first)
{
    int skip = a.heads - a.each, n = t.rows - first, pair = 2 * thread_id(), left = n - pair;
    auto offset = [=](int i) { return (int64_t)(causal_query(a, first + i) * skip + first + i) * a.dim; };
    copy_swizzled<BACK_THREADS>(tiles.step[stage].q, a.q + t.base, a.dim, n, offset);
    copy_swizzled<BACK_THREADS>(tiles.step[stage].dy, g.dy + t.base, a.dim, n, offset);
    if (pair < S::ROWS)
        copy_async(&tiles.step[stage].row[pair], w.row + t.place + first + (left > 0 ? pair : 0),
                   left > 1   ? 16
                   : left > 0 ? 8
                              : 0);
}

/* A row's keys among the lane's, which begin at `key` of the block: those it sees are [from, end). */
struct back_sight {
    int from, end;
};

__device__ inline struct back_sight back_sight_of(const causal_args<bf16> &a, const struct back_task &t, int r,
                                                  int query, int key)
{
    int end = t.ahead + query + 1 - t.first, n = end < t.n ? end : t.n;
    return { a.window ? end - a.window - key : -BACK_KEYS, (r < t.rows ? n : 0) - key };
}

/* Scores of a row become capped ones; what their slopes are made of, less delta, is bent as well. */
template <int N>
__device__ inline void bend(float (&s)[N][4], float (&ds)[N][4], int half, float delta, const causal_args<bf16> &a)
{
    UNROLL
    for (int i = 0; i < 2 * N; i++) {
        float &score = s[i / 2][2 * half + i % 2], &slope = ds[i / 2][2 * half + i % 2];
        float capped = capped_score(a.scale * score, a.cap, 2.0f * LOG2_E / a.cap);
        slope = (slope - delta) * causal_cap_slope(a, capped);
        score = capped;
    }
}

/* Scores of a row += biases times `by`; the lane's first key lies `behind` places before the row's own. */
template <int N>
__device__ inline void bias_row(float (&s)[N][4], int half, float by, int head, int behind, const causal_args<bf16> &a)
{
    UNROLL
    for (int i = 0; i < 2 * N; i++) {
        int far = behind - i / 2 * 8 - i % 2;
        if (far >= 0)
            s[i / 2][2 * half + i % 2] += by * causal_bias(a, head, far);
    }
}

/* The warp's products of a step become weights and slopes, of 32 rows from `row` and keys from `key` on. */
template <class S, bool FULL>
__device__ inline void weigh(float (&p)[2][S::WIDE / 8][4], float (&ds)[2][S::WIDE / 8][4],
                             const float2 (&rows)[S::ROWS], const causal_args<bf16> &a, const struct back_task &t,
                             int first, int row, int key)
{
    int lane = afresh(lane_id());
    key += lane % 4 * 2;
    UNROLL
    for (int i = 0; i < 4; i++) {
        int half = i % 2, mine = row + 8 * i + lane / 4, r = first + mine, query = FULL ? 0 : causal_query(a, r);
        float scale = LOG2_E * a.scale, lse = rows[mine].x, delta = rows[mine].y;
        struct back_sight sight = {};
        if (!FULL) {
            if (a.cap > 0) {
                bend(p[i / 2], ds[i / 2], half, delta, a);
                scale = LOG2_E, delta = 0;
            }
            if (a.bias && r < t.rows)
                bias_row(p[i / 2], half, LOG2_E / scale, t.group * a.each + r - query * a.each,
                         t.ahead + query - t.first - key, a);
            sight = back_sight_of(a, t, r, query, key);
        }
        float share = FULL || !causal_alone(a, t.seen + query) ? 1.0f : 0.0f;
        UNROLL
        for (int n = 0; n < S::WIDE / 4; n++) {
            float &weight = p[i / 2][n / 2][2 * half + n % 2], &slope = ds[i / 2][n / 2][2 * half + n % 2];
            int number = n / 2 * 8 + n % 2;
            weight = exp2_fast(scale * weight - lse);
            if (!FULL && (number < sight.from || number >= sight.end))
                weight = 0.0f;
            slope = (FULL ? weight : share * weight) * (slope - delta);
        }
    }
}

/* Numbers of a product go, as bf16, to the tile's rows from `row` and keys from `key` on. */
template <int ROWS, int N>
__device__ inline void store_fragments(bf16 (&tile)[ROWS][BACK_KEYS], const float (&x)[2][N][4], int row, int key)
{
    int lane = afresh(lane_id()), turn = lane / 4 ^ key / PACK;
    UNROLL
    for (int i = 0; i < 4; i++) {
        UNROLL
        for (int n = 0; n < N; n++)
            store_pair(&tile[row + 8 * i + lane / 4][(turn ^ n) * PACK + lane % 4 * 2],
                       bf16_pair(x[i / 2][n][i % 2 * 2], x[i / 2][n][i % 2 * 2 + 1]));
    }
}

/* Weights and slopes of a step's rows from `first` on and the block's first n keys. */
template <class S, bool FULL>
__device__ inline void weigh_step(back_tiles<S> &tiles, int stage, const causal_args<bf16> &a,
                                  const struct back_task &t, int first, int n)
{
    constexpr int N = S::WIDE / 8;
    int row = warp_id() % S::ROW_WARPS * 32, key = warp_id() / S::ROW_WARPS * S::WIDE;
    float p[2][N][4], ds[2][N][4];
    if (!FULL && (first + row >= t.rows || key >= n))
        return; /* the whole warp */
    zero(p);
    zero(ds);
    add_product<false, true, S::D / 16, true>(p, tiles.step[stage].q, { row, 0 }, tiles.k, { key, 0 }, 0);
    add_product<false, true, S::D / 16, true>(ds, tiles.step[stage].dy, { row, 0 }, tiles.v, { key, 0 }, 0);
    weigh<S, FULL>(p, ds, tiles.step[stage].row, a, t, first, row, key);
    store_fragments(tiles.weights, p, row, key);
    store_fragments(tiles.slopes, ds, row, key);
}

/* The sums of the warp's 32 rows from `row` of a step += slopes k, over the block's first n keys. */
template <class S, bool FULL>
__device__ inline void sum_queries(const struct causal_sums &w, const back_tiles<S> &tiles, const struct back_task &t,
                                   int first, int n)
{
    int row = warp_id() % S::ROW_WARPS * 32, column = warp_id() / S::ROW_WARPS * S::DQ;
    float dq[2][S::DQ / 8][4];
    if (!FULL && first + row >= t.rows)
        return; /* the whole warp */
    zero(dq);
    add_product<false, false, BACK_KEYS / 16, FULL>(dq, tiles.slopes, { row, 0 }, tiles.k, { 0, column / PACK },
                                                    (n + 15) / 16);
    int64_t place = t.place + first + row;
    int lane = afresh(lane_id());
    UNROLL
    for (int m = 0; m < 2; m++) {
        if (first + row + 16 * m >= t.rows)
            return;
        int *sum = w.sum + (place + 16 * m) * S::D + column * 16 + lane;
        UNROLL
        for (int half = 0; half < 2; half++) {
            int r = 16 * m + 8 * half + lane / 4;
            float grains = FULL || first + row + r < t.rows ? w.grain[place + r].y : 0.0f;
            UNROLL
            for (int i = 0; i < S::DQ / 4; i++)
                atomicAdd(sum + (i / 2 * 4 + half * 2 + i % 2) * WARP,
                          nearest(grains * dq[m][i / 2][2 * half + i % 2]));
        }
    }
}

/* Gradients of the warp's 32 keys from one step: half of the columns of dv += weights^T dy and dk += slopes^T q. */
template <class S, bool FULL>
__device__ inline void sum_keys(float (&dk)[2][S::HALF / 8][4], float (&dv)[2][S::HALF / 8][4],
                                const back_tiles<S> &tiles, int stage, int rows, int n)
{
    int key = warp_id() % 4 * 32, column = warp_id() / 4 * S::HALF / PACK, steps = (rows + 15) / 16;
    if (!FULL && key >= n)
        return; /* the whole warp */
    add_product<true, false, S::ROWS / 16, FULL>(dv, tiles.weights, { 0, key / PACK }, tiles.step[stage].dy,
                                                 { 0, column }, steps);
    add_product<true, false, S::ROWS / 16, FULL>(dk, tiles.slopes, { 0, key / PACK }, tiles.step[stage].q,
                                                 { 0, column }, steps);
}

/* One step of rows from `first` on, of which the last sees n of the block's keys. */
template <class S, bool FULL>
__device__ inline void back_step(float (&dk)[2][S::HALF / 8][4], float (&dv)[2][S::HALF / 8][4], back_tiles<S> &tiles,
                                 int stage, const causal_args<bf16> &a, const struct causal_sums &w,
                                 const struct back_task &t, int first, int n)
{
    weigh_step<S, FULL>(tiles, stage, a, t, first, n);
    __syncthreads(); /* weights and slopes are there */
    if (w.sum)
        sum_queries<S, FULL>(w, tiles, t, first, n);
    sum_keys<S, FULL>(dk, dv, tiles, afresh(stage), t.rows - first, n);
}

/* Whether all of a step's rows see all of the block's keys, with nothing but a scale between products and weights. */
template <class S>
__device__ inline bool all_see(const causal_args<bf16> &a, const struct back_task &t, int first)
{
    int last = t.ahead + causal_query(a, first + S::ROWS - 1);
    return t.n == BACK_KEYS && first + S::ROWS <= t.rows && !a.bias && a.cap == 0 &&
           t.ahead + causal_query(a, first) >= t.first + BACK_KEYS - 1 && (!a.window || last - t.first < a.window);
}

/* The task's rows: of a sequence that is the keys' own, or has them in its prefix. */
__device__ inline void back_rows_of(struct back_task &t, const causal_args<bf16> &a, const struct causal_sums &w,
                                    bool own)
{
    struct packed_span s = packed_span_of(a, t.sequence);
    t.base = ((int64_t)s.q_from * a.heads + t.group * a.each) * a.dim;
    t.place = first_place(w, a, s, t.sequence, t.group);
    t.seen = s.n_prefix + s.ahead, t.ahead = own ? s.ahead : t.seen;
    t.from = t.first > t.ahead ? (t.first - t.ahead) * a.each / 16 * 16 : 0;
    t.rows = causal_rows_until(a, s, t.first + t.n - 1 - t.ahead);
}

/* Gradients between the task's rows and the block's keys, both ways; before them a step of no rows, while the first
 * arrive.
 */
template <class S>
__device__ inline void back_sequence(float (&dk)[2][S::HALF / 8][4], float (&dv)[2][S::HALF / 8][4],
                                     back_tiles<S> &tiles, const causal_grads<bf16> &g, const causal_args<bf16> &a,
                                     const struct causal_sums &w, const struct back_task &t)
{
    for (int first = t.from - S::ROWS, stage = 1; first < t.rows; first += S::ROWS, stage ^= 1) {
        copy_wait<0>();
        __syncthreads(); /* the step is there; the one before, its weights and slopes have been used */
        if (first + S::ROWS < t.rows)
            load_step(tiles, 1 - stage, g, a, w, t, first + S::ROWS);
        copy_commit();
        if (first < t.from)
            continue;
        if (all_see<S>(a, t, first)) {
            back_step<S, true>(dk, dv, tiles, stage, a, w, t, first, BACK_KEYS);
            continue;
        }
        int end = first + S::ROWS < t.rows ? first + S::ROWS : t.rows;
        int seen = t.ahead + causal_query(a, end - 1) + 1 - t.first;
        back_step<S, false>(dk, dv, tiles, stage, a, w, t, first, seen < t.n ? seen : t.n);
    }
}

/* x (+)= factor out for the warp's keys and half of their columns. */
template <class S>
__device__ inline void store_keys(bf16 *x, const struct back_task &t, const causal_args<bf16> &a,
                                  const float (&out)[2][S::HALF / 8][4], float factor, bool add)
{
    int first = warp_id() % 4 * 32, column = warp_id() / 4 * S::HALF;
    int64_t stride = (int64_t)a.groups * a.dim;
    const float factors[2][2] = { { factor, factor }, { factor, factor } };
    put_tile_rows<S::HALF>(x + t.key + first * stride + column, stride, t.n - first, a.dim - column, out, factors,
                           a.dim % 2 == 0, add);
}

/*
 * dv_j (+)= sum_i p_ij dy_i;  dk_j (+)= scale sum_i slope_ij q_i, over the group's rows that see key j;
 * sum_i += slope_ij k_j
 *
 * Grid     one block per tile of 128 keys, sequence and group: first the first tiles of all sequences, which most rows
 *          see, so that no long block begins late.
 * Memory   k and v once per block into shared memory; q and dy once per tile of keys, 64 rows (128 of heads of 64) in
 *          two stages; weights and slopes of a step as bf16.  dq crosses the tiles: 4 bytes a number and tile, added
 *          where the memory's cache lies.  Tables of f32 for each tile, summed later, would be written and read, 8
 *          bytes, and take a tile's share of all rows in flight; computing scores twice is two products in seven.
 * Numbers  products of bf16, weights and slopes rounded to bf16 too; dk, dv in f32: the own queries, each one's heads
 *          in order, then the sequences that have the tile in their prefix; dq in grains.
 * Laid out for the shared memory and registers of an A100: the tiles are 162 KB, of 163.
 */
template <int D>
__global__ void __launch_bounds__(BACK_THREADS)
    causal_backward_mma_kernel(causal_grads<bf16> g, causal_args<bf16> a, struct causal_sums w)
{
    using S = back_shape<D>;
    DYNAMIC_SHARED(back_tiles<S>, tiles);
    int pairs = (int)gridDim.x / a.tiles, pair = (int)block_id() % pairs, sequence = pair / a.groups;
    int last = g.last ? g.last[sequence] : sequence;
    struct packed_span s = packed_span_of(a, sequence);
    struct back_task t = {};
    t.group = pair % a.groups, t.first = (int)block_id() / pairs * BACK_KEYS;
    t.n = s.n_keys - t.first < BACK_KEYS ? s.n_keys - t.first : BACK_KEYS;
    t.key = ((int64_t)(s.key_from + t.first) * a.groups + t.group) * a.dim;
    if (t.n <= 0)
        return;
    float dk[2][S::HALF / 8][4], dv[2][S::HALF / 8][4];
    zero(dk);
    zero(dv);
    auto offset = [=](int i) { return (int64_t)i * a.groups * a.dim; };
    copy_swizzled<BACK_THREADS>(tiles->k, a.k + t.key, a.dim, t.n, offset);
    copy_swizzled<BACK_THREADS>(tiles->v, a.v + t.key, a.dim, t.n, offset);

    for (t.sequence = sequence; t.sequence <= last; t.sequence = tiles->task.sequence + 1) {
        back_rows_of(t, a, w, t.sequence == sequence);
        __syncthreads(); /* the task before is done */
        if (thread_id() == 0)
            tiles->task = t;
        __syncthreads(); /* the task is there */
        back_sequence<S>(dk, dv, *tiles, g, a, w, tiles->task);
    }
    copy_wait<0>(); /* the keys, should there be no query */
    if (g.dk)
        store_keys<S>(g.dk, tiles->task, a, dk, a.scale, g.dk_add);
    if (g.dv)
        store_keys<S>(g.dv, tiles->task, a, dv, 1.0f, g.dv_add);
}

/*
 * dq_i (+)= scale grain_i sum_i
 *
 * Grid     one block per sequence, group and 64 rows; a warp has 8 of them.
 * Memory   the sums once.
 */
template <int D>
__global__ void __launch_bounds__(BACK_THREADS)
    causal_dq_sum_kernel(causal_grads<bf16> g, causal_args<bf16> a, struct causal_sums w)
{
    int pair = (int)block_id() / a.tiles, group = pair % a.groups;
    int first = (int)block_id() % a.tiles * PREPARE_ROWS + warp_id() * 8, r = first + lane_id() / 4;
    struct packed_span s = packed_span_of(a, pair / a.groups);
    if (r >= s.n_queries * a.each)
        return;
    int64_t place = first_place(w, a, s, pair / a.groups, group), row = causal_row(a, s, group, r);
    const int *sum = w.sum + (place + first / 16 * 16) * D + first % 16 / 8 * 2 * WARP + lane_id() / 4 * 4;
    float factor = a.scale * w.grain[place + r].x;
    UNROLL
    for (int n = lane_id() % 4; n < D / 8; n += 4) {
        uint4 even = *(const uint4 *)(sum + n * 4 * WARP), odd = *(const uint4 *)(sum + (n * 4 + 1) * WARP);
        const unsigned both[PACK] = { even.x, odd.x, even.y, odd.y, even.z, odd.z, even.w, odd.w };
        float v[PACK];
        for (int i = 0; i < PACK; i++)
            v[i] = factor * (float)(int)both[i];
        if (8 * n < a.dim)
            put_pack(g.dq + row * a.dim + 8 * n, v, a.dim - 8 * n, g.dq_add);
    }
}

template <int D>
static void backward_launch(struct ctx *c, const causal_grads<bf16> &g, causal_args<bf16> a,
                            const struct causal_sums &w, const struct causal *s)
{
    int64_t pairs = s->qs.n * a.groups;
    causal_args<bf16> rows = a;
    rows.tiles = (int)((s->qs.max_len * a.each + PREPARE_ROWS - 1) / PREPARE_ROWS);
    LAUNCH(causal_prepare_kernel<D>, blocks_for(pairs * rows.tiles, 1), BACK_THREADS, 0, cuda_stream(c), g, rows, w);
    a.tiles = (int)((s->max_keys + BACK_KEYS - 1) / BACK_KEYS);
    LAUNCH_WIDE(causal_backward_mma_kernel<D>, blocks_for(pairs * a.tiles, 1), BACK_THREADS,
                sizeof(back_tiles<back_shape<D>>), cuda_stream(c), g, a, w);
    if (w.sum)
        LAUNCH(causal_dq_sum_kernel<D>, blocks_for(pairs * rows.tiles, 1), BACK_THREADS, 0, cuda_stream(c), g, rows, w);
}

bool causal_backward_mma(struct ctx *c, const causal_grads<bf16> &g, const causal_args<bf16> &a, const struct causal *s,
                         int *sums, int64_t q_rows, int64_t k_rows)
{
    struct causal_sums w = {};
    int64_t norms = k_rows * a.groups;
    if (a.dim > CAUSAL_SUM_DIM)
        return false;
    if (q_rows == 0)
        return k_rows == 0;
    w.k_rows = k_rows, w.places = causal_sum_places(q_rows, s->qs.n, a.heads, a.groups);
    w.row = (float2 *)sums, w.grain = w.row + w.places, w.norms = (float *)(w.grain + w.places);
    w.sum = g.dq ? sums + 4 * w.places + (2 * norms + 15) / 16 * 16 : nullptr;
    if (w.sum)
        LAUNCH(causal_norms_kernel, blocks_for(norms, BACK_WARPS), BACK_THREADS, 0, cuda_stream(c), w, a, norms);
    if (a.dim <= 64)
        backward_launch<64>(c, g, a, w, s);
    else
        backward_launch<128>(c, g, a, w, s);
    return true;
}
