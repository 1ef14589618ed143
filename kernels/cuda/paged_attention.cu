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

/* How the work is cut: at most ROWS rows a block, tiles of KEYS keys, heads up to D.  DEPTH tiles of a page are in
 * flight where blocks are few. */
template <int D_, int KEYS_, int ROWS_>
struct paged_shape {
    static constexpr int D = D_, KEYS = KEYS_, ROWS = ROWS_, DEPTH = KEYS_ < PAGE_KEYS ? 2 : 1;
    static constexpr bool IN_REGISTERS =
        D_ <= 128; /* the sums of a chunk; wider heads leave no room for pages a warp */
    static_assert(PAGE_KEYS % (DEPTH * KEYS_) == 0, "a page is whole tiles");
};

constexpr int CHUNK_PAGES = CHUNK_KEYS / PAGE_KEYS, LISTED = CHUNK_KEYS / MMA_THREADS;
static_assert(CHUNK_PAGES == MMA_WARPS && PAGE_KEYS == LISTED * WARP, "each warp has a page of a chunk");

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

template <class S>
struct paged_tile {
    bf16 k[S::KEYS][S::D + TILE_GAP], v[S::KEYS][S::D + TILE_GAP];
};

/* The block's shared memory begins with where in the cache the keys of a chunk and of the next are.  Tiles lie behind
 * it, then the rows of q, then sums of floats. */
template <class S>
struct paged_memory {
    int rows[2][CHUNK_KEYS];
    alignas(16) struct paged_tile<S> tile[1];
};

/* The block's rows of q, behind that many tiles. */
template <class S>
__device__ inline bf16 (&paged_queries(struct paged_memory<S> &m, int tiles))[S::ROWS][S::D + TILE_GAP]
{
    return *(bf16(*)[S::ROWS][S::D + TILE_GAP])(m.tile + tiles);
}

__device__ inline int warp_most(int v)
{
    for (int lane = WARP / 2; lane; lane /= 2) {
        int other = __shfl_xor_sync(ALL_LANES, v, lane);
        v = v > other ? v : other;
    }
    return v;
}

/* False where the block has no rows. */
__device__ inline bool paged_task_of(struct paged_task &t, const paged_args<bf16> &a)
{
    int64_t pair = block_id() / a.tiles;
    t.group = (int)(pair % a.heads.groups);
    t.unit = a.units[pair / a.heads.groups];
    t.first = (int)(block_id() % a.tiles) * a.height, t.rows = t.unit.queries * a.heads.each;
    return t.first < t.rows;
}

/* The keys that some of the block's rows see; false where there are none. */
__device__ inline bool paged_keys_of(struct paged_task &t, const paged_args<bf16> &a)
{
    int each = a.heads.each, most = 0, unseen = -INT32_MAX; /* most of the keys seen, and least before them, negative */
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

/* The warp's rows are those of the block from `first` on. */
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

/* Where in the cache the thread's keys of chunk i lie: of its warp's page one for each lane, then the next. */
__device__ inline void read_rows(int (&rows)[LISTED], const paged_args<bf16> &a, const struct paged_task &t, int i)
{
    UNROLL
    for (int n = 0; n < LISTED; n++) {
        int key = i * CHUNK_KEYS + warp_id() * PAGE_KEYS + n * WARP + lane_id();
        rows[n] = key < a.keys ? a.table[t.unit.row * a.keys + key] : 0;
    }
}

__device__ inline void list_rows(int (&list)[2][CHUNK_KEYS], const int (&rows)[LISTED], int i)
{
    UNROLL
    for (int n = 0; n < LISTED; n++)
        list[i & 1][warp_id() * PAGE_KEYS + n * WARP + lane_id()] = rows[n];
}

/* Thread `thread` of `threads` starts copying those keys of one group of k or v, n of them, and to a multiple of 16
 * zeros. */
template <int KEYS, int WIDTH>
__device__ inline void gather_keys(bf16 (&tile)[KEYS][WIDTH], const bf16 *x, const causal_args<bf16> &a,
                                   const int *rows, int n, int group, int thread, int threads)
{
    constexpr int PIECES = (WIDTH - TILE_GAP) / PACK;
    int filled = (n + 15) / 16 * 16;
    UNROLL_4
    for (int t = thread; t < filled * PIECES; t += threads) {
        int i = t / PIECES, d = t % PIECES * PACK, left = i < n ? a.dim - d : 0;
        fetch_piece(&tile[i][d], left > 0 ? x + ((int64_t)rows[i] * a.groups + group) * a.dim + d : x, left, a.dim);
    }
}

template <class S>
__device__ inline void gather_tile(struct paged_tile<S> &tile, const paged_memory<S> &m, const causal_args<bf16> &a,
                                   const struct paged_task &t, int at, int thread, int threads)
{
    const int *rows = m.rows[at / CHUNK_KEYS & 1] + at % CHUNK_KEYS;
    int n = t.end - at < S::KEYS ? t.end - at : S::KEYS;
    gather_keys(tile.k, a.k, a, rows, n, t.group, thread, threads);
    gather_keys(tile.v, a.v, a, rows, n, t.group, thread, threads);
}

/* What the warp's rows have summed up of a page. */
template <int D>
struct page_sums {
    float out[1][D / 8][4], most[1][2], sum[1][2];
};

template <int D>
__device__ inline void page_start(struct page_sums<D> &x)
{
    zero(x.out);
    x.most[0][0] = x.most[0][1] = -INFINITY;
    x.sum[0][0] = x.sum[0][1] = 0;
}

/* What pages or chunks in order have come to, but for the values: of two rows. */
struct sum_pair {
    float most[2], sum[2];
};

__device__ inline void pair_start(struct sum_pair &p)
{
    p.most[0] = p.most[1] = -INFINITY;
    p.sum[0] = p.sum[1] = 0;
}

/* The next one; what values count for, of before and now. */
__device__ inline void pair_merge(struct sum_pair &p, const struct sum_pair &next, float (&old)[2], float (&now)[2])
{
    UNROLL
    for (int half = 0; half < 2; half++) {
        merge_factors(p.most[half], next.most[half], old[half], now[half]);
        p.sum[half] = merged(p.sum[half], old[half], next.sum[half], now[half]);
    }
}

template <int D>
__device__ inline struct sum_pair page_pair(const struct page_sums<D> &x)
{
    return { { x.most[0][0], x.most[0][1] }, { quad_sum(x.sum[0][0]), quad_sum(x.sum[0][1]) } };
}

/* One tile of keys for 16 rows of q from `row` on.  Where few keys are seen their weights are taken twice as finely:
 * those of the first chunk, whoever asks. */
template <class S>
__device__ inline void paged_step(struct page_sums<S::D> &x, const bf16 (&q)[S::ROWS][S::D + TILE_GAP], int row,
                                  const struct paged_tile<S> &tile, const causal_args<bf16> &a,
                                  const struct paged_rows &w, const struct key_tile &t)
{
    const bool exact[1] = { t.at < CHUNK_KEYS || few_in_window(a) };
    float s[1][S::KEYS / 8][4];
    zero(s);
    add_scores(s, q, row, tile.k, t.n);
    if (a.cap > 0)
        cap_scores<1, S::KEYS>(s, a);
    if (a.bias)
        add_bias<1, S::KEYS>(s, a, w.at, t.at);
    if (t.n < S::KEYS || t.at + S::KEYS > w.all_see || a.window)
        hide_keys<1, S::KEYS>(s, a, w.at, t);
    causal_softmax<S::D, 1, S::KEYS>(s, x.out, x.most, x.sum, LOG2_E * a.scale);
    add_weighted<S::D>(x.out, s, tile.v, t.n, exact);
}

/* A chunk of the rows of parts goes into memory: value(j) of the lane's N from its number `from` on. */
template <int N, typename Value>
__device__ inline void store_parts(const paged_args<bf16> &a, const struct paged_rows &w, const struct sum_pair &p,
                                   int chunk, int from, Value value)
{
    int dim = a.heads.dim;
    UNROLL
    for (int half = 0; half < 2; half++) {
        if (w.part[half] < 0 || !sees_chunk(a.heads, w.at.sees[0][half], chunk))
            continue;
        float *to = partial_row(a, w.part[half] + chunk, w.at.row[0][half] % a.heads.heads);
        UNROLL
        for (int j = 2 * half; j < N; j += 4) {
            int d = (from + j) / 4 * 8 + lane_id() % 4 * 2;
            put_two(to + d, value(j), value(j + 1), dim - d);
        }
        if (from == 0 && lane_id() % 4 == 0)
            put_two(to + dim, p.most[half], p.sum[half], 2);
    }
}

/* y of the rows that are whole, in the same way. */
template <int N, typename Value>
__device__ inline void paged_finish(const paged_args<bf16> &a, const struct paged_rows &w, const struct sum_pair &p,
                                    int from, Value value)
{
    int dim = a.heads.dim;
    UNROLL
    for (int half = 0; half < 2; half++) {
        if (w.part[half] >= 0 || w.at.row[0][half] < 0)
            continue;
        float factor = 1.0f / p.sum[half];
        bf16 *y = a.y + (int64_t)w.at.row[0][half] * dim;
        UNROLL
        for (int j = 2 * half; j < N; j += 4) {
            int d = (from + j) / 4 * 8 + lane_id() % 4 * 2;
            put_pair(y + d, finished(value(j), factor), finished(value(j + 1), factor), dim - d, dim % 2 == 0, false);
        }
    }
}

/* What a warp that goes through all pages of its rows has: of the page, of the pages before in its chunk, and of the
 * chunks before.  Values of chunks before lie in shared memory, and those of the chunk where they are many. */
template <class S>
struct paged_sums {
    struct page_sums<S::D> page;
    float chunk[S::IN_REGISTERS ? S::D / 2 : 1];
    float *chunk_memory, *before_memory;
    struct sum_pair of_chunk, before;
};

template <class S>
__device__ inline float &chunk_value(struct paged_sums<S> &x, int j)
{
    return S::IN_REGISTERS ? x.chunk[S::IN_REGISTERS ? j : 0] : x.chunk_memory[j * WARP];
}

template <class S>
__device__ inline void chunk_start(struct paged_sums<S> &x)
{
    page_start(x.page);
    pair_start(x.of_chunk);
    UNROLL
    for (int j = 0; j < S::D / 2; j++)
        chunk_value(x, j) = 0;
}

template <class S>
__device__ inline void page_end(struct paged_sums<S> &x)
{
    float old[2], now[2];
    pair_merge(x.of_chunk, page_pair(x.page), old, now);
    UNROLL
    for (int j = 0; j < S::D / 2; j++) {
        float &chunk = chunk_value(x, j);
        chunk = merged(chunk, old[j % 4 / 2], x.page.out[0][j / 4][j % 4], now[j % 4 / 2]);
    }
    page_start(x.page);
}

/* A chunk ends: into memory, or into what the lane has of those before; the last one's sum stays where the chunk's are.
 */
template <class S>
__device__ inline void chunk_end(const paged_args<bf16> &a, struct paged_sums<S> &x, const struct paged_rows &w,
                                 const struct paged_task &t, int chunk)
{
    bool first = chunk == t.from / CHUNK_KEYS, last = (chunk + 1) * CHUNK_KEYS >= t.end;
    float old[2], now[2];
    store_parts<S::D / 2>(a, w, x.of_chunk, chunk, 0, [&](int j) { return chunk_value(x, j); });
    if (first)
        pair_start(x.before);
    pair_merge(x.before, x.of_chunk, old, now);
    UNROLL
    for (int j = 0; j < S::D / 2; j++) {
        float &value = chunk_value(x, j), *held = x.before_memory + j * WARP;
        value = merged(first ? 0.0f : *held, old[j % 4 / 2], value, now[j % 4 / 2]);
        if (!last)
            *held = value;
    }
    if (!last)
        chunk_start(x);
}

/* Each warp has 16 rows; a tile serves all of them, and the next one arrives while it is used. */
template <class S>
__device__ inline void attend_many(const paged_args<bf16> &a, struct paged_memory<S> &m,
                                   bf16 (&q)[S::ROWS][S::D + TILE_GAP], const struct paged_task &t)
{
    constexpr int D = S::D, KEYS = S::KEYS;
    int row = warp_id() * MMA_ROWS;
    float *sums = (float *)q[a.height] + row * D + lane_id();
    struct paged_rows w;
    struct paged_sums<S> x;
    paged_rows_of(w, a, t, row < a.height ? t.first + row : t.rows);
    x.chunk_memory = sums, x.before_memory = S::IN_REGISTERS ? sums : sums + a.height * D;
    if (w.some_see > 0)
        chunk_start(x);
    for (int at = t.from - KEYS; at < t.end; at += KEYS) {
        int stage = at / KEYS & 1, chunk = at / CHUNK_KEYS;
        copy_wait<0>();
        __syncthreads(); /* tile and list are there, the tile before has been used */
        if (at + KEYS < t.end)
            gather_tile(m.tile[1 - stage], m, a.heads, t, at + KEYS, thread_id(), MMA_THREADS);
        copy_commit();
        if (at < t.from)
            continue;
        if (at % CHUNK_KEYS == 0 && at + CHUNK_KEYS < t.end) {
            int rows[LISTED];
            read_rows(rows, a, t, chunk + 1);
            list_rows(m.rows, rows, chunk + 1);
        }
        struct key_tile now = { 0, t.end - at < KEYS ? t.end - at : KEYS, at };
        bool last = at + KEYS >= t.end;
        if (at < w.some_see)
            paged_step<S>(x.page, q, row, m.tile[stage], a.heads, w, now);
        if (w.some_see > 0 && (last || (at + KEYS) % PAGE_KEYS == 0))
            page_end(x);
        if (w.some_see > 0 && (last || (at + KEYS) % CHUNK_KEYS == 0))
            chunk_end(a, x, w, t, chunk);
    }
    if (w.some_see > 0)
        paged_finish<D / 2>(a, w, x.before, 0, [&](int j) { return chunk_value(x, j); });
}

/* The page of a chunk that begins at key `at`, by one warp, whose tiles are `depth`. */
template <class S>
__device__ inline void attend_page(struct page_sums<S::D> &x, const paged_args<bf16> &a, struct paged_memory<S> &m,
                                   bf16 (&q)[S::ROWS][S::D + TILE_GAP], const struct paged_task &t,
                                   const struct paged_rows &w, struct paged_tile<S> *tile, int at)
{
    constexpr int KEYS = S::KEYS;
    int end = at + PAGE_KEYS < t.end ? at + PAGE_KEYS : t.end;
    for (int from = at; from < end; from += KEYS) {
        if (a.depth > 1)
            copy_wait<1>();
        else
            copy_wait<0>();
        __syncwarp(); /* all lanes' copies are there */
        struct paged_tile<S> &now = tile[(from - at) / KEYS % a.depth];
        struct key_tile keys = { 0, end - from < KEYS ? end - from : KEYS, from };
        if (from < w.some_see)
            paged_step<S>(x, q, 0, now, a.heads, w, keys);
        __syncwarp(); /* the tile has been used */
        if (from + a.depth * KEYS < end)
            gather_tile(now, m, a.heads, t, from + a.depth * KEYS, lane_id(), WARP);
        copy_commit();
    }
}

/* Of what all warps have of their pages of a chunk, in the lane's values from `from` on: their sum in order. */
template <class S>
__device__ inline struct sum_pair merge_pages(float (&value)[S::D / 8], const struct paged_memory<S> &m, int depth,
                                              int from, int pages)
{
    struct sum_pair all;
    pair_start(all);
    UNROLL
    for (int j = 0; j < S::D / 8; j++)
        value[j] = 0;
    for (int page = 0; page < pages; page++) {
        const float *held = (const float *)&m.tile[page * depth] + lane_id();
        float old[2], now[2];
        const float *pair = held + S::D / 2 * WARP;
        pair_merge(all, { { pair[0], pair[WARP] }, { pair[2 * WARP], pair[3 * WARP] } }, old, now);
        UNROLL
        for (int j = 0; j < S::D / 8; j++)
            value[j] = merged(value[j], old[j % 4 / 2], held[(from + j) * WARP], now[j % 4 / 2]);
    }
    return all;
}

/* The warp's page, for merge_pages. */
template <int D>
__device__ inline void hold_page(float *held, const struct page_sums<D> &x)
{
    struct sum_pair p = page_pair(x);
    UNROLL
    for (int j = 0; j < D / 2; j++)
        held[j * WARP] = x.out[0][j / 4][j % 4];
    UNROLL
    for (int half = 0; half < 2; half++) {
        held[(D / 2 + half) * WARP] = p.most[half];
        held[(D / 2 + 2 + half) * WARP] = p.sum[half];
    }
}

/* At most 16 rows: each warp has a page of a chunk for all of them, then a quarter of the columns. */
template <class S>
__device__ inline void attend_few(const paged_args<bf16> &a, struct paged_memory<S> &m,
                                  bf16 (&q)[S::ROWS][S::D + TILE_GAP], const struct paged_task &t)
{
    constexpr int COLUMNS = S::D / 8;
    struct paged_tile<S> *tile = m.tile + warp_id() * a.depth;
    static_assert((S::D / 2 + 4) * WARP * sizeof(float) <= sizeof *tile, "a page's results fit in one of its tiles");
    struct paged_rows w;
    struct page_sums<S::D> x;
    struct sum_pair all;
    float value[COLUMNS], *sums = (float *)q[MMA_ROWS] + warp_id() * COLUMNS * WARP + lane_id(); /* of chunks before */
    pair_start(all);
    for (int chunk = t.from / CHUNK_KEYS; chunk * CHUNK_KEYS < t.end; chunk++) {
        int at = chunk * CHUNK_KEYS + warp_id() * PAGE_KEYS, left = t.end - chunk * CHUNK_KEYS, rows[LISTED];
        bool first = chunk == t.from / CHUNK_KEYS, last = left <= CHUNK_KEYS;
        if (!first) {
            read_rows(rows, a, t, chunk);
            list_rows(m.rows, rows, chunk);
        }
        __syncwarp(); /* the list is there */
        for (int i = 0; i < S::DEPTH; i++) {
            if (i < a.depth && at + i * S::KEYS < t.end)
                gather_tile(tile[i], m, a.heads, t, at + i * S::KEYS, lane_id(), WARP);
            copy_commit();
        }
        if (first) {
            paged_rows_of(w, a, t, t.first);
            copy_wait<S::DEPTH>();
            __syncthreads(); /* all rows of q are there */
        }
        page_start(x);
        attend_page<S>(x, a, m, q, t, w, tile, at);
        hold_page((float *)tile + lane_id(), x);
        __syncthreads(); /* all pages are there */
        struct sum_pair of_chunk = merge_pages<S>(value, m, a.depth, warp_id() * COLUMNS,
                                                  left < CHUNK_KEYS ? (left + PAGE_KEYS - 1) / PAGE_KEYS : CHUNK_PAGES);
        store_parts<COLUMNS>(a, w, of_chunk, chunk, warp_id() * COLUMNS, [&](int j) { return value[j]; });
        float old[2], now[2];
        pair_merge(all, of_chunk, old, now);
        UNROLL
        for (int j = 0; j < COLUMNS; j++) {
            value[j] = merged(first ? 0.0f : sums[j * WARP], old[j % 4 / 2], value[j], now[j % 4 / 2]);
            if (!last)
                sums[j * WARP] = value[j];
        }
        __syncthreads(); /* the pages' results have been used */
    }
    paged_finish<COLUMNS>(a, w, all, warp_id() * COLUMNS, [&](int j) { return value[j]; });
}

/*
 * The same for bf16 on tensor cores.
 *
 * Grid     one block per unit, group and 64 rows (fewer, where units are small or heads wide) of its queries and the
 *          group's heads.
 * Memory   q once into shared memory; k and v once per block.  Up to 16 rows: each warp has a page of a chunk, and all
 *          pages are under way at once, or half of each where blocks are many.  More: each warp has 16 rows, and the
 *          next tile arrives while one is used.
 * Numbers  products of bf16, sums in f32; weights rounded to bf16, or, in the first chunk, as two bf16 each.  The pages
 *          of a chunk are summed up one by one and merged in order, then the chunks.  A row's bits depend on its own
 *          keys alone: a tile adds zeros for those that it does not see.
 */
template <class S>
__global__ void __launch_bounds__(MMA_THREADS) paged_attention_mma_kernel(paged_args<bf16> a)
{
    DYNAMIC_SHARED(paged_memory<S>, m);
    struct paged_task t;
    struct packed_span span = {};
    int rows[LISTED];
    if (!paged_task_of(t, a))
        return;
    bool few = a.depth && t.rows - t.first <= MMA_ROWS;
    bf16(&q)[S::ROWS][S::D + TILE_GAP] = paged_queries(*m, few ? MMA_WARPS * a.depth : 2);
    span.q_from = t.unit.first;
    read_rows(rows, a, t, t.unit.chunk); /* on the way with the next loads */
    bool some = paged_keys_of(t, a);
    if (!some)
        return;
    copy_rows(q, a.heads.q, a.heads, span, t.group, t.first, few ? MMA_ROWS : a.height, t.rows);
    copy_commit();
    if (t.from > t.unit.chunk * CHUNK_KEYS)
        read_rows(rows, a, t, t.from / CHUNK_KEYS);
    list_rows(m->rows, rows, t.from / CHUNK_KEYS);
    if constexpr (S::IN_REGISTERS)
        if (few) {
            attend_few<S>(a, *m, q, t);
            return;
        }
    attend_many<S>(a, *m, q, t);
}

/* Where so many blocks are too few to fill a GPU a block may have all of its shared memory. */
constexpr int64_t FEW_BLOCKS = 108;

template <class S>
static size_t paged_bytes(const paged_args<bf16> &a, const struct paged *p)
{
    size_t row = (S::D + TILE_GAP) * sizeof(bf16), sums = S::D * sizeof(float), before = p->max_chunks > 1 ? sums : 0;
    size_t few = (size_t)a.depth * MMA_WARPS * sizeof(paged_tile<S>) + MMA_ROWS * (row + before);
    size_t many = 2 * sizeof(paged_tile<S>) + (size_t)a.height * (row + before + (S::IN_REGISTERS ? 0 : sums));
    return offsetof(paged_memory<S>, tile) + (a.depth && few > many ? few : many);
}

template <class S>
static void launch_units(struct ctx *c, paged_args<bf16> a, const struct paged *p)
{
    constexpr int MOST = S::ROWS / MMA_ROWS;
    int64_t rows = p->max_queries * a.heads.each, warps = (rows + MMA_ROWS - 1) / MMA_ROWS;
    a.height = (warps < MOST ? (int)warps : MOST) * MMA_ROWS;
    a.tiles = (int)((rows + a.height - 1) / a.height);
    int64_t blocks = p->n_units * a.heads.groups * a.tiles;
    if (S::IN_REGISTERS && (p->n_parts > 0 || rows <= MMA_ROWS))
        a.depth = blocks <= FEW_BLOCKS ? S::DEPTH : 1;
    LAUNCH_WIDE(paged_attention_mma_kernel<S>, blocks_for(blocks, 1), MMA_THREADS, paged_bytes<S>(a, p), cuda_stream(c),
                a);
}

static void attend_units(struct ctx *c, paged_args<bf16> a, const struct paged *p)
{
    if (a.heads.dim <= 64)
        launch_units<paged_shape<64, 64, 64>>(c, a, p);
    else if (a.heads.dim <= 128)
        launch_units<paged_shape<128, 32, 64>>(c, a, p);
    else
        launch_units<paged_shape<256, 16, 32>>(c, a, p);
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
