#include "kernels/cuda/causal_mma.cuh"

/*
 * y_i = sum_j softmax_j(scale q_i . k_j) v_j;  lse_i = log sum_j exp(scale q_i . k_j), over the keys that i sees
 *
 * Grid     one warp per head and query, the rows of a sequence in one run of blocks.
 * Memory   k and v once per row, mostly from cache; a lane reads a key of its own, then all lanes one value.
 * Numbers  running maximum and sum in f32 (online softmax).
 * Serves   f32 and long heads.
 */
template <typename T>
__global__ void __launch_bounds__(ROW_WARPS *WARP)
    causal_attention_kernel(T *__restrict__ y, float *__restrict__ lse, causal_args<T> a)
{
    __shared__ float queries[ROW_WARPS][ROW_PARTS * WARP], weights[ROW_WARPS][WARP];
    struct packed_span s = packed_span_of(a, block_id() / a.tiles);
    int64_t number = block_id() % a.tiles * ROW_WARPS + warp_id(), t = number / a.heads;
    int head = (int)(number % a.heads), group = head / a.each;
    if (t >= s.n_queries)
        return; /* the whole warp */
    int64_t row = (s.q_from + t) * a.heads + head, keys = s.n_prefix + s.ahead + t + 1;
    float *q = queries[warp_id()], *weight = weights[warp_id()];
    float out[ROW_PARTS] = { 0 }, most = -INFINITY, sum = 0;
    load_row(q, a.q + row * a.dim, a.dim);
    __syncwarp();

    for (int64_t j0 = 0; j0 < keys; j0 += WARP) {
        int64_t j = j0 + lane_id();
        float score = -INFINITY;
        if (j < keys)
            score = a.scale * dot_row(q, a.k + (causal_key(s, j) * a.groups + group) * a.dim, a.dim);
        float top = fmaxf(most, warp_max(score)), shrink = expf(most - top), p = expf(score - top);
        sum = sum * shrink + warp_sum(p);
        most = top;
        weight[lane_id()] = p;
        __syncwarp();
        UNROLL
        for (int i = 0; i < ROW_PARTS; i++)
            out[i] *= shrink;
        for (int i = 0; i < WARP && j0 + i < keys; i++)
            add_row(out, weight[i], a.v + (causal_key(s, j0 + i) * a.groups + group) * a.dim, a.dim);
        __syncwarp(); /* the weights have been used */
    }
    put_row(y + row * a.dim, out, 1.0f / sum, a.dim, false);
    if (lane_id() == 0)
        lse[row] = most + logf(sum);
}

/* Where the forward writes: y and lse, or, when the keys are cut into parts, each part's own y and lse one after the
 * other. */
struct causal_out {
    bf16 *y;
    float *lse, *part_y, *part_lse;
    int64_t rows; /* of all sequences and heads */
};

/*
 * Scores of one tile become weights: the running maximum (in powers of two) and this lane's part of the sum go on, what
 * was summed up so far shrinks to the new maximum.  seen: keys of the tile that the lane's two rows see.
 */
template <int D, int KEYS>
__device__ inline void causal_softmax(float (&s)[KEYS / 8][4], float (&out)[D / 8][4], float (&most)[2],
                                      float (&sum)[2], const int (&seen)[2], float scale)
{
    UNROLL
    for (int half = 0; half < 2; half++) {
        float top = -INFINITY;
        UNROLL
        for (int n = 0; n < KEYS / 8; n++)
            for (int m = 0; m < 2; m++) {
                float &x = s[n][2 * half + m];
                x = 8 * n + lane_id() % 4 * 2 + m < seen[half] ? x : -INFINITY;
                top = fmaxf(top, x);
            }
        top = fmaxf(most[half], scale * quad_max(top));
        float base = top > -INFINITY ? top : 0.0f; /* a part of the keys may begin with ones that a row does not see */
        float shrink = exp2f(most[half] - base);
        most[half] = top;
        sum[half] *= shrink;
        UNROLL
        for (int n = 0; n < D / 8; n++) {
            out[n][2 * half] *= shrink;
            out[n][2 * half + 1] *= shrink;
        }
        UNROLL
        for (int n = 0; n < KEYS / 8; n++)
            for (int m = 0; m < 2; m++) {
                float &x = s[n][2 * half + m];
                x = exp2f(scale * x - base);
                sum[half] += x;
            }
    }
}

/* Sums become y and lse, of the whole or of a part. */
template <int D>
__device__ inline void causal_finish(const causal_out &o, const causal_args<bf16> &a, const int64_t (&row)[2], int part,
                                     const float (&out)[D / 8][4], const float (&most)[2], const float (&sum)[2])
{
    float factor[2];
    UNROLL
    for (int half = 0; half < 2; half++) {
        float total = quad_sum(sum[half]);
        factor[half] = total > 0 ? 1.0f / total : 0.0f;
        if (row[half] >= 0 && lane_id() % 4 == 0)
            (a.splits > 1 ? o.part_lse + part * o.rows : o.lse)[row[half]] = LN_2 * (most[half] + log2f(total));
    }
    if (a.splits > 1)
        put_rows<D>(o.part_y + part * o.rows * a.dim, row, a.dim, out, factor, false);
    else
        put_rows<D>(o.y, row, a.dim, out, factor, false);
}

/*
 * The same for bf16 on tensor cores.
 *
 * Grid     one block per sequence, group, tile of 16 rows a warp and part of the keys; as few warps as the longest
 *          sequence needs, the tiles with most keys first.
 * Memory   q once into registers; k and v once per tile of rows, the next k arriving while v is used.
 * Numbers  products of bf16, sums in f32; weights rounded to bf16, or, for the last two tiles, as two bf16 each.
 * Laid out for the shared memory and registers of an A100.
 */
template <int D>
__global__ void __launch_bounds__(MMA_THREADS) causal_attention_mma_kernel(causal_out o, causal_args<bf16> a)
{
    constexpr int KEYS = 64;
    alignas(16) __shared__ bf16 k[KEYS][D + TILE_PAD];
    alignas(16) __shared__ bf16 v[KEYS][D + TILE_PAD];
    int part = (int)(block_id() % a.splits), height = block_threads() / WARP * MMA_ROWS;
    int64_t task = block_id() / a.splits, pair = task / a.tiles;
    int first = (int)(a.tiles - 1 - task % a.tiles) * height, group = (int)(pair % a.groups);
    struct packed_span s = packed_span_of(a, pair / a.groups);
    int rows = (int)s.n_queries * a.each;
    if (first >= rows)
        return;
    int end = (first + height - 1) / a.each + 1;
    end = end < s.n_queries ? end : (int)s.n_queries;
    int tiles = key_tiles<KEYS>(s, end), per = (tiles + a.splits - 1) / a.splits;
    int from = part * per, to = from + per < tiles ? from + per : tiles;
    int64_t row[2];
    unsigned q[D / 16][4];
    float out[D / 8][4] = { { 0 } }, most[2] = { -INFINITY, -INFINITY }, sum[2] = { 0, 0 };
    first += warp_id() * MMA_ROWS; /* from rows on: the warp only helps to copy */
    lane_rows(row, a, s, group, first, rows);
    load_rows_left<D>(q, a.q, row, a.dim);

    if (from < to)
        copy_keys(k, a.k, a, key_tile_of<KEYS>(s, from, end), group);
    copy_commit();
    for (int i = from; i < to; i++) {
        struct key_tile t = key_tile_of<KEYS>(s, i, end);
        copy_wait<0>();
        __syncthreads(); /* k is there, the last v has been used */
        copy_keys(v, a.v, a, t, group);
        copy_commit();
        float weights[KEYS / 8][4];
        if (first < rows)
            times_transposed<D, KEYS>(weights, q, k, t.n);
        __syncthreads(); /* k has been used */
        if (i + 1 < to)
            copy_keys(k, a.k, a, key_tile_of<KEYS>(s, i + 1, end), group);
        copy_commit();
        if (first < rows) {
            int seen[2];
            UNROLL
            for (int half = 0; half < 2; half++) {
                int sees = (int)s.ahead + (first + lane_id() / 4 + 8 * half) / a.each + 1 - t.at;
                seen[half] = sees < t.n ? sees : t.n;
            }
            causal_softmax<D, KEYS>(weights, out, most, sum, seen, LOG2_E * a.scale);
        }
        copy_wait<1>();
        __syncthreads(); /* v is there */
        if (first < rows && i + 2 < tiles)
            add_times<D, KEYS, false>(out, weights, v, t.n);
        else if (first < rows) /* the rows that see few keys see them here */
            add_times<D, KEYS>(out, weights, v, t.n);
    }
    if (first < rows)
        causal_finish<D>(o, a, row, part, out, most, sum);
}

/*
 * lse = log sum_part exp(lse_part);  y = sum_part exp(lse_part - lse) y_part
 *
 * Grid     one warp per row.
 * Memory   every part once.
 * Numbers  f32, in the order of the parts.
 */
__global__ void __launch_bounds__(ROW_WARPS *WARP) causal_merge_kernel(causal_out o, int splits, int dim)
{
    int64_t row = grid_warp();
    if (row >= o.rows)
        return; /* the whole warp */
    float mine = lane_id() < splits ? o.part_lse[lane_id() * o.rows + row] : -INFINITY;
    float most = warp_max(mine), lse = most + logf(warp_sum(expf(mine - most))), sum[CAUSAL_MMA_DIM / WARP] = { 0 };

    for (int part = 0; part < splits; part++) {
        float w = expf(__shfl_sync(ALL_LANES, mine, part) - lse);
        UNROLL
        for (int i = 0; i < CAUSAL_MMA_DIM / WARP; i++)
            if (lane_id() + i * WARP < dim)
                sum[i] += w * o.part_y[(part * o.rows + row) * dim + lane_id() + i * WARP];
    }
    UNROLL
    for (int i = 0; i < CAUSAL_MMA_DIM / WARP; i++)
        if (lane_id() + i * WARP < dim)
            o.y[row * dim + lane_id() + i * WARP] = bf16(sum[i]);
    if (lane_id() == 0)
        o.lse[row] = lse;
}

/* Parts to cut the keys into: so many that an A100 has four blocks on each of its multiprocessors, each of a few tiles;
 * of shapes alone, and within the scratch. */
static int causal_splits(int64_t blocks, int64_t max_keys, int64_t rows, int dim)
{
    constexpr int64_t BLOCKS = 432, MIN_KEYS = 128;
    int64_t splits = BLOCKS / blocks, room = (int64_t)SCRATCH_BYTES / (rows * (dim + 1) * (int64_t)sizeof(float));
    splits = splits < max_keys / MIN_KEYS ? splits : max_keys / MIN_KEYS;
    splits = splits < room ? splits : room;
    splits = splits < WARP ? splits : WARP;
    return splits > 1 ? (int)splits : 1;
}

template <typename T>
static void causal_rows(struct ctx *c, struct tensor *y, struct tensor *lse, causal_args<T> a, const struct causal *s)
{
    a.tiles = (s->qs.max_len * a.heads + ROW_WARPS - 1) / ROW_WARPS;
    LAUNCH(causal_attention_kernel<T>, blocks_for(s->qs.n * a.tiles, 1), ROW_WARPS * WARP, 0, cuda_stream(c),
           data_of<T>(y), data_of<float>(lse), a);
}

static void causal_attention(struct ctx *c, struct tensor *y, struct tensor *lse, causal_args<float> a,
                             const struct causal *s)
{
    causal_rows(c, y, lse, a, s);
}

static void causal_attention(struct ctx *c, struct tensor *y, struct tensor *lse, causal_args<bf16> a,
                             const struct causal *s)
{
    if (a.dim > CAUSAL_MMA_DIM) {
        causal_rows(c, y, lse, a, s);
        return;
    }
    int warps = mma_warps(s->qs.max_len * a.each);
    causal_out o = { data_of<bf16>(y), data_of<float>(lse), nullptr, nullptr, tensor_size(lse) };
    a.tiles = (s->qs.max_len * a.each + warps * MMA_ROWS - 1) / (warps * MMA_ROWS);
    a.splits = causal_splits(s->qs.n * a.groups * a.tiles, s->max_keys, o.rows, a.dim);
    if (a.splits > 1) {
        o.part_lse = (float *)cuda_scratch(c, (size_t)(a.splits * o.rows * (a.dim + 1)) * sizeof(float));
        o.part_y = o.part_lse + a.splits * o.rows;
    }
    CAUSAL_SWITCH(a.dim, LAUNCH(causal_attention_mma_kernel<D>, blocks_for(s->qs.n * a.groups * a.tiles * a.splits, 1),
                                (unsigned)(warps * WARP), 0, cuda_stream(c), o, a));
    if (a.splits > 1)
        LAUNCH(causal_merge_kernel, blocks_for(o.rows, ROW_WARPS), ROW_WARPS * WARP, 0, cuda_stream(c), o, a.splits,
               a.dim);
}

extern "C" void cuda_causal_attention(struct ctx *c, struct tensor *y, struct tensor *lse, const struct tensor *q,
                                      const struct tensor *k, const struct tensor *v, const struct causal *s, int heads,
                                      int groups)
{
    if (tensor_size(y) == 0 || s->qs.max_len == 0)
        return;
    DTYPE_SWITCH(q->dtype, causal_attention(c, y, lse, causal_args_of<T>(q, k, v, s, heads, groups), s));
}
