/*
 * paged_attention.cu - attention over pages of a cache (paged.h), in f32 and in bf16.
 */
#include "kernels/cuda/paged_attention.cuh"

#include "kernels/cuda/causal_mma.cuh"

/* Computes the result of keys [from, to) for one head of a query that sees `seen` keys.  All of them lie in
 * one page. */
template <typename T>
__device__ inline void row_page(row_sum<ROW_PARTS> &r, const paged_args<T> &a, const float *q, float *weight,
                                const int *rows, int head, int seen, int from, int to)
{
    const causal_args<T> &h = a.heads;
    int group = head / h.each;
    row_start(r);
    for (int j0 = from; j0 < to; j0 += WARP) {
        /* Each lane scores a key of its own. */
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
        /* All lanes together add the values of the round. */
        add_round(r.out, shrink, weight, to - j0 < WARP ? to - j0 : WARP, h.dim,
                  [=](int i) { return h.v + ((int64_t)rows[j0 + i] * h.groups + group) * h.dim; });
        __syncwarp(); /* all lanes have read the weights, which the next round overwrites */
    }
}

/* Stores a partial result. */
template <typename T>
__device__ inline void row_store(const paged_args<T> &a, int part, int head, const row_sum<ROW_PARTS> &r)
{
    int64_t row = (int64_t)part * a.heads.heads + head;
    put_row(a.values + row * a.heads.dim, r.out, 1.0f, a.heads.dim, false);
    if (lane_id() == 0)
        a.norms[2 * row] = r.most, a.norms[2 * row + 1] = r.sum;
}

/*
 * s_ij = cap(scale q_i . k_j) + bias;  y_i = sum_j softmax_j(s_ij) v_j, over the keys that i sees, or partial results
 *
 * Grid     one warp per head and query of a unit, the rows of a unit in one run of blocks.
 * Memory   k and v once per row, mostly from cache; a lane reads a key of its own, then all lanes one value.
 * Numbers  running maximum and sum in f32 within a page; pages merged in order.
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
    const struct paged_query query = paged_query_of(a, t);
    const int *rows = a.table + unit.row * a.keys;
    /* The pages of the unit that the query sees. */
    int first = unit.page < query.first_page ? query.first_page : unit.page, end = unit.page + unit.pages;
    end = end < query.pages ? end : query.pages;
    if (first >= end)
        return;
    row_sum<ROW_PARTS> all, page;
    load_row(queries[warp_id()], a.heads.q + ((int64_t)t * heads + head) * a.heads.dim, a.heads.dim);
    __syncwarp();
    row_start(all);
    /* A unit that begins at page 0 keeps one result for all its pages.  Every later page gets a partial result of its
     * own. */
    for (int i = first; i < end; i++) {
        int from = i * PAGE_KEYS, to = query.seen < from + PAGE_KEYS ? query.seen : from + PAGE_KEYS;
        from = from > causal_first(a.heads, query.seen) ? from : causal_first(a.heads, query.seen);
        row_page(page, a, queries[warp_id()], weights[warp_id()], rows, head, query.seen, from, to);
        row_merge(all, page);
        if (unit.page > 0)
            row_store(a, part_of(query, i), head, page);
    }
    if (query.begin == query.end)
        row_finish(a, t, head, all);
    else if (unit.page == 0)
        row_store(a, query.begin, head, all);
}

/*
 * y of queries with partial results, and 0 for queries that see nothing.
 *
 * Grid     one warp per head and query.
 * Memory   reads partial results once, bandwidth bound.
 * Numbers  f32, partial results in order.
 */
template <typename T>
__global__ void __launch_bounds__(ROW_WARPS *WARP) paged_merge_kernel(paged_args<T> a)
{
    int64_t t = grid_warp() / a.heads.heads;
    if (t < a.queries && (a.seen[t] == 0 || a.parts[t] < a.parts[t + 1]))
        merge_row<ROW_PARTS, 4>(a, (int)t, (int)(grid_warp() % a.heads.heads));
}

/* Shape of a launch: heads up to D channels, M times 16 rows a block. */
template <int D_, int M_>
struct paged_shape {
    static constexpr int D = D_, M = M_, ROWS = M_ * MMA_ROWS, COLUMNS = D_ / MMA_WARPS;
    static constexpr bool PARTS = M_ <= 2;                                  /* rows may have partial results */
    static constexpr int BLOCKS = D_ > 128 || M_ > 2 ? 2 : M_ == 2 ? 3 : 5; /* blocks of a multiprocessor */
};

/* Weights of the first EXACT_KEYS keys are two bf16 each.  WHOLE marks a row without partial results. */
constexpr int EXACT_KEYS = 256, WHOLE = INT32_MIN;
constexpr int WARP_KEYS = PAGE_KEYS / MMA_WARPS, LISTED = PAGE_KEYS / WARP;
static_assert(WARP_KEYS == 16, "a warp scores a square of keys");

/*
 * A row of a block: its query and head, and the number of keys that it sees.
 *
 * `part` is the number that a partial result ending with page 0 would have if every page had one, so part + page is
 * that of a page.  It is WHOLE if the row has no partial results.  Rows behind the last see nothing.
 */
struct paged_row {
    int query, head, sees, part;
};

/* The work of a block: rows [first, last) of a group of a unit, pages [page, pages), and keys before `end`.  All rows
 * see the keys before `all_see`. */
struct paged_task {
    struct paged_unit unit;
    int group, first, last, page, pages, end, all_see;
};

/* The shared memory of a block.  Each warp copies the keys that it scores, and the columns of values that it sums up.
 * It waits for its own copies only, without a barrier of the block. */
template <class S>
struct paged_memory {
    alignas(16) bf16 k[PAGE_KEYS][S::D + TILE_GAP];
    alignas(16) bf16 v[PAGE_KEYS][S::D + TILE_GAP];
    alignas(16) bf16 q[S::ROWS][S::D + TILE_GAP];
    alignas(16) bf16 weight[2][S::ROWS][PAGE_KEYS + TILE_GAP]; /* rounded, and the rounding errors */
    alignas(16) float most[S::ROWS][MMA_WARPS];                /* of each warp's scores */
    struct paged_row row[S::ROWS];
    struct paged_task task; /* for the end of the kernel, so that it occupies no registers meanwhile */
    bool complete[S::ROWS]; /* the block merges the results of these queries */
};

/* The result over one page or several, in the columns of the warp. */
template <class S, int M>
struct paged_sums {
    float out[M][S::COLUMNS / 8][4], sum[M][4], most[M][2];
};

/* Maximum over the lanes of a warp. */
__device__ inline int warp_most(int v)
{
    for (int lane = WARP / 2; lane; lane /= 2) {
        int other = __shfl_xor_sync(ALL_LANES, v, lane);
        v = v > other ? v : other;
    }
    return v;
}

/* Finds the block's unit, group and rows.  Returns false if it has no rows. */
template <class S>
__device__ inline bool paged_task_of(struct paged_task &t, const paged_args<bf16> &a)
{
    unsigned tiles = (unsigned)a.tiles, pairs = (unsigned)a.heads.groups * tiles, block = (unsigned)block_id();
    t.unit = a.units[block / pairs];
    block %= pairs;
    t.group = (int)(block / tiles);
    t.first = (int)(block % tiles) * S::ROWS, t.last = t.unit.queries * a.heads.each;
    t.page = t.unit.page;
    if (t.first >= t.last)
        return false;
    t.last = t.last < t.first + S::ROWS ? t.last : t.first + S::ROWS;
    return true;
}

/* Finds the keys that some of the block's rows see.  Returns false if there are none. */
__device__ inline bool paged_keys_of(struct paged_task &t, const paged_args<bf16> &a)
{
    /* Keys before a window are counted negatively, so that one maximum finds the smallest of them. */
    int most = 0, least = INT32_MAX, unseen = -INT32_MAX; /* of the keys seen, and of those before, negative */
    int last = causal_query(a.heads, t.last - 1);
    ROLLED
    for (int i = causal_query(a.heads, t.first) + lane_id(); i <= last; i += WARP) {
        int seen = a.seen[t.unit.first + i], before = -causal_first(a.heads, seen);
        most = most > seen ? most : seen, least = least < seen ? least : seen;
        unseen = seen == 0 || unseen > before ? unseen : before;
    }
    most = warp_most(most), t.all_see = -warp_most(-least);
    int first = -warp_most(unseen) / PAGE_KEYS, end = t.unit.page + t.unit.pages;
    t.page = t.page > first ? t.page : first;
    t.end = end * PAGE_KEYS < most ? end * PAGE_KEYS : most, t.pages = (t.end + PAGE_KEYS - 1) / PAGE_KEYS;
    return t.page < t.pages;
}

/* Stores the block's rows and its task in shared memory. */
template <class S>
__device__ inline void list_rows(paged_memory<S> &m, const paged_args<bf16> &a, const struct paged_task &t)
{
    int r = t.first + thread_id(), query = causal_query(a.heads, r);
    if (thread_id() >= S::ROWS)
        return;
    struct paged_row row = { t.unit.first + query, t.group * a.heads.each + r - query * a.heads.each, 0, WHOLE };
    if (r < t.last) {
        const struct paged_query q = paged_query_of(a, row.query);
        row.sees = q.seen, row.part = q.begin < q.end ? part_of(q, 0) : WHOLE;
    }
    m.row[thread_id()] = row;
    if (thread_id() == 0)
        m.task = t;
}

/* Reads the cache rows of a page's keys: lane l gets those of keys l and l + 32. */
__device__ inline void read_places(int (&places)[LISTED], const paged_args<bf16> &a, const struct paged_task &t,
                                   int page)
{
    UNROLL
    for (int n = 0; n < LISTED; n++) {
        int key = page * PAGE_KEYS + n * WARP + lane_id();
        places[n] = key < a.keys ? a.table[t.unit.row * a.keys + key] : 0;
    }
}

/* Replaces keys that no row sees by the last one.  Their weight is 0, but 0 times a value must not be NaN, and cache
 * rows that were never written may hold anything. */
__device__ inline void repeat_last(int (&places)[LISTED], const struct paged_task &t, int page)
{
    int n = t.end - page * PAGE_KEYS;
    if (n >= PAGE_KEYS)
        return;
    int last = __shfl_sync(ALL_LANES, n > WARP ? places[1] : places[0], (n - 1) % WARP);
    UNROLL
    for (int i = 0; i < LISTED; i++)
        places[i] = i * WARP + lane_id() < n ? places[i] : last;
}

/*
 * The warp starts copying PIECES times 8 columns of N keys, from the first row of a tile on, with zeros for columns
 * from `left` on.
 *
 * `lists` has the cache rows of the page's keys, spread over the lanes; that of the first key is in lane `from`.  A
 * shuffle brings each cache row to the lanes that copy it.
 */
template <int PIECES, int N, int LISTS, int WIDTH>
__device__ inline void gather(bf16 (*tile)[WIDTH], const bf16 *x, const causal_args<bf16> &a, const int (&lists)[LISTS],
                              int from, int left)
{
    constexpr int AT_ONCE = WARP / PIECES;
    int lane = afresh(lane_id()), key = lane / PIECES, piece = lane % PIECES * PACK, stride = a.groups * a.dim;
    bf16 *to = &tile[key][piece];
    left -= piece;
    x += left > 0 ? piece : 0;
    if (a.dim % PACK == 0) {
        UNROLL
        for (int i = 0; i < N; i += AT_ONCE) {
            int place = __shfl_sync(ALL_LANES, lists[i / WARP], from + i + key);
            copy_async(to + i * WIDTH, x + (int64_t)place * stride, left > 0 ? 16 : 0);
        }
        return;
    }
    ROLLED
    for (int i = 0; i < N; i += AT_ONCE) {
        int place = __shfl_sync(ALL_LANES, i < WARP ? lists[0] : lists[LISTS - 1], from + i + key);
        fetch_piece(to + i * WIDTH, x + (int64_t)place * stride, left, a.dim);
    }
}

/* Starts copying the warp's keys of a page. */
template <class S>
__device__ inline void gather_keys(paged_memory<S> &m, const paged_args<bf16> &a, const struct paged_task &t,
                                   const int (&places)[LISTED])
{
    int first = afresh(warp_id()) * WARP_KEYS;
    const int list[1] = { first < WARP ? places[0] : places[1] };
    gather<S::D / PACK, WARP_KEYS>(&m.k[first], a.heads.k + t.group * a.heads.dim, a.heads, list, first, a.heads.dim);
}

/* Starts copying the warp's columns of a page's values. */
template <class S>
__device__ inline void gather_values(paged_memory<S> &m, const paged_args<bf16> &a, const struct paged_task &t,
                                     const int (&places)[LISTED])
{
    int column = afresh(warp_id()) * S::COLUMNS, left = a.heads.dim - column;
    bf16(*tile)[S::D + TILE_GAP] = (bf16(*)[S::D + TILE_GAP]) & m.v[0][column];
    gather<S::COLUMNS / PACK, PAGE_KEYS>(tile, a.heads.v + t.group * a.heads.dim + (left > 0 ? column : 0), a.heads,
                                         places, 0, left);
}

/* Caps the scores and adds the biases, both divided by the scale that weigh_keys applies. */
template <class S, int M>
__device__ inline void change_scores(float (&s)[M][WARP_KEYS / 8][4], const paged_memory<S> &m,
                                     const paged_args<bf16> &a, int at)
{
    UNROLL
    for (int i = 0; i < 2 * M && a.cap > 0; i++) {
        UNROLL
        for (int n = 0; n < 4; n++) {
            float &x = s[i / 2][n / 2][i % 2 * 2 + n % 2];
            x = capped_score(x, a.cap, a.cap_factor);
        }
    }
    UNROLL
    for (int i = 0; i < 2 * M && a.heads.bias; i++) {
        const struct paged_row &row = m.row[8 * i + lane_id() / 4];
        UNROLL
        for (int n = 0; n < 4; n++) {
            int behind = row.sees - 1 - at - lane_id() % 4 * 2 - n / 2 * 8 - n % 2;
            if (behind >= 0)
                s[i / 2][n / 2][i % 2 * 2 + n % 2] += a.unscaled * causal_bias(a.heads, row.head, behind);
        }
    }
}

/* Sets scores of keys that their row does not see to -infinity.  `at` is the position of the first key. */
template <class S, int M>
__device__ inline void hide_scores(float (&s)[M][WARP_KEYS / 8][4], const paged_memory<S> &m, const paged_args<bf16> &a,
                                   int at)
{
    struct warp_rows<M> w;
    UNROLL
    for (int i = 0; i < 2 * M; i++)
        w.sees[i / 2][i % 2] = m.row[8 * i + lane_id() / 4].sees;
    hide_keys<M, WARP_KEYS>(s, a.heads, w, { 0, WARP_KEYS, at });
}

/* Computes the scores of all rows with the warp's keys of a page, and stores each row's maximum over them. */
template <class S, int M>
__device__ inline void score_keys(float (&s)[M][WARP_KEYS / 8][4], paged_memory<S> &m, const paged_args<bf16> &a,
                                  const struct paged_task &t, int page)
{
    const bf16(&keys)[WARP_KEYS][S::D + TILE_GAP] = *(bf16(*)[WARP_KEYS][S::D + TILE_GAP]) m.k[warp_id() * WARP_KEYS];
    int at = page * PAGE_KEYS + warp_id() * WARP_KEYS;
    zero(s);
    add_scores(s, m.q, 0, keys, WARP_KEYS);
    if (a.cap > 0 || a.heads.bias)
        change_scores(s, m, a, at);
    if (at + WARP_KEYS > t.all_see || a.heads.window)
        hide_scores(s, m, a, at);
    UNROLL
    for (int i = 0; i < 2 * M; i++) {
        const float *first = &s[i / 2][0][i % 2 * 2], *second = &s[i / 2][1][i % 2 * 2];
        float top = quad_max(fmaxf(fmaxf(first[0], first[1]), fmaxf(second[0], second[1])));
        if (lane_id() % 4 == 0)
            m.most[8 * i + lane_id() / 4][warp_id()] = top;
    }
}

/* Turns scores into weights in shared memory, relative to the page's maximum over all four warps. */
template <class S, int M>
__device__ inline void weigh_keys(float (&most)[M][2], paged_memory<S> &m, const float (&s)[M][WARP_KEYS / 8][4],
                                  float scale, bool exact)
{
    int lane = afresh(lane_id()), column = warp_id() * WARP_KEYS + lane % 4 * 2;
    UNROLL
    for (int i = 0; i < 2 * M; i++) {
        int row = 8 * i + lane / 4;
        /* The page's maximum is that of the four warps, which each scored a quarter of the keys. */
        const float2 *tops = (const float2 *)m.most[row];
        float top = scale * fmaxf(fmaxf(tops[0].x, tops[0].y), fmaxf(tops[1].x, tops[1].y));
        float base = top > -INFINITY ? top : 0.0f; /* a row may see no key of the page */
        most[i / 2][i % 2] = top;
        UNROLL
        for (int n = 0; n < WARP_KEYS / 8; n++) {
            const float *x = &s[i / 2][n][i % 2 * 2];
            float low = exp2_fast(fmaf(scale, x[0], -base)), high = exp2_fast(fmaf(scale, x[1], -base));
            unsigned pair = bf16_pair(low, high);
            store_pair(&m.weight[0][row][column + 8 * n], pair);
            if (exact)
                store_pair(&m.weight[1][row][column + 8 * n],
                           bf16_pair(low - f32_bits(pair << 16), high - f32_bits(pair & 0xffff0000u)));
        }
    }
}

/* Sums up the page's values by weight in the warp's columns.  The sum of the weights is a product with ones, and thus
 * the sum of the weights as they were multiplied, after rounding. */
template <class S, int M>
__device__ inline void sum_values(struct paged_sums<S, M> &x, const paged_memory<S> &m, bool exact)
{
    const unsigned ones[2] = { 0x3f803f80u, 0x3f803f80u };
    zero(x.out);
    UNROLL
    for (int i = 0; i < 4 * M; i++)
        x.sum[i / 4][i % 4] = 0;
    ROLLED
    for (int pass = 0; pass < 1 + exact; pass++) {
        UNROLL
        for (int k = 0; k < PAGE_KEYS / 16; k++) {
            unsigned left[M][4];
            take_left(left, m.weight[pass], 0, 16 * k);
            add_times_left<S::COLUMNS>(x.out, left, m.v, 16 * k, warp_id() * S::COLUMNS);
            UNROLL
            for (int i = 0; i < M; i++)
                mma_bf16(x.sum[i], left[i], ones);
        }
    }
}

template <class S, int M>
__device__ inline void sums_start(struct paged_sums<S, M> &x)
{
    zero(x.out);
    UNROLL
    for (int i = 0; i < 2 * M; i++) {
        x.sum[i / 2][i % 2 * 2] = 0;
        x.most[i / 2][i % 2] = -INFINITY;
    }
}

/* Merges the next page into the pages before. */
template <class S, int M>
__device__ inline void sums_merge(struct paged_sums<S, M> &x, const struct paged_sums<S, M> &next)
{
    UNROLL
    for (int i = 0; i < 2 * M; i++) {
        int m = i / 2, at = i % 2 * 2;
        float old, now;
        merge_factors(x.most[m][i % 2], next.most[m][i % 2], old, now);
        x.sum[m][at] = merged(x.sum[m][at], old, next.sum[m][at], now);
        UNROLL
        for (int j = 0; j < S::COLUMNS / 4; j++) {
            float &value = x.out[m][j / 2][at + j % 2];
            value = merged(value, old, next.out[m][j / 2][at + j % 2], now);
        }
    }
}

/* Stores the first `left` of two numbers; `even`: pairs are aligned to 8 bytes. */
__device__ inline void store_two(float *x, float low, float high, int left, bool even)
{
    if (even && left > 1)
        *(float2 *)x = float2{ low, high };
    else
        put_two(x, low, high, left);
}

/* Stores the partial results that end with a page, of the rows that have one and see a key of it. */
template <class S, int M>
__device__ inline void store_parts(const paged_args<bf16> &a, const paged_memory<S> &m,
                                   const struct paged_sums<S, M> &x, int page)
{
    if (!S::PARTS)
        return;
    int dim = a.heads.dim, lane = afresh(lane_id());
    UNROLL
    for (int i = 0; i < 2 * M; i++) {
        const struct paged_row row = m.row[8 * i + lane / 4];
        if (row.part == WHOLE || row.sees <= page * PAGE_KEYS ||
            causal_first(a.heads, row.sees) >= (page + 1) * PAGE_KEYS)
            continue;
        int64_t to = (int64_t)(row.part + page) * a.heads.heads + row.head;
        UNROLL
        for (int n = 0; n < S::COLUMNS / 8; n++) {
            int d = warp_id() * S::COLUMNS + 8 * n + lane % 4 * 2;
            const float *value = &x.out[i / 2][n][i % 2 * 2];
            store_two(a.values + to * dim + d, value[0], value[1], dim - d, dim % 2 == 0);
        }
        if (thread_id() < WARP && lane % 4 == 0)
            store_two(a.norms + 2 * to, x.most[i / 2][i % 2], x.sum[i / 2][i % 2 * 2], 2, true);
    }
}

/* Stores y of the rows that have no partial results. */
template <class S, int M>
__device__ inline void paged_finish(const paged_args<bf16> &a, const paged_memory<S> &m,
                                    const struct paged_sums<S, M> &x)
{
    int dim = a.heads.dim, lane = afresh(lane_id());
    UNROLL
    for (int i = 0; i < 2 * M; i++) {
        const struct paged_row row = m.row[8 * i + lane / 4];
        if (row.part != WHOLE || row.sees == 0)
            continue;
        bf16 *y = a.y + ((int64_t)row.query * a.heads.heads + row.head) * dim;
        /* The sum of all weights divides once at the end. */
        float factor = 1.0f / x.sum[i / 2][i % 2 * 2];
        UNROLL
        for (int n = 0; n < S::COLUMNS / 8; n++) {
            int d = warp_id() * S::COLUMNS + 8 * n + lane % 4 * 2;
            const float *value = &x.out[i / 2][n][i % 2 * 2];
            put_pair(y + d, finished(value[0], factor), finished(value[1], factor), dim - d, dim % 2 == 0, false);
        }
    }
}

/*
 * Attends to all pages of a block.  The copies of the first page's keys and values are in flight.
 *
 * Keys and values have one buffer each.  A warp copies the next keys as soon as it has scored the present ones.  It
 * copies the next values as soon as it has summed up the present ones.  Keys thus arrive during the weights and their
 * product, values during the next scores.  Copies alternate between a group of keys and a group of values, so
 * copy_wait<1> always waits for the older of the two.
 */
template <class S, int M>
__device__ inline void attend_pages(const paged_args<bf16> &a, paged_memory<S> &m, const struct paged_task &t)
{
    struct paged_sums<S, M> all;
    sums_start(all);
    copy_wait<2>();  /* the first group has q; keys and values are behind it */
    __syncthreads(); /* all threads have the list of rows and all rows of q */
    for (int page = t.page; page < t.pages; page++) {
        bool more = page + 1 < t.pages, exact = page * PAGE_KEYS < EXACT_KEYS || few_in_window(a.heads);
        int places[LISTED] = { 0 };
        float s[M][WARP_KEYS / 8][4];
        struct paged_sums<S, M> now;
        if (more)
            read_places(places, a, t, page + 1);
        copy_wait<1>();
        __syncwarp(); /* all lanes have the warp's keys */
        score_keys(s, m, a, t, page);
        __syncwarp(); /* no lane reads the keys any more */
        if (more) {
            repeat_last(places, t, page + 1);
            gather_keys(m, a, t, places);
        }
        copy_commit();
        __syncthreads(); /* all threads have all maxima, and none reads the weights of the page before */
        weigh_keys(now.most, m, s, a.log2_scale, exact);
        copy_wait<1>();
        __syncthreads(); /* all threads have all weights, and each warp has its values */
        sum_values(now, m, exact);
        __syncwarp(); /* no lane reads the values any more */
        if (more)
            gather_values(m, a, t, places);
        copy_commit();
        /* A page behind the first unit has a partial result of its own. */
        if (t.unit.page > 0)
            store_parts(a, m, now, page);
        else
            sums_merge(all, now);
    }
    if (t.unit.page > 0)
        return;
    paged_finish(a, m, all);
    store_parts(a, m, all, t.unit.pages - 1);
}

/* Returns the number of rows of partial results that the block has stored for the i-th query of its unit. */
__device__ inline int stored_rows(const paged_args<bf16> &a, const struct paged_task &t, const struct paged_query &q,
                                  int i)
{
    /* The query's heads may be spread over two blocks. */
    int each = a.heads.each, first = i * each > t.first ? i * each : t.first;
    int last = (i + 1) * each < t.last ? (i + 1) * each : t.last;
    int page = t.unit.page > q.first_page ? t.unit.page : q.first_page, end = t.unit.page + t.unit.pages;
    end = end < q.pages ? end : q.pages;
    int results = t.unit.page == 0 ? q.first_page < t.unit.pages : end > page ? end - page : 0;
    return q.begin < q.end ? results * (last - first) : 0;
}

/*
 * Merges the partial results of those queries of the block whose last result came from this block.
 *
 * The counter of a query and group is the number of rows of results that have arrived.  The block that completes it
 * sees all results, because every block passes a fence between its stores and its count.
 */
template <class S>
__device__ inline void merge_queries(const paged_args<bf16> &a, paged_memory<S> &m)
{
    const struct paged_task t = m.task;
    int each = a.heads.each, from = causal_query(a.heads, t.first);
    int n = causal_query(a.heads, t.last - 1) + 1 - from;
    __threadfence();
    __syncthreads(); /* all threads of the block have stored their results and passed the fence */
    for (int i = thread_id(); i < n; i += MMA_THREADS) {
        const struct paged_query q = paged_query_of(a, t.unit.first + from + i);
        int *arrived = a.arrived + (int64_t)(t.unit.first + from + i) * a.heads.groups + t.group;
        int rows = stored_rows(a, t, q, from + i), all = (q.end - q.first) * each;
        m.complete[i] = rows > 0 && atomicAdd(arrived, rows) + rows == all;
        if (m.complete[i])
            *arrived = 0;
    }
    __syncthreads(); /* all queries of the block have been counted */
    __threadfence();
    for (int i = warp_id(); i < n * each; i += MMA_WARPS) {
        int query = causal_query(a.heads, i);
        if (m.complete[query])
            merge_row<S::D / WARP, S::D <= 128 ? 8 : 4>(a, t.unit.first + from + query,
                                                        t.group * each + i - query * each);
    }
}

/* Stores zeros for queries that see nothing. */
__device__ inline void clear_padding(const paged_args<bf16> &a)
{
    int cols = a.heads.heads * a.heads.dim;
    for (int64_t t = block_id(); t < a.queries; t += a.blocks)
        for (int d = thread_id(); d < cols && a.seen[t] == 0; d += MMA_THREADS)
            a.y[t * cols + d] = bf16(0.0f);
}

/*
 * The same for bf16 on tensor cores.
 *
 * Grid     one block per unit, group and 16 M rows of its queries and the group's heads.
 * Memory   q once into shared memory; k and v once per block.  A warp scores a quarter of a page's keys and sums up a
 *          quarter of the columns of its values, which it copies itself.  Maxima and weights pass through shared
 *          memory. A warp copies the next page's keys once it has scored those before, and then the values.
 * Numbers  products of bf16, sums in f32.  Weights are rounded to bf16, or to two bf16 each in the first EXACT_KEYS,
 *          and their sum is that of the rounded weights.  Pages are merged in order.  A row's bits depend on its own
 *          keys alone: other rows' keys have the weight 0.
 * Merge    The block that stores the last partial result of a query merges all of them in order.
 */
template <class S>
__global__ void __launch_bounds__(MMA_THREADS, S::BLOCKS) paged_attention_mma_kernel(paged_args<bf16> a)
{
    DYNAMIC_SHARED(paged_memory<S>, m);
    struct paged_task t;
    struct packed_span span = {};
    dependents_launch();
    dependency_wait();
    int places[LISTED];
    if (a.padded)
        clear_padding(a);
    if (!paged_task_of<S>(t, a))
        return;
    read_places(places, a, t, t.page); /* this load overlaps with the next ones */
    span.q_from = t.unit.first;
    copy_rows(m->q, a.heads.q, a.heads, span, t.group, t.first, S::ROWS, t.last);
    copy_commit();
    if (!paged_keys_of(t, a)) {
        copy_wait<0>();
        return;
    }
    if (t.page > t.unit.page)
        read_places(places, a, t, t.page);
    repeat_last(places, t, t.page);
    gather_keys(*m, a, t, places);
    copy_commit();
    gather_values(*m, a, t, places);
    copy_commit();
    list_rows(*m, a, t);
    /* Blocks with few rows take the shorter code for 16 rows.  It computes the same bits for a row. */
    if (S::M > 1 && t.last - t.first > MMA_ROWS)
        attend_pages<S, S::M>(a, *m, t);
    else
        attend_pages<S, 1>(a, *m, t);
    if (S::PARTS && a.arrived)
        merge_queries(a, *m);
}

/* Launches a block for each unit, group and tile of rows. */
template <class S>
static void launch_units(struct ctx *c, paged_args<bf16> a, const struct paged *p)
{
    /* The grid has room for the unit with most queries; blocks without rows return at once. */
    a.tiles = (int)((p->max_queries * a.heads.each + S::ROWS - 1) / S::ROWS);
    a.blocks = p->n_units * a.heads.groups * a.tiles;
    LAUNCH_EARLY(c, paged_attention_mma_kernel<S>, blocks_for(a.blocks, 1), MMA_THREADS, sizeof(paged_memory<S>), a);
}

/* Chooses the rows of a block.  Blocks of more than 32 rows serve launches without partial results, as when prompts are
 * read. */
template <int D, int MOST>
static void launch_shape(struct ctx *c, const paged_args<bf16> &a, const struct paged *p)
{
    int64_t rows = p->max_queries * a.heads.each;
    if (rows <= MMA_ROWS)
        launch_units<paged_shape<D, 1>>(c, a, p);
    else if (p->n_parts > 0 || rows <= 2 * MMA_ROWS)
        launch_units<paged_shape<D, 2>>(c, a, p);
    else
        launch_units<paged_shape<D, MOST>>(c, a, p);
}

static void attend_units(struct ctx *c, const paged_args<bf16> &a, const struct paged *p)
{
    if (a.heads.dim <= 64)
        launch_shape<64, 4>(c, a, p);
    else if (a.heads.dim <= 128)
        launch_shape<128, 4>(c, a, p);
    else
        launch_shape<256, 2>(c, a, p);
}

static void attend_units(struct ctx *c, paged_args<float> a, const struct paged *p)
{
    a.tiles = (int)((p->max_queries * a.heads.heads + ROW_WARPS - 1) / ROW_WARPS);
    LAUNCH(paged_attention_kernel<float>, blocks_for(p->n_units * a.tiles, 1), ROW_WARPS * WARP, 0, cuda_stream(c), a);
}

/* Whether the launch over units also merges partial results and clears padding. */
static bool merges(const paged_args<bf16> &a, const struct paged *p)
{
    return p->n_units > 0 && p->max_queries > 0 && (int64_t)a.queries * a.heads.groups <= COUNTERS;
}

static bool merges(const paged_args<float> &, const struct paged *)
{
    return false;
}

template <typename T>
static void paged_attention(struct ctx *c, paged_args<T> a, const struct paged *p)
{
    bool one_launch = merges(a, p);
    a.table = data_of<int>(p->table), a.seen = data_of<int>(p->seen), a.parts = data_of<int>(p->parts);
    a.units = (const struct paged_unit *)data_of<int>(p->units), a.keys = p->table->shape[1];
    a.log2_scale = LOG2_E * a.heads.scale, a.unscaled = 1.0f / a.heads.scale, a.cap = a.heads.cap * a.unscaled;
    a.cap_factor = a.cap > 0 ? 2.0f * LOG2_E / a.cap : 0.0f;
    a.padded = one_launch && !p->whole;
    a.arrived = one_launch && p->n_parts > 0 ? cuda_counters(c) : nullptr;
    if (p->n_units > 0 && p->max_queries > 0)
        attend_units(c, a, p);
    if (!one_launch && !p->whole)
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
                 a.norms = data_of<float>(partial); a.values = a.norms + 2 * p->n_parts * form->heads;
                 a.queries = (int)q->shape[0]; paged_attention(c, a, p));
}
