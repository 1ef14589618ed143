/*
 * causal_attention_backward_mma.cu - the backward of causal attention in bf16 on tensor cores, in five products.
 *
 * A block holds a tile of keys; the rows that see them pass through shared memory in steps.  dk and dv stay in
 * registers. dq crosses the tiles, so each block adds its share to integer sums in memory.
 */
#include "kernels/cuda/causal_attention_backward.cuh"

#include "kernels/cuda/causal_mma.cuh"

constexpr int BACK_WARPS = 8, BACK_THREADS = BACK_WARPS * WARP;
constexpr int BACK_KEYS = 128, PREPARE_ROWS = 64;
constexpr float GRAINS = 0x1p30f; /* grains in a row's bound; partial sums stay within the integers */

/*
 * Sums of dq.
 *
 * They are integers, so the order in which blocks add does not matter and results are reproducible.  A grain of a row's
 * sum is 2^-30 of a bound that no sum of slopes times keys can exceed.  The bound is 2 |dy| times the length of the
 * longest v, times the largest number of k.  It holds because the weights of a row add up to 1, and |dp_ij - delta_i|
 * is at most 2 |dy| |v|.
 *
 * The rows of a sequence and group have consecutive places, from a multiple of 16 on.  Sums are laid out as a product
 * leaves them.  16 rows by 8 columns are 4 times 32 numbers, one of each lane, so a warp adds to 128 neighbouring
 * bytes.
 */
struct causal_sums {
    int *sum;      /* [places / 16, D / 8, 4, 32]; null: dq is not wanted */
    float2 *row;   /* [places]: log2 of the sum of exp, delta */
    float2 *grain; /* [places]: a grain, and grains in 1 */
    float *norms;  /* [groups, Tk, 2]: of k the largest number, of v the length */
    int64_t k_rows, places;
};

/* Returns the place of a group's first row of a sequence.  Rounding down loses less than 16 places, and every sequence
 * adds 16.  So its rows end before those of the next sequence begin. */
__device__ inline int64_t first_place(const struct causal_sums &w, const causal_args<bf16> &a,
                                      const struct packed_span &s, int64_t sequence, int group)
{
    return group * w.places / a.groups + ((int64_t)s.q_from * a.each / 16 + sequence) * 16;
}

/*
 * norms = the largest number of each row of k, and the length of each row of v
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
        return; /* the whole warp returns */
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
 * Computes the numbers that belong to each row (lse, delta, grain), and clears the sums.
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
        float grain = 2.0f / GRAINS * sqrtf(square) * k * v + 0.0f * delta; /* 0 * delta keeps what is not finite */
        if (lane_id() == 0) {
            w.row[place + r] = float2{ LOG2_E * g.lse[row], delta };
            w.grain[place + r] = float2{ grain, grain > 0x1p-100f ? 1.0f / grain : 0.0f };
        }
    }
    /* Sums are cleared in whole groups of 16 rows, 16 bytes at a time. */
    int numbers = ((end - first + 15) / 16 * 16) * D / 4;
    for (int i = thread_id(); w.sum && i < numbers; i += BACK_THREADS)
        ((uint4 *)(w.sum + (place + first) * D))[i] = uint4{ 0, 0, 0, 0 };
}

/* Shape of a block.  Its eight warps share each product.  For the scores a warp has 32 rows and WIDE keys, for dk and
 * dv 32 keys and half of the columns, for dq 32 rows and DQ columns. */
template <int D_>
struct back_shape {
    static constexpr int D = D_, ROWS = 64, ROW_WARPS = ROWS / 32, KEY_WARPS = BACK_WARPS / ROW_WARPS;
    static constexpr int WIDE = BACK_KEYS / KEY_WARPS, HALF = D_ / 2, DQ = D_ / KEY_WARPS;
};

/* The work of a block: n keys from number `first` of a sequence's own, and the rows that see some of them.  The rows
 * belong to the same sequence, or to one that has these keys in its prefix. */
struct back_task {
    int group, first, n;
    int sequence;        /* the sequence of the rows */
    int64_t key;         /* position of the first key in k and v */
    int from, rows;      /* the group's rows that see a key of the block are [from, rows) */
    int ahead, seen;     /* query t sees the block's sequence up to ahead + t, and seen + t keys before its own */
    int64_t base, place; /* position of the sequence's first row in q and dy; its place */
};

/*
 * Shared memory of a block: its keys and values, two steps of rows, and the weights and slopes of one step.  The
 * block's task is here too, because the registers are full.
 */
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
    /* Row r of a group is head r % each of query r / each, so each query skips the heads of the other groups. */
    auto offset = [=](int i) { return (int64_t)(causal_query(a, first + i) * skip + first + i) * a.dim; };
    copy_swizzled<BACK_THREADS>(tiles.step[stage].q, a.q + t.base, a.dim, n, offset);
    copy_swizzled<BACK_THREADS>(tiles.step[stage].dy, g.dy + t.base, a.dim, n, offset);
    if (pair < S::ROWS)
        copy_async(&tiles.step[stage].row[pair], w.row + t.place + first + (left > 0 ? pair : 0),
                   left > 1   ? 16
                   : left > 0 ? 8
                              : 0);
}

/* The keys of a lane that a row sees: numbers [from, end), counted from the lane's first key. */
struct back_sight {
    int from, end;
};

__device__ inline struct back_sight back_sight_of(const causal_args<bf16> &a, const struct back_task &t, int r,
                                                  int query, int key)
{
    int end = t.ahead + query + 1 - t.first, n = end < t.n ? end : t.n;
    return { a.window ? end - a.window - key : -BACK_KEYS, (r < t.rows ? n : 0) - key };
}

/* Caps the scores of a row, and multiplies their slopes less delta by the derivative of the cap. */
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

/* Scores of a row += biases times `by`.  The lane's first key lies `behind` places before the row's own. */
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

/* Turns the warp's products of a step into weights p and slopes ds, for 32 rows from `row` on and keys from `key` on.
 * FULL: all rows see all keys, and scores are plain. */
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

/* Stores the numbers of a product as bf16 in the tile's rows from `row` on and keys from `key` on. */
template <int ROWS, int N>
__device__ inline void store_fragments(bf16 (&tile)[ROWS][BACK_KEYS], const float (&x)[2][N][4], int row, int key)
{
    /* row + 8 i + lane / 4 has the remainder lane / 4 by 8, so the swizzle is the same for all i. */
    int lane = afresh(lane_id()), turn = lane / 4 ^ key / PACK;
    UNROLL
    for (int i = 0; i < 4; i++) {
        UNROLL
        for (int n = 0; n < N; n++)
            store_pair(&tile[row + 8 * i + lane / 4][(turn ^ n) * PACK + lane % 4 * 2],
                       bf16_pair(x[i / 2][n][i % 2 * 2], x[i / 2][n][i % 2 * 2 + 1]));
    }
}

/* Computes weights and slopes of a step's rows from `first` on and the block's first n keys. */
template <class S, bool FULL>
__device__ inline void weigh_step(back_tiles<S> &tiles, int stage, const causal_args<bf16> &a,
                                  const struct back_task &t, int first, int n)
{
    constexpr int N = S::WIDE / 8;
    int row = warp_id() % S::ROW_WARPS * 32, key = warp_id() / S::ROW_WARPS * S::WIDE;
    float p[2][N][4], ds[2][N][4];
    if (!FULL && (first + row >= t.rows || key >= n))
        return; /* the whole warp returns */
    zero(p);
    zero(ds);
    add_product<false, true, S::D / 16, true>(p, tiles.step[stage].q, { row, 0 }, tiles.k, { key, 0 }, 0);
    add_product<false, true, S::D / 16, true>(ds, tiles.step[stage].dy, { row, 0 }, tiles.v, { key, 0 }, 0);
    weigh<S, FULL>(p, ds, tiles.step[stage].row, a, t, first, row, key);
    store_fragments(tiles.weights, p, row, key);
    store_fragments(tiles.slopes, ds, row, key);
}

/*
 * Adds slopes times k over the block's first n keys to the sums of the warp's 32 rows from `row` on.
 *
 * Rounding to grains is the only loss of precision, 2^-31 of the bound.  Integer atomics run in the L2 cache, and
 * nothing waits for them.
 */
template <class S, bool FULL>
__device__ inline void sum_queries(const struct causal_sums &w, const back_tiles<S> &tiles, const struct back_task &t,
                                   int first, int n)
{
    int row = warp_id() % S::ROW_WARPS * 32, column = warp_id() / S::ROW_WARPS * S::DQ;
    float dq[2][S::DQ / 8][4];
    if (!FULL && first + row >= t.rows)
        return; /* the whole warp returns */
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

/* Adds the contributions of one step to the gradients of the warp's 32 keys, in half of the columns: dv += weights^T dy
 * and dk += slopes^T q. */
template <class S, bool FULL>
__device__ inline void sum_keys(float (&dk)[2][S::HALF / 8][4], float (&dv)[2][S::HALF / 8][4],
                                const back_tiles<S> &tiles, int stage, int rows, int n)
{
    int key = warp_id() % 4 * 32, column = warp_id() / 4 * S::HALF / PACK, steps = (rows + 15) / 16;
    if (!FULL && key >= n)
        return; /* the whole warp returns */
    add_product<true, false, S::ROWS / 16, FULL>(dv, tiles.weights, { 0, key / PACK }, tiles.step[stage].dy,
                                                 { 0, column }, steps);
    add_product<true, false, S::ROWS / 16, FULL>(dk, tiles.slopes, { 0, key / PACK }, tiles.step[stage].q,
                                                 { 0, column }, steps);
}

/* One step of rows from `first` on; the last of them sees n of the block's keys. */
template <class S, bool FULL>
__device__ inline void back_step(float (&dk)[2][S::HALF / 8][4], float (&dv)[2][S::HALF / 8][4], back_tiles<S> &tiles,
                                 int stage, const causal_args<bf16> &a, const struct causal_sums &w,
                                 const struct back_task &t, int first, int n)
{
    weigh_step<S, FULL>(tiles, stage, a, t, first, n);
    __syncthreads(); /* all warps have stored weights and slopes */
    if (w.sum)
        sum_queries<S, FULL>(w, tiles, t, first, n);
    sum_keys<S, FULL>(dk, dv, tiles, afresh(stage), t.rows - first, n);
}

/* Whether all rows of a step see all keys of the block, and scores need only a scale. */
template <class S>
__device__ inline bool all_see(const causal_args<bf16> &a, const struct back_task &t, int first)
{
    int last = t.ahead + causal_query(a, first + S::ROWS - 1);
    return t.n == BACK_KEYS && first + S::ROWS <= t.rows && !a.bias && a.cap == 0 &&
           t.ahead + causal_query(a, first) >= t.first + BACK_KEYS - 1 && (!a.window || last - t.first < a.window);
}

/* Finds the rows of the task's sequence. own: the keys are its own; otherwise they are in its prefix. */
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

/*
 * Computes the gradients between the task's rows and the block's keys, both ways.  The first round computes nothing: it
 * starts the copies of the first step.
 */
template <class S>
__device__ inline void back_sequence(float (&dk)[2][S::HALF / 8][4], float (&dv)[2][S::HALF / 8][4],
                                     back_tiles<S> &tiles, const causal_grads<bf16> &g, const causal_args<bf16> &a,
                                     const struct causal_sums &w, const struct back_task &t)
{
    for (int first = t.from - S::ROWS, stage = 1; first < t.rows; first += S::ROWS, stage ^= 1) {
        copy_wait<0>();
        __syncthreads(); /* all threads have the step, and none reads the one before */
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
 * Grid     one block per tile of 128 keys, sequence and group.  The first tiles of all sequences come first: most rows
 *          see them, so no long block begins late.
 * Memory   k and v once per block into shared memory.  q and dy once per tile of keys, 64 rows at a time in two stages.
 *          Weights and slopes of a step as bf16.  dq crosses the tiles: 4 bytes a number and tile, added in the L2
 *          cache.
 * Numbers  products of bf16; weights and slopes are rounded to bf16 too.  dk, dv in f32: first the own queries, each
 *          one's heads in order, then the sequences that have the tile in their prefix.  dq in grains.
 * Tuned    for the shared memory and registers of an A100: the tiles take 162 KB of 163.
 *
 * Two other ways to sum dq are slower.  Tables of f32 for each tile would be written and read, 8 bytes a number, and
 * need scratch memory for all rows in flight.  Computing the scores twice adds two products to five.
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
        __syncthreads(); /* no thread reads the task before */
        if (thread_id() == 0)
            tiles->task = t;
        __syncthreads(); /* all threads have the task */
        back_sequence<S>(dk, dv, *tiles, g, a, w, tiles->task);
    }
    copy_wait<0>(); /* the copies of the keys, if there was no query */
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
        /* The four lanes of a row left its even columns in one run of four words and its odd columns in the next. */
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
