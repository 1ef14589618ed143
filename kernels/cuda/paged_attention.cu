#include "kernels/cuda/paged_attention.cuh"

#include "kernels/cuda/causal_mma.cuh"

/* One head of a query that sees `seen` keys, whose rows are listed: the results of those in [from, to). */
template <typename T>
__device__ inline void row_chunk(row_sum &r, const paged_args<T> &a, const float *q, float *weight, const int *rows,
                                 int head, int seen, int from, int to)
{
    const causal_args<T> &h = a.heads;
    int group = head / h.each;
    row_start(r);
    for (int j0 = from; j0 < to; j0 += WARP) {
        int j = j0 + lane_id();
        float score = -INFINITY;
        if (j < to)
            score =
                LOG2_E *
                (causal_capped(h, h.scale * dot_row(q, h.k + ((int64_t)rows[j] * h.groups + group) * h.dim, h.dim)) +
                 causal_bias(h, head, seen - 1 - j));
        float top = fmaxf(r.most, warp_max(score)), shrink = exp2f(r.most - top), p = exp2f(score - top);
        r.sum = fmaf(r.sum, shrink, warp_sum(p));
        r.most = top;
        weight[lane_id()] = p;
        __syncwarp();
        add_round(r.out, shrink, weight, to - j0 < WARP ? to - j0 : WARP, h.dim,
                  [=](int i) { return h.v + ((int64_t)rows[j0 + i] * h.groups + group) * h.dim; });
        __syncwarp(); /* the weights have been used */
    }
}

/*
 * s_ij = cap(scale q_i . k_j) + bias;  y_i = sum_j softmax_j(s_ij) v_j, over the keys that i sees; or what a chunk of
 * them gives
 *
 * Grid     one warp per head and query of a unit, the rows of a unit in one run of blocks.
 * Memory   k and v once per row, mostly from cache; a lane reads a key of its own, then all lanes one value.
 * Numbers  running maximum and sum in f32 within a chunk, chunks merged in order.
 * Serves   f32.
 */
template <typename T>
__global__ void __launch_bounds__(ROW_WARPS *WARP, 4) paged_attention_kernel(paged_args<T> a)
{
    __shared__ float queries[ROW_WARPS][ROW_PARTS * WARP], weights[ROW_WARPS][WARP];
    const struct paged_unit unit = a.units[block_id() / a.tiles];
    int number = (int)(block_id() % a.tiles) * ROW_WARPS + warp_id(), heads = a.heads.heads;
    int t = unit.first + number / heads, head = number % heads;
    if (number / heads >= unit.queries)
        return; /* the whole warp */
    int seen = a.seen[t], first = a.parts[t];
    const int *rows = a.table + unit.row * a.keys;
    bool whole = first == a.parts[t + 1];
    row_sum all, chunk;
    load_row(queries[warp_id()], a.heads.q + ((int64_t)t * heads + head) * a.heads.dim, a.heads.dim);
    __syncwarp();
    row_start(all);
    for (int i = unit.chunk; i < unit.chunk + unit.chunks && i * CHUNK_KEYS < seen; i++) {
        int from = i * CHUNK_KEYS, to = seen < from + CHUNK_KEYS ? seen : from + CHUNK_KEYS;
        if (!sees_chunk(a.heads, seen, i))
            continue;
        from = from > causal_first(a.heads, seen) ? from : causal_first(a.heads, seen);
        row_chunk(chunk, a, queries[warp_id()], weights[warp_id()], rows, head, seen, from, to);
        if (whole)
            row_merge(all, chunk);
        else
            row_store(a, first + i, head, chunk);
    }
    if (whole && seen > unit.chunk * CHUNK_KEYS)
        row_finish(a, t, head, all);
}

/*
 * y of queries whose chunks are partial results; 0 of queries that see nothing
 *
 * Grid     one warp per head and query.
 * Memory   reads partial results once, bandwidth bound.
 * Numbers  f32, chunks in order.
 */
template <typename T>
__global__ void __launch_bounds__(ROW_WARPS *WARP) paged_merge_kernel(paged_args<T> a)
{
    int64_t t = grid_warp() / a.heads.heads;
    int head = (int)(grid_warp() % a.heads.heads);
    if (t >= a.queries)
        return;
    int seen = a.seen[t], first = a.parts[t], parts = a.parts[t + 1] - first;
    row_sum all, chunk;
    row_start(all);
    if (seen == 0)
        all.sum = 1;
    for (int i = causal_first(a.heads, seen) / CHUNK_KEYS; i < parts && i * CHUNK_KEYS < seen; i++) {
        row_load(chunk, a, first + i, head);
        row_merge(all, chunk);
    }
    if (seen == 0 || parts > 0)
        row_finish(a, t, head, all);
}

/* How a launch cuts the work: 16 rows a warp, tiles of KEYS keys, heads up to D. */
template <int D_, int KEYS_>
struct paged_shape {
    static constexpr int D = D_, KEYS = KEYS_, ROWS = MMA_WARPS * MMA_ROWS;
    static_assert(CHUNK_KEYS % (2 * KEYS_) == 0, "a chunk is two tiles or more: its list is there before it is read");
};

/* A block's part of the work: rows [first, ...) of a group of a unit, keys [from, end), from is a chunk's first. */
struct paged_task {
    struct paged_unit unit;
    int group, first, rows, from, end;
};

/* The warp's rows, and where their results go; a row that is nobody's sees nothing. */
struct paged_rows {
    struct warp_rows<1> at;
    int part[2];           /* the partial result of chunk 0, -1: the row is whole */
    int some_see, all_see; /* the most and the least of what they see */
};

/* What a block has in shared memory: where in the cache the keys of a chunk and the next are, two stages of keys and
 * values; its rows of q, behind them, where units have several chunks, what each lane has summed up so far. */
template <class S>
struct paged_tiles {
    int rows[2][CHUNK_KEYS];
    alignas(16) bf16 k[2][S::KEYS][S::D + TILE_GAP];
    alignas(16) bf16 v[2][S::KEYS][S::D + TILE_GAP];
    alignas(16) bf16 q[S::ROWS][S::D + TILE_GAP];
};

__device__ inline int warp_most(int v)
{
    for (int lane = WARP / 2; lane; lane /= 2) {
        int other = __shfl_xor_sync(ALL_LANES, v, lane);
        v = v > other ? v : other;
    }
    return v;
}

/* False where there is nothing to do. */
__device__ inline bool paged_task_of(struct paged_task &t, const paged_args<bf16> &a)
{
    int64_t pair = block_id() / a.tiles;
    int each = a.heads.each, most = 0, unseen = -INT32_MAX; /* most of the keys seen, and least before them, negative */
    t.group = (int)(pair % a.heads.groups);
    t.unit = a.units[pair / a.heads.groups];
    t.first = (int)(block_id() % a.tiles) * a.height, t.rows = t.unit.queries * each;
    if (t.first >= t.rows)
        return false;
    int last = (t.first + a.height < t.rows ? t.first + a.height : t.rows) - 1;
    for (int i = t.first / each + lane_id(); i <= last / each; i += WARP) {
        int seen = a.seen[t.unit.first + i], before = -causal_first(a.heads, seen);
        most = most > seen ? most : seen;
        unseen = seen == 0 || unseen > before ? unseen : before;
    }
    most = warp_most(most);
    int from = -warp_most(unseen) / CHUNK_KEYS * CHUNK_KEYS;
    t.from = t.unit.chunk * CHUNK_KEYS, t.end = (t.unit.chunk + t.unit.chunks) * CHUNK_KEYS;
    t.from = t.from > from ? t.from : from, t.end = t.end < most ? t.end : most;
    return t.from < t.end;
}

__device__ inline void paged_rows_of(struct paged_rows &w, const paged_args<bf16> &a, const struct paged_task &t,
                                     int first)
{
    UNROLL
    for (int half = 0; half < 2; half++) {
        int r = first + lane_id() / 4 + 8 * half, query = t.unit.first + r / a.heads.each;
        w.at.row[0][half] = -1, w.at.sees[0][half] = 0, w.part[half] = -1;
        if (r >= t.rows || a.seen[query] <= t.from)
            continue;
        w.at.row[0][half] = query * a.heads.heads + t.group * a.heads.each + r % a.heads.each;
        w.at.sees[0][half] = a.seen[query];
        if (a.parts[query] < a.parts[query + 1])
            w.part[half] = a.parts[query];
    }
    int one = w.at.sees[0][0], other = w.at.sees[0][1];
    w.some_see = warp_most(one > other ? one : other);
    w.all_see = -warp_most(one < other ? -one : -other);
}

/* Where in the cache the keys of chunk i lie. */
__device__ inline void list_rows(int (&rows)[2][CHUNK_KEYS], const paged_args<bf16> &a, const struct paged_task &t,
                                 int i)
{
    for (int j = thread_id(); j < CHUNK_KEYS; j += block_threads()) {
        int key = i * CHUNK_KEYS + j;
        if (key < t.end)
            rows[i & 1][j] = a.table[t.unit.row * a.keys + key];
    }
}

/* Starts copying those keys of one group of k or v, n of them, and to a multiple of 16 zeros. */
template <int KEYS, int WIDTH>
__device__ inline void gather_keys(bf16 (&tile)[KEYS][WIDTH], const bf16 *x, const causal_args<bf16> &a,
                                   const int *rows, int n, int group)
{
    constexpr int PIECES = (WIDTH - TILE_GAP) / PACK;
    int filled = (n + 15) / 16 * 16;
    ROLLED
    for (int t = thread_id(); t < filled * PIECES; t += block_threads()) {
        int i = t / PIECES, d = t % PIECES * PACK, left = i < n ? a.dim - d : 0;
        fetch_piece(&tile[i][d], left > 0 ? x + ((int64_t)rows[i] * a.groups + group) * a.dim + d : x, left, a.dim);
    }
}

template <class S>
__device__ inline void gather_tile(paged_tiles<S> &tiles, int stage, const causal_args<bf16> &a,
                                   const struct paged_task &t, int at)
{
    const int *rows = tiles.rows[at / CHUNK_KEYS & 1] + at % CHUNK_KEYS;
    int n = t.end - at < S::KEYS ? t.end - at : S::KEYS;
    gather_keys(tiles.k[stage], a.k, a, rows, n, t.group);
    gather_keys(tiles.v[stage], a.v, a, rows, n, t.group);
}

/* What the warp's rows have summed up: of a chunk, and of the chunks before, whose values lie in shared memory. */
template <int D>
struct paged_sums {
    float out[1][D / 8][4], most[1][2], sum[1][2];
    float all_most[2], all_sum[2];
};

template <int D>
__device__ inline void chunk_start(struct paged_sums<D> &x)
{
    zero(x.out);
    x.most[0][0] = x.most[0][1] = -INFINITY;
    x.sum[0][0] = x.sum[0][1] = 0;
}

/* One tile of keys for the rows of a warp.  Where few keys are seen their weights are taken twice as finely: those of
 * the first chunk, whoever asks. */
template <class S>
__device__ inline void paged_step(struct paged_sums<S::D> &x, const paged_tiles<S> &tiles, int stage,
                                  const causal_args<bf16> &a, const struct paged_rows &w, const struct key_tile &t)
{
    const bool exact[1] = { t.at < CHUNK_KEYS || few_in_window(a) };
    float s[1][S::KEYS / 8][4];
    zero(s);
    add_scores(s, tiles.q, warp_id() * MMA_ROWS, tiles.k[stage], t.n);
    if (a.cap > 0)
        cap_scores<1, S::KEYS>(s, a);
    if (a.bias)
        add_bias<1, S::KEYS>(s, a, w.at, t.at);
    if (t.n < S::KEYS || t.at + S::KEYS > w.all_see || a.window)
        hide_keys<1, S::KEYS>(s, a, w.at, t);
    causal_softmax<S::D, 1, S::KEYS>(s, x.out, x.most, x.sum, LOG2_E * a.scale);
    add_weighted<S::D>(x.out, s, tiles.v[stage], t.n, exact);
}

/* A chunk of the rows of parts goes into memory. */
template <int D>
__device__ inline void store_parts(const paged_args<bf16> &a, const struct paged_sums<D> &x, const float (&sum)[2],
                                   const struct paged_rows &w, int chunk)
{
    int dim = a.heads.dim;
    UNROLL
    for (int half = 0; half < 2; half++) {
        if (w.part[half] < 0 || !sees_chunk(a.heads, w.at.sees[0][half], chunk))
            continue;
        float *to = partial_row(a, w.part[half] + chunk, w.at.row[0][half] % a.heads.heads);
        UNROLL
        for (int n = 0; n < D / 8; n++) {
            int d = 8 * n + lane_id() % 4 * 2;
            put_two(to + d, x.out[0][n][2 * half], x.out[0][n][2 * half + 1], dim - d);
        }
        if (lane_id() % 4 == 0)
            put_two(to + dim, x.most[0][half], sum[half], 2);
    }
}

/* A chunk ends: into memory, or into what the lane has of those before; the last one's sum stays in x.out. */
template <int D>
__device__ inline void chunk_end(const paged_args<bf16> &a, struct paged_sums<D> &x, float *before,
                                 const struct paged_rows &w, const struct paged_task &t, int chunk)
{
    bool first = chunk == t.from / CHUNK_KEYS, last = (chunk + 1) * CHUNK_KEYS >= t.end;
    float old[2], now[2], sum[2];
    UNROLL
    for (int half = 0; half < 2; half++)
        sum[half] = quad_sum(x.sum[0][half]);
    store_parts(a, x, sum, w, chunk);
    UNROLL
    for (int half = 0; half < 2; half++) {
        if (first)
            x.all_most[half] = -INFINITY, x.all_sum[half] = 0;
        merge_factors(x.all_most[half], x.most[0][half], old[half], now[half]);
        x.all_sum[half] = merged(x.all_sum[half], old[half], sum[half], now[half]);
    }
    UNROLL
    for (int j = 0; j < D / 2; j++) {
        float &out = x.out[0][j / 4][j % 4], *held = before + j * WARP;
        out = merged(first ? 0.0f : *held, old[j % 4 / 2], out, now[j % 4 / 2]);
        if (!last)
            *held = out;
    }
    if (!last)
        chunk_start(x);
}

/* y of the rows that are whole. */
template <int D>
__device__ inline void paged_finish(const paged_args<bf16> &a, const struct paged_sums<D> &x,
                                    const struct paged_rows &w)
{
    int dim = a.heads.dim;
    UNROLL
    for (int half = 0; half < 2; half++) {
        if (w.part[half] >= 0 || w.at.row[0][half] < 0)
            continue;
        float factor = 1.0f / x.all_sum[half];
        bf16 *y = a.y + (int64_t)w.at.row[0][half] * dim;
        UNROLL
        for (int n = 0; n < D / 8; n++) {
            int d = 8 * n + lane_id() % 4 * 2;
            put_pair(y + d, finished(x.out[0][n][2 * half], factor), finished(x.out[0][n][2 * half + 1], factor),
                     dim - d, dim % 2 == 0, false);
        }
    }
}

/*
 * The same for bf16 on tensor cores.
 *
 * Grid     one block per unit, group and 64 rows (fewer, where units are small) of its queries and the group's heads.
 * Memory   q once into shared memory; k and v once per block, in two stages: the next tile arrives while one is used.
 * Numbers  products of bf16, sums in f32; weights rounded to bf16, or, in the first chunk, as two bf16 each.  A row's
 *          bits depend on its own keys alone: a tile adds zeros for those that it does not see.
 * Laid out for the shared memory and registers of an A100.
 */
template <class S>
__global__ void __launch_bounds__(MMA_THREADS) paged_attention_mma_kernel(paged_args<bf16> a)
{
    constexpr int D = S::D, KEYS = S::KEYS;
    DYNAMIC_SHARED(paged_tiles<S>, tiles);
    struct paged_task t;
    struct paged_rows w;
    struct paged_sums<D> x;
    if (!paged_task_of(t, a))
        return;
    int first = t.first + warp_id() * MMA_ROWS;
    float *before = (float *)tiles->q[a.height] + warp_id() * MMA_ROWS * D + lane_id();
    struct packed_span span = {};
    span.q_from = t.unit.first;
    paged_rows_of(w, a, t, warp_id() * MMA_ROWS < a.height ? first : t.rows);
    chunk_start(x);

    copy_rows(tiles->q, a.heads.q, a.heads, span, t.group, t.first, a.height, t.rows);
    list_rows(tiles->rows, a, t, t.from / CHUNK_KEYS);
    for (int at = t.from - KEYS; at < t.end; at += KEYS) {
        int stage = at / KEYS & 1, chunk = at / CHUNK_KEYS;
        copy_wait<0>();
        __syncthreads(); /* tile and list are there, the tile before has been used */
        if (at + KEYS < t.end)
            gather_tile(*tiles, 1 - stage, a.heads, t, at + KEYS);
        copy_commit();
        if (at < t.from)
            continue;
        if (at % CHUNK_KEYS == 0 && at + CHUNK_KEYS < t.end)
            list_rows(tiles->rows, a, t, chunk + 1);
        struct key_tile now = { 0, t.end - at < KEYS ? t.end - at : KEYS, at };
        if (at < w.some_see)
            paged_step<S>(x, *tiles, stage, a.heads, w, now);
        if (w.some_see > 0 && (at + KEYS >= t.end || (at + KEYS) % CHUNK_KEYS == 0))
            chunk_end(a, x, before, w, t, chunk);
    }
    if (w.some_see > 0)
        paged_finish(a, x, w);
}

template <class S>
static void launch_units(struct ctx *c, paged_args<bf16> a, const struct paged *p)
{
    int64_t rows = p->max_queries * a.heads.each, warps = (rows + MMA_ROWS - 1) / MMA_ROWS;
    a.height = (warps < MMA_WARPS ? (int)warps : MMA_WARPS) * MMA_ROWS;
    a.tiles = (int)((rows + a.height - 1) / a.height);
    size_t bytes = sizeof(paged_tiles<S>) - (size_t)(S::ROWS - a.height) * (S::D + TILE_GAP) * sizeof(bf16);
    if (p->max_chunks > 1)
        bytes += (size_t)a.height * S::D * sizeof(float);
    LAUNCH_WIDE(paged_attention_mma_kernel<S>, blocks_for(p->n_units * a.heads.groups * a.tiles, 1), MMA_THREADS, bytes,
                cuda_stream(c), a);
}

static void attend_units(struct ctx *c, paged_args<bf16> a, const struct paged *p)
{
    if (a.heads.dim <= 64)
        launch_units<paged_shape<64, 64>>(c, a, p);
    else if (a.heads.dim <= 128)
        launch_units<paged_shape<128, 32>>(c, a, p);
    else
        launch_units<paged_shape<256, 16>>(c, a, p);
}

static void attend_units(struct ctx *c, paged_args<float> a, const struct paged *p)
{
    a.tiles = (int)((p->max_queries * a.heads.heads + ROW_WARPS - 1) / ROW_WARPS);
    LAUNCH(paged_attention_kernel<float>, blocks_for(p->n_units * a.tiles, 1), ROW_WARPS * WARP, 0, cuda_stream(c), a);
}

template <typename T>
static void paged_attention(struct ctx *c, paged_args<T> a, const struct paged *p)
{
    a.table = data_of<int>(p->table), a.seen = data_of<int>(p->seen), a.parts = data_of<int>(p->parts);
    a.units = (const struct paged_unit *)data_of<int>(p->units), a.keys = p->table->shape[1];
    if (p->n_units > 0 && p->max_queries > 0)
        attend_units(c, a, p);
    if (!p->whole)
        LAUNCH(paged_merge_kernel<T>, blocks_for((int64_t)a.queries * a.heads.heads, ROW_WARPS), ROW_WARPS * WARP, 0,
               cuda_stream(c), a);
}

extern "C" void cuda_paged_attention(struct ctx *c, struct tensor *y, const struct tensor *partial,
                                     const struct tensor *q, const struct tensor *k, const struct tensor *v,
                                     const struct paged *p, const struct attention_form *form)
{
    if (tensor_size(y) == 0)
        return;
    DTYPE_SWITCH(q->dtype, paged_args<T> a = {}; a.heads = causal_args_of_form<T>(q, k, v, form); a.y = data_of<T>(y);
                 a.partial = data_of<float>(partial); a.queries = (int)q->shape[0]; paged_attention(c, a, p));
}
