/*
 * causal_attention.cu - causal attention in f32, and in bf16 for few rows of a group or wide heads;
 * causal_attention_tall.cu has the rest.
 */
#include "kernels/cuda/causal_mma.cuh"
#include "kernels/cuda/causal_rows.cuh"

/*
 * s_ij = cap(scale q_i . k_j) + bias;  y_i = sum_j softmax_j(s_ij) v_j;  lse_i = log sum_j exp(s_ij), over the keys
 * that i sees
 *
 * Grid     one warp per head and query, the rows of a sequence in one run of blocks.
 * Memory   k and v once per row, mostly from cache; a lane reads a key of its own, then all lanes one value.
 * Numbers  running maximum and sum in f32 (online softmax).
 * Serves   f32.
 */
template <typename T>
__global__ void __launch_bounds__(ROW_WARPS *WARP, 4)
    causal_attention_kernel(T *__restrict__ y, float *__restrict__ lse, causal_args<T> a)
{
    __shared__ float queries[ROW_WARPS][ROW_PARTS * WARP], weights[ROW_WARPS][WARP];
    struct packed_span s = packed_span_of(a, (int)block_id() / a.tiles);
    int number = (int)block_id() % a.tiles * ROW_WARPS + warp_id(), t = number / a.heads;
    int head = number % a.heads, group = head / a.each;
    if (t >= s.n_queries)
        return; /* the whole warp returns */
    int64_t row = (s.q_from + t) * a.heads + head;
    int keys = s.n_prefix + s.ahead + t + 1;
    float *q = queries[warp_id()], *weight = weights[warp_id()];
    float out[ROW_PARTS] = { 0 }, most = -INFINITY, sum = 0;
    load_row(q, a.q + row * a.dim, a.dim);
    __syncwarp();

    for (int j0 = causal_first(a, keys); j0 < keys; j0 += WARP) {
        /* Each lane scores a key of its own; then all lanes together add the values. */
        int j = j0 + lane_id();
        float score = -INFINITY;
        if (j < keys)
            score = causal_capped(a, a.scale * dot_row(q, a.k + (causal_key(s, j) * a.groups + group) * a.dim, a.dim)) +
                    causal_bias(a, head, keys - 1 - j);
        float top = fmaxf(most, warp_max(score)), shrink = expf(most - top), p = expf(score - top);
        sum = sum * shrink + warp_sum(p);
        most = top;
        weight[lane_id()] = p;
        __syncwarp();
        add_round(out, shrink, weight, keys - j0 < WARP ? keys - j0 : WARP, a.dim,
                  [=](int i) { return a.v + (causal_key(s, j0 + i) * a.groups + group) * a.dim; });
        __syncwarp(); /* all lanes have read the weights, which the next round overwrites */
    }
    put_row(y + row * a.dim, out, 1.0f / sum, a.dim, false);
    if (lane_id() == 0)
        lse[row] = most + logf(sum);
}

/* Shape of a launch: M times 16 rows a warp, tiles of KEYS keys, heads of at most D channels. */
template <int D_, int M_, int KEYS_>
struct causal_shape {
    static constexpr int D = D_, M = M_, KEYS = KEYS_, WARP_ROWS = MMA_ROWS * M_, ROWS = MMA_WARPS * WARP_ROWS;
    static constexpr int PART_TILES = 128 / KEYS_; /* min tiles of a part of the keys */
    static constexpr bool CUT = M_ == 1;           /* whether keys may be cut into parts */
};

/* Outputs of the forward.  If keys are cut into parts, each part has its own y and lse, for the rows of this launch. */
struct causal_out {
    bf16 *y;
    float *lse, *part_y, *part_lse;
    int *arrived;            /* for each tile of rows the number of complete parts; 0 before and after */
    int64_t first, rows;     /* first sequence of the launch; rows for which a part has room */
    int height, splits, cut; /* rows of a tile; parts in the grid; max parts, 1: not cut */
};

/* The work of a block: rows [first, end) of a group, and tiles [from, to) of the keys that they see. */
struct causal_task {
    struct packed_span s;
    int slot; /* number of the tile of rows in the launch */
    int group, first, rows, end, from, to, part, parts;
};

/* Finds the work of this block; returns false if there is none.  The parts of a sequence's keys depend on the sequence
 * and on `cut` alone, so its bits do not depend on other sequences. */
template <class S>
__device__ inline bool causal_task_of(struct causal_task &t, const causal_out &o, const causal_args<bf16> &a)
{
    int task = (int)block_id() / o.splits, pair = task / a.tiles;
    t.part = (int)block_id() % o.splits, t.slot = task;
    t.first = (a.tiles - 1 - task % a.tiles) * o.height; /* tiles with most keys first */
    t.group = pair % a.groups;
    t.s = packed_span_of(a, o.first + pair / a.groups);
    t.rows = t.s.n_queries * a.each;
    t.end = (t.first + o.height - 1) / a.each + 1;
    t.end = t.end < t.s.n_queries ? t.end : t.s.n_queries;
    if (t.first >= t.rows)
        return false;
    int begin = first_tile<S::KEYS>(a, t.s, t.first / a.each);
    int tiles = key_tiles<S::KEYS>(t.s, t.end) - begin, per = (tiles + o.cut - 1) / o.cut;
    per = per > S::PART_TILES ? per : S::PART_TILES;
    per = o.cut > 1 ? per : tiles;
    t.parts = (tiles + per - 1) / per;
    t.from = begin + t.part * per, t.to = begin + tiles < t.from + per ? begin + tiles : t.from + per;
    return t.part < t.parts;
}

/* Lists the rows that this lane holds numbers of. */
template <int M>
__device__ inline void warp_rows_of(struct warp_rows<M> &w, const causal_args<bf16> &a, const struct causal_task &t,
                                    int first)
{
    UNROLL
    for (int m = 0; m < M; m++) {
        UNROLL
        for (int half = 0; half < 2; half++) {
            int r = first + 16 * m + lane_id() / 4 + 8 * half;
            w.row[m][half] = r < t.rows ? (int)causal_row(a, t.s, t.group, r) : -1;
            w.sees[m][half] = t.s.ahead + r / a.each + 1;
        }
    }
}

/*
 * Stores y and lse of the warp's rows, or those of a part.
 *
 * y goes through the warp's rows of q in shared memory, where a row lies in one piece.  It is then written 16 bytes at
 * a time.
 */
template <class S>
__device__ inline void causal_finish(const causal_out &o, const causal_args<bf16> &a, const struct causal_task &t,
                                     const struct warp_rows<S::M> &w, bf16 (&tile)[S::ROWS][S::D + TILE_GAP],
                                     const float (&out)[S::M][S::D / 8][4], const float (&most)[S::M][2],
                                     const float (&sum)[S::M][2])
{
    bool whole = !S::CUT || t.parts == 1;
    int64_t before = whole ? 0 : a.offsets[o.first] * (int64_t)a.heads - t.part * o.rows;
    int first = warp_id() * S::WARP_ROWS;
    __syncwarp(); /* no lane reads q any more */
    UNROLL
    for (int row = 0; row < 2 * S::M; row++) {
        int m = row / 2, half = row % 2, number = w.row[m][half];
        float total = quad_sum(sum[m][half]), factor = total > 0 ? 1.0f / total : 0.0f;
        if (number >= 0 && lane_id() % 4 == 0)
            (whole ? o.lse : o.part_lse)[number - before] = LN_2 * (most[m][half] + log2f(total));
        UNROLL
        for (int n = 0; n < S::D / 8; n++) {
            int d = 8 * n + lane_id() % 4 * 2;
            float low = factor * out[m][n][2 * half], high = factor * out[m][n][2 * half + 1];
            if (whole)
                store_pair(&tile[first + 16 * m + lane_id() / 4 + 8 * half][d], bf16_pair(low, high));
            else if (number >= 0)
                put_two(o.part_y + (number - before) * a.dim + d, low, high, a.dim - d);
        }
    }
    __syncwarp();
    if (whole)
        store_group_rows<S::WARP_ROWS>(o.y, tile, first, a, t.s, t.group, t.first + first, t.rows);
}

/*
 * Merges the parts of a tile of rows, one warp per row: lse = log sum_part exp(lse_part); y = sum_part exp(lse_part -
 * lse) y_part.
 *
 * The order is that of the parts, whichever block does it.
 */
template <int D>
__device__ inline void merge_parts(const causal_out &o, const causal_args<bf16> &a, const struct causal_task &t)
{
    int end = t.first + o.height < t.rows ? t.first + o.height : t.rows;
    for (int r = t.first + warp_id(); r < end; r += MMA_WARPS) {
        int64_t row = causal_row(a, t.s, t.group, r), at = row - a.offsets[o.first] * (int64_t)a.heads;
        float mine = lane_id() < t.parts ? o.part_lse[lane_id() * o.rows + at] : -INFINITY;
        float most = warp_max(mine), lse = most + logf(warp_sum(expf(mine - most))), sum[D / WARP] = { 0 };
        UNROLL_4
        for (int part = 0; part < t.parts; part++) {
            float w = expf(__shfl_sync(ALL_LANES, mine, part) - lse);
            const float *y = o.part_y + (part * o.rows + at) * a.dim;
            UNROLL
            for (int i = 0; i < D / WARP; i++)
                sum[i] += lane_id() + i * WARP < a.dim ? w * y[lane_id() + i * WARP] : 0.0f;
        }
        UNROLL
        for (int i = 0; i < D / WARP; i++)
            if (lane_id() + i * WARP < a.dim)
                o.y[row * a.dim + lane_id() + i * WARP] = bf16(sum[i]);
        if (lane_id() == 0)
            o.lse[row] = lse;
    }
}

/* Shared memory of a block: two stages of keys and values, and behind them its rows of q.  Blocks with fewer rows
 * allocate less. */
template <class S>
struct causal_tiles {
    alignas(16) bf16 k[2][S::KEYS][S::D + TILE_GAP];
    alignas(16) bf16 v[2][S::KEYS][S::D + TILE_GAP];
    alignas(16) bf16 q[S::ROWS][S::D + TILE_GAP];
};

/* Attends to one tile of keys for the rows of a warp. */
template <class S>
__device__ inline void causal_step(float (&out)[S::M][S::D / 8][4], float (&most)[S::M][2], float (&sum)[S::M][2],
                                   const causal_tiles<S> &tiles, int stage, const causal_args<bf16> &a,
                                   const struct warp_rows<S::M> &w, const struct key_tile &t, int all_see,
                                   const bool (&exact)[S::M])
{
    float s[S::M][S::KEYS / 8][4];
    zero(s);
    add_scores(s, tiles.q, warp_id() * S::WARP_ROWS, tiles.k[stage], t.n);
    if (a.cap > 0)
        cap_scores<S::M, S::KEYS>(s, a);
    if (a.bias)
        add_bias<S::M, S::KEYS>(s, a, w, t.at);
    if (t.n < S::KEYS || t.at + S::KEYS > all_see || a.window)
        hide_keys<S::M, S::KEYS>(s, a, w, t);
    lazy_softmax<false>(s, out, most, sum, LOG2_E * a.scale);
    add_weighted<S::D>(out, s, tiles.v[stage], t.n, exact);
}

/*
 * The same for bf16 on tensor cores.
 *
 * Grid     one block per sequence, group, tile of rows and part of the keys.  In decoding, one tile holds all rows of a
 *          sequence and there are few blocks.  Then the keys are cut into at most 32 parts of at least 128 keys, and
 *          the last block of a tile merges them.
 * Memory   q once into shared memory; k and v once per tile of rows, in two stages: the next tile arrives while one is
 *          used, and one barrier serves both.  Tiles that no row of a warp sees cost it nothing.
 * Numbers  products of bf16, sums in f32; weights rounded to bf16, or, for rows that see few keys, as two bf16 each. A
 *          row's bits depend on its own sequence alone, and on whether keys are cut.
 * Serves   up to 64 rows of a group, and heads of more than 128 channels.
 * Tuned    for the shared memory and registers of an A100.
 */
template <class S>
__global__ void __launch_bounds__(MMA_THREADS, 2) causal_attention_mma_kernel(causal_out o, causal_args<bf16> a)
{
    constexpr int D = S::D, M = S::M, KEYS = S::KEYS, FEW_KEYS = 128;
    DYNAMIC_SHARED(causal_tiles<S>, tiles);
    struct causal_task t;
    if (!causal_task_of<S>(t, o, a))
        return;
    int first = t.first + warp_id() * S::WARP_ROWS; /* from `rows` on: the warp only helps to copy */
    bool busy = first < t.rows && warp_id() * S::WARP_ROWS < o.height, exact[M];
    int all_see = t.s.ahead + first / a.each + 1, some_see = t.s.ahead + (first + S::WARP_ROWS - 1) / a.each + 1;
    float out[M][D / 8][4], most[M][2], sum[M][2];
    struct warp_rows<M> w;
    warp_rows_of(w, a, t, first);
    zero(out);
    lazy_start(most, sum);
    UNROLL
    for (int m = 0; m < M; m++) {
        exact[m] = t.s.n_prefix + t.s.ahead + (first + 16 * m) / a.each < FEW_KEYS || few_in_window(a);
    }

    copy_rows(tiles->q, a.q, a, t.s, t.group, t.first, o.height, t.rows);
    /* The first round, at i = from - 1, computes nothing: it starts the copies of the first tile. */
    for (int i = t.from - 1; i < t.to; i++) {
        int stage = (i - t.from) & 1;
        copy_wait<0>();
        __syncthreads(); /* all threads have tile i, and none reads the one before */
        if (i + 1 < t.to) {
            struct key_tile next = key_tile_of<KEYS>(t.s, i + 1, t.end);
            copy_keys(tiles->k[1 - stage], a.k, a, next.row, next.n, t.group);
            copy_keys(tiles->v[1 - stage], a.v, a, next.row, next.n, t.group);
        }
        copy_commit();
        struct key_tile now = key_tile_of<KEYS>(t.s, i, t.end);
        if (i >= t.from && busy && now.at < some_see)
            causal_step<S>(out, most, sum, *tiles, stage, a, w, now, all_see, exact);
    }
    if (busy)
        causal_finish<S>(o, a, t, w, tiles->q, out, most, sum);
    if (S::CUT && t.parts > 1 && last_to_arrive(o.arrived + t.slot, t.parts))
        merge_parts<D>(o, a, t);
}

/* Launches a warp for each row. */
template <typename T>
static void causal_rows(struct ctx *c, struct tensor *y, struct tensor *lse, causal_args<T> a, const struct causal *s)
{
    a.tiles = (int)((s->qs.max_len * a.heads + ROW_WARPS - 1) / ROW_WARPS);
    LAUNCH(causal_attention_kernel<T>, blocks_for(s->qs.n * a.tiles, 1), ROW_WARPS * WARP, 0, cuda_stream(c),
           data_of<T>(y), data_of<float>(lse), a);
}

static void causal_attention(struct ctx *c, struct tensor *y, struct tensor *lse, causal_args<float> a,
                             const struct causal *s)
{
    causal_rows(c, y, lse, a, s);
}

#ifdef __CUDACC__
constexpr int64_t PART_BYTES = (int64_t)SCRATCH_BYTES;
#else
constexpr int64_t PART_BYTES = 1 << 16; /* so that tests with few sequences need several launches */
#endif

/*
 * Launches the kernel.  It cuts the keys if one tile has all rows of a sequence, and takes as many sequences a launch
 * as the scratch memory has parts for.
 */
template <class S>
static void causal_launch(struct ctx *c, causal_out o, causal_args<bf16> a, const struct causal *s)
{
    int64_t rows = s->qs.max_len * a.each, warps = (rows + S::WARP_ROWS - 1) / S::WARP_ROWS, at_once = s->qs.n;
    int64_t part_bytes = s->qs.max_len * a.heads * (a.dim + 1) * (int64_t)sizeof(float);
    o.height = (warps < MMA_WARPS ? (int)warps : MMA_WARPS) * S::WARP_ROWS;
    a.tiles = (int)((rows + o.height - 1) / o.height);
    o.cut = o.splits = 1;
    if (S::CUT && a.tiles == 1) {
        int64_t room = PART_BYTES / part_bytes, tiles = s->max_keys / S::KEYS + 2;
        int64_t splits = (tiles + S::PART_TILES - 1) / S::PART_TILES;
        o.cut = (int)(room < 1 ? 1 : room < WARP ? room : WARP);
        o.splits = (int)(splits < o.cut ? splits : o.cut);
    }
    if (o.splits > 1) {
        int64_t room = PART_BYTES / (part_bytes * o.splits), counters = COUNTERS / a.groups;
        at_once = at_once < room ? at_once : room;
        at_once = at_once < counters ? at_once : counters;
        o.arrived = cuda_counters(c);
        o.rows = at_once * s->qs.max_len * a.heads;
        o.part_lse = (float *)cuda_scratch(c, (size_t)(at_once * o.splits * part_bytes));
        o.part_y = o.part_lse + o.splits * o.rows;
    }
    size_t bytes = sizeof(causal_tiles<S>) - (size_t)(S::ROWS - o.height) * (S::D + TILE_GAP) * sizeof(bf16);
    for (o.first = 0; o.first < s->qs.n; o.first += at_once) {
        int64_t n = s->qs.n - o.first < at_once ? s->qs.n - o.first : at_once;
        LAUNCH_WIDE(causal_attention_mma_kernel<S>, blocks_for(n * a.groups * a.tiles * o.splits, 1), MMA_THREADS,
                    bytes, cuda_stream(c), o, a);
    }
}

static void causal_attention(struct ctx *c, struct tensor *y, struct tensor *lse, causal_args<bf16> a,
                             const struct causal *s)
{
    causal_out o = {};
    o.y = data_of<bf16>(y), o.lse = data_of<float>(lse);
    if (a.dim <= 128 && s->qs.max_len * a.each > MMA_THREADS / 2)
        causal_attention_tall(c, o.y, o.lse, a, s);
    else if (a.dim <= 64)
        causal_launch<causal_shape<64, 1, 64>>(c, o, a, s);
    else if (a.dim <= 128)
        causal_launch<causal_shape<128, 1, 64>>(c, o, a, s);
    else
        causal_launch<causal_shape<256, 1, 16>>(c, o, a, s);
}

extern "C" void cuda_causal_attention(struct ctx *c, struct tensor *y, struct tensor *lse, const struct tensor *q,
                                      const struct tensor *k, const struct tensor *v, const struct causal *s,
                                      const struct attention_form *form)
{
    if (tensor_size(y) == 0 || s->qs.max_len == 0 || cuda_library_attention(c, y, lse, q, k, v, s, form))
        return;
    DTYPE_SWITCH(q->dtype, causal_attention(c, y, lse, causal_args_of<T>(q, k, v, s, form), s));
}
