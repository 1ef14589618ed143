/*
 * causal_attention_tall.cu - causal attention in bf16 for many rows of a group, as in training.
 *
 * The tensor cores are the bound here.  The fast path contains only products, exponentials and copies: tiles that all
 * rows of a warp see completely need no mask, no cap and no bias.
 */
#include "kernels/cuda/causal_mma.cuh"

constexpr int TALL_KEYS = 64, TALL_ROWS = MMA_WARPS * 32;

/*
 * The output, and the order of the blocks.  `together` pairs of a sequence and a group run side by side: so many that
 * their keys and values stay in the L2 cache.
 */
struct tall_out {
    bf16 *y;
    float *lse;
    int pairs, together;
};

/* The work of a block: rows from `first` on of a group, and the tiles of keys [from, to) that they see. */
struct tall_task {
    struct packed_span s;
    int group, first, rows, end, from, to; /* end: queries up to that of the last row */
};

/* Finds the work of this block; returns false if there is none. */
__device__ inline bool tall_task_of(struct tall_task &t, const tall_out &o, const causal_args<bf16> &a)
{
    int section = (int)block_id() / (o.together * a.tiles), within = (int)block_id() % (o.together * a.tiles);
    int side = o.pairs - section * o.together < o.together ? o.pairs - section * o.together : o.together;
    int pair = section * o.together + within % side;
    t.first =
        (a.tiles - 1 - within / side) * TALL_ROWS; /* tiles with most keys first, so that no long block begins late */
    t.group = pair % a.groups;
    t.s = packed_span_of(a, pair / a.groups);
    t.rows = t.s.n_queries * a.each;
    if (t.first >= t.rows)
        return false;
    t.end = causal_query(a, t.first + TALL_ROWS - 1) + 1;
    t.end = t.end < t.s.n_queries ? t.end : t.s.n_queries;
    t.from = first_tile<TALL_KEYS>(a, t.s, causal_query(a, t.first));
    t.to = key_tiles<TALL_KEYS>(t.s, t.end);
    return true;
}

/* The keys that the warp's 32 rows from `first` on see: positions below `all` are seen by all rows, those below `some`
 * by one row at least. */
struct tall_sight {
    int all, some;
    bool plain; /* scores need only a scale, and weights are rounded once */
};

/* Whether 16 rows from r on see so few keys that their weights keep 16 bits. */
__device__ inline bool tall_exact(const causal_args<bf16> &a, const struct tall_task &t, int r)
{
    constexpr int FEW_KEYS = 128;
    return t.s.n_prefix + t.s.ahead + causal_query(a, r) < FEW_KEYS || few_in_window(a);
}

__device__ inline struct tall_sight tall_sight_of(const causal_args<bf16> &a, const struct tall_task &t, int first)
{
    struct tall_sight s;
    s.all = t.s.ahead + causal_query(a, first) + 1;
    s.some = first < t.rows ? t.s.ahead + causal_query(a, first + 31) + 1 : -t.s.n_prefix;
    s.plain = !tall_exact(a, t, first) && !a.bias && a.cap == 0;
    return s;
}

/*
 * Shared memory of a block: its tiles.  The block's task and the sight of its warps are here too, because the registers
 * are full.
 */
template <int D>
struct tall_tiles {
    alignas(16) bf16 q[TALL_ROWS][D], k[TALL_KEYS][D], v[TALL_KEYS][D];
    struct tall_task task;
    struct tall_sight sight[MMA_WARPS];
};

/* Whether all rows of the warp see the whole tile, and its scores are plain. */
__device__ inline bool sees_plainly(const causal_args<bf16> &a, const struct tall_sight &s, const struct key_tile &keys)
{
    return s.plain && keys.n == TALL_KEYS && keys.at + TALL_KEYS <= s.all &&
           (!a.window || keys.at >= s.some - a.window);
}

/* Starts copying a tile of k or v. */
template <int D>
__device__ inline void copy_tall(bf16 (&tile)[TALL_KEYS][D], const bf16 *x, const causal_args<bf16> &a,
                                 const struct tall_task &t, int i)
{
    struct key_tile keys = key_tile_of<TALL_KEYS>(t.s, i, t.end);
    int width = a.groups * a.dim;
    copy_swizzled<MMA_THREADS>(tile, x + keys.row * width + t.group * a.dim, a.dim, keys.n,
                               [=](int row) { return (int64_t)row * width; });
}

/*
 * out += weights v over the tile's first n keys, with weights rounded to bf16.  FULL: all keys, one pass.
 *
 * A second pass adds the rounding errors for the 16 rows where `exact` says so (see add_weighted in causal_mma.cuh).
 */
template <int D, bool FULL>
__device__ inline void add_values(float (&out)[2][D / 8][4], const float (&s)[2][TALL_KEYS / 8][4],
                                  const bf16 (&v)[TALL_KEYS][D], int n, const bool (&exact)[2])
{
    int lane = afresh(lane_id());
    for (int pass = 0; pass < (FULL ? 1 : 1 + (exact[0] || exact[1])); pass++) {
        UNROLL
        for (int k = 0; k < TALL_KEYS / 16; k++) {
            if (!FULL && 16 * k >= n)
                continue;
            unsigned left[2][4];
            UNROLL
            for (int i = 0; i < 8; i++) {
                const float *x = &s[i / 4][2 * k + i % 4 / 2][i % 2 * 2];
                unsigned pair = bf16_pair(x[0], x[1]);
                if (!FULL && pass)
                    pair =
                        exact[i / 4] ? bf16_pair(x[0] - f32_bits(pair << 16), x[1] - f32_bits(pair & 0xffff0000u)) : 0u;
                left[i / 4][i % 4] = pair;
            }
            add_rows_product(out, left, v, 16 * k, lane);
        }
    }
}

/* Applies cap, biases and mask to the scores of a tile that is not plain. */
__device__ inline void tall_scores(float (&s)[2][TALL_KEYS / 8][4], const causal_args<bf16> &a,
                                   const struct tall_task &t, const struct key_tile &keys, int first)
{
    struct warp_rows<2> w;
    int down = afresh(lane_id()) / 4;
    UNROLL
    for (int i = 0; i < 4; i++) {
        int r = first + 8 * i + down;
        w.row[i / 2][i % 2] = r < t.rows ? (int)causal_row(a, t.s, t.group, r) : -1;
        w.sees[i / 2][i % 2] = t.s.ahead + causal_query(a, r) + 1;
    }
    if (a.cap > 0)
        cap_scores<2, TALL_KEYS>(s, a);
    if (a.bias)
        add_bias<2, TALL_KEYS>(s, a, w, keys.at);
    hide_keys<2, TALL_KEYS>(s, a, w, keys);
}

/*
 * Stores y and lse of the warp's rows.  y goes through the warp's rows of q in shared memory, so that it is written 16
 * bytes at a time.
 */
template <int D>
__device__ inline void tall_finish(const tall_out &o, const causal_args<bf16> &a, const struct tall_task &t,
                                   bf16 (&tile)[TALL_ROWS][D], const float (&out)[2][D / 8][4],
                                   const float (&base)[2][2], const float (&sum)[2][2])
{
    constexpr int PIECES = D / PACK;
    int mine = warp_id() * 32, first = t.first + mine, lane = afresh(lane_id());
    __syncwarp(); /* no lane reads q any more */
    UNROLL
    for (int i = 0; i < 4; i++) {
        int down = mine + 8 * i + lane / 4, r = first + 8 * i + lane / 4;
        float total = quad_sum(sum[i / 2][i % 2]), factor = 1.0f / total;
        if (r < t.rows && lane % 4 == 0)
            o.lse[causal_row(a, t.s, t.group, r)] = LN_2 * (base[i / 2][i % 2] + log2f(total));
        UNROLL
        for (int n = 0; n < D / 8; n++)
            store_pair(&tile[down][swizzled(down, n) + lane % 4 * 2],
                       bf16_pair(factor * out[i / 2][n][i % 2 * 2], factor * out[i / 2][n][i % 2 * 2 + 1]));
    }
    __syncwarp();
    for (int i = lane_id(); i < 32 * PIECES; i += WARP) {
        int down = i / PIECES, piece = i % PIECES, left = a.dim - piece * PACK;
        if (first + down < t.rows && left > 0)
            store_piece(o.y + causal_row(a, t.s, t.group, first + down) * a.dim + piece * PACK,
                        &tile[mine + down][swizzled(mine + down, piece)], left, a.dim);
    }
}

/*
 * s_ij = cap(scale q_i . k_j) + bias;  y_i = sum_j softmax_j(s_ij) v_j;  lse_i = log sum_j exp(s_ij), over the keys
 * that i sees
 *
 * Grid     one block per sequence, group and 128 rows, a warp 32 of them; the longest first.
 * Memory   q once into shared memory; 64 keys at a time: values arrive during the scores, the next keys during the
 *          weights and their product.  Tiles that no row of a warp sees cost it nothing.
 * Numbers  products of bf16, sums in f32; weights rounded to bf16, or, for rows that see few keys, as two bf16 each. A
 *          row's bits depend on its own sequence alone.
 * Tuned    for the shared memory and registers of an A100: two blocks a multiprocessor.
 */
template <int D>
__global__ void __launch_bounds__(MMA_THREADS, 2) causal_tall_kernel(tall_out o, causal_args<bf16> a)
{
    DYNAMIC_SHARED(tall_tiles<D>, tiles);
    struct tall_task start;
    if (!tall_task_of(start, o, a))
        return;
    copy_swizzled<MMA_THREADS>(tiles->q, a.q, a.dim, start.rows - start.first,
                               [=](int r) { return causal_row(a, start.s, start.group, start.first + r) * a.dim; });
    copy_tall(tiles->k, a.k, a, start, start.from);
    copy_commit();
    int mine = warp_id() * 32;
    if (thread_id() == 0)
        tiles->task = start;
    if (lane_id() == 0)
        tiles->sight[warp_id()] = tall_sight_of(a, start, start.first + mine);
    __syncthreads(); /* all threads have the task */
    const struct tall_task &t = tiles->task;
    const struct tall_sight &sight = tiles->sight[warp_id()];
    float out[2][D / 8][4], base[2][2], sum[2][2];
    zero(out);
    lazy_start(base, sum);

    for (int i = t.from; i < t.to; i++) {
        float s[2][TALL_KEYS / 8][4];
        copy_wait<0>();
        __syncthreads(); /* all threads have the keys, and none reads the values before */
        copy_tall(tiles->v, a.v, a, t, i);
        copy_commit();
        struct key_tile keys = key_tile_of<TALL_KEYS>(t.s, i, t.end);
        zero(s);
        if (keys.at < sight.some)
            add_product<false, true, D / 16, true>(s, tiles->q, { mine, 0 }, tiles->k, { 0, 0 }, 0);
        copy_wait<0>();
        __syncthreads(); /* all threads have the values, and none reads the keys any more */
        if (i + 1 < t.to)
            copy_tall(tiles->k, a.k, a, t, i + 1);
        copy_commit();
        if (sees_plainly(a, sight, keys)) {
            lazy_softmax<true>(s, out, base, sum, LOG2_E * a.scale);
            add_values<D, true>(out, s, tiles->v, TALL_KEYS, { false, false });
        } else if (keys.at < sight.some) {
            int first = t.first + mine;
            tall_scores(s, a, t, keys, first);
            lazy_softmax<false>(s, out, base, sum, LOG2_E * a.scale);
            const bool exact[2] = { tall_exact(a, t, first), tall_exact(a, t, first + 16) };
            add_values<D, false>(out, s, tiles->v, keys.n, exact);
        }
    }
    if (t.first + mine < t.rows)
        tall_finish<D>(o, a, t, tiles->q, out, base, sum);
}

template <int D>
static void tall_launch(struct ctx *c, tall_out o, causal_args<bf16> a, const struct causal *s)
{
    constexpr int64_t CACHED = 1 << 24; /* bytes of keys and values for blocks side by side */
    int64_t pairs = s->qs.n * a.groups, together = CACHED / (4 * s->max_keys * a.dim);
    together = together < 1 ? 1 : together < pairs ? together : pairs;
    o.pairs = (int)pairs, o.together = (int)together;
    a.tiles = (int)((s->qs.max_len * a.each + TALL_ROWS - 1) / TALL_ROWS);
    LAUNCH_WIDE(causal_tall_kernel<D>, blocks_for(pairs * a.tiles, 1), MMA_THREADS, sizeof(tall_tiles<D>),
                cuda_stream(c), o, a);
}

void causal_attention_tall(struct ctx *c, bf16 *y, float *lse, const causal_args<bf16> &a, const struct causal *s)
{
    tall_out o = {};
    o.y = y, o.lse = lse;
    if (a.dim <= 64)
        tall_launch<64>(c, o, a, s);
    else
        tall_launch<128>(c, o, a, s);
}
