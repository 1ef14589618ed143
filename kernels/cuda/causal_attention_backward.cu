#include "kernels/cuda/causal_attention_backward.cuh"
#include "kernels/cuda/causal_rows.cuh"

/*
 * delta_i = dy_i . y_i
 *
 * Grid     one warp per row.
 * Memory   dy and y once.
 */
template <typename T>
__global__ void __launch_bounds__(ROW_WARPS *WARP, 4) causal_delta_kernel(causal_grads<T> g, int64_t rows, int dim)
{
    int64_t row = grid_warp();
    float square;
    if (row >= rows)
        return; /* the whole warp returns */
    float delta = causal_delta(&square, g.dy + row * dim, g.y + row * dim, dim);
    if (lane_id() == 0)
        g.delta[row] = delta;
}

/*
 * dq_i (+)= scale sum_j slope_ij k_j
 *
 * Grid     one warp per head and query, the rows of a sequence in one run of blocks.
 * Memory   k and v once per row, mostly from cache.
 * Numbers  f32 sums in key order.
 * Serves   the cases of causal_dkv_kernel.
 */
template <typename T>
__global__ void __launch_bounds__(ROW_WARPS *WARP, 4) causal_dq_kernel(causal_grads<T> g, causal_args<T> a)
{
    __shared__ float rows[2][ROW_WARPS][ROW_PARTS * WARP], weights[ROW_WARPS][WARP];
    struct packed_span s = packed_span_of(a, (int)block_id() / a.tiles);
    int number = (int)block_id() % a.tiles * ROW_WARPS + warp_id(), t = number / a.heads;
    int head = number % a.heads, group = head / a.each;
    if (t >= s.n_queries)
        return; /* the whole warp returns */
    int64_t row = (s.q_from + t) * a.heads + head;
    int keys = s.n_prefix + s.ahead + t + 1;
    float *q = rows[0][warp_id()], *dy = rows[1][warp_id()], *weight = weights[warp_id()], dq[ROW_PARTS] = { 0 };
    load_row(q, a.q + row * a.dim, a.dim);
    load_row(dy, g.dy + row * a.dim, a.dim);
    __syncwarp();

    /* A row that sees one key has no slope, and skips the loop. */
    for (int j0 = causal_first(a, keys); !causal_alone(a, keys - 1) && j0 < keys; j0 += WARP) {
        int j = j0 + lane_id();
        if (j < keys) {
            int64_t at = (causal_key(s, j) * a.groups + group) * a.dim;
            float score = causal_capped(a, a.scale * dot_row(q, a.k + at, a.dim));
            float p = expf(score + causal_bias(a, head, keys - 1 - j) - g.lse[row]);
            weight[lane_id()] = p * (dot_row(dy, a.v + at, a.dim) - g.delta[row]) * causal_cap_slope(a, score);
        }
        __syncwarp();
        for (int i = 0; i < WARP && j0 + i < keys; i++)
            add_row(dq, weight[i], a.k + (causal_key(s, j0 + i) * a.groups + group) * a.dim, a.dim);
        __syncwarp(); /* all lanes have read the weights, which the next round overwrites */
    }
    put_row(g.dq + row * a.dim, dq, a.scale, a.dim, g.dq_add);
}

/*
 * Adds to dk and dv of key number j the contributions of the rows from `from` on, of one sequence and group, that see
 * the key.
 *
 * The rows pass in rounds of 32.  First each lane computes the weight and the slope of one row, then all lanes together
 * add the rows.
 */
template <typename T>
__device__ inline void key_gets(float (&dk)[ROW_PARTS], float (&dv)[ROW_PARTS], const causal_grads<T> &g,
                                const causal_args<T> &a, const struct packed_span &s, int group, int from, int j,
                                const float *k, const float *v, float *p, float *ds)
{
    int end = causal_rows_until(a, s, j - s.n_prefix - s.ahead);
    for (int r0 = from; r0 < end; r0 += WARP) {
        if (r0 + lane_id() < end) {
            int64_t row = causal_row(a, s, group, r0 + lane_id());
            int last = s.n_prefix + s.ahead + (r0 + lane_id()) / a.each;
            float score = causal_capped(a, a.scale * dot_row(k, a.q + row * a.dim, a.dim));
            float dp = dot_row(v, g.dy + row * a.dim, a.dim);
            p[lane_id()] = expf(score + causal_bias(a, (int)(row % a.heads), last - j) - g.lse[row]);
            ds[lane_id()] =
                causal_alone(a, last) ? 0.0f : p[lane_id()] * (dp - g.delta[row]) * causal_cap_slope(a, score);
        }
        __syncwarp();
        for (int i = 0; i < WARP && r0 + i < end; i++) {
            int64_t row = causal_row(a, s, group, r0 + i);
            add_row(dv, p[i], g.dy + row * a.dim, a.dim);
            add_row(dk, ds[i], a.q + row * a.dim, a.dim);
        }
        __syncwarp(); /* all lanes have read the weights, which the next round overwrites */
    }
}

/*
 * dv_j (+)= sum_i p_ij dy_i;  dk_j (+)= scale sum_i slope_ij q_i, over the group's rows that see key j
 *
 * Grid     one warp per group and key, the keys of a sequence in one run of blocks.
 * Memory   q and dy twice per key, mostly from cache.
 * Numbers  scores as above, bit for bit.  f32 sums: first the own queries, each one's heads in order, then the
 *          sequences that have j in their prefix.
 * Serves   f32, and heads of more than 128 channels.
 */
template <typename T>
__global__ void __launch_bounds__(ROW_WARPS *WARP, 4) causal_dkv_kernel(causal_grads<T> g, causal_args<T> a)
{
    __shared__ float rows[2][ROW_WARPS][ROW_PARTS * WARP], weights[2][ROW_WARPS][WARP];
    int sequence = (int)block_id() / a.tiles, number = (int)block_id() % a.tiles * ROW_WARPS + warp_id();
    int j = number / a.groups, group = number % a.groups, last = g.last ? g.last[sequence] : sequence;
    struct packed_span s = packed_span_of(a, sequence);
    if (j >= s.n_keys)
        return; /* the whole warp returns */
    int64_t at = (int64_t)((s.key_from + j) * a.groups + group) * a.dim;
    float *k = rows[0][warp_id()], *v = rows[1][warp_id()], *p = weights[0][warp_id()], *ds = weights[1][warp_id()];
    float dk[ROW_PARTS] = { 0 }, dv[ROW_PARTS] = { 0 };
    load_row(k, a.k + at, a.dim);
    load_row(v, a.v + at, a.dim);
    __syncwarp();

    key_gets(dk, dv, g, a, s, group, j > s.ahead ? (j - s.ahead) * a.each : 0, s.n_prefix + j, k, v, p, ds);
    for (int other = sequence + 1; other <= last; other++)
        key_gets(dk, dv, g, a, packed_span_of(a, other), group, 0, j, k, v, p, ds);
    if (g.dk)
        put_row(g.dk + at, dk, a.scale, a.dim, g.dk_add);
    if (g.dv)
        put_row(g.dv + at, dv, 1.0f, a.dim, g.dv_add);
}

/* One launch of the gradient of the biases. */
struct causal_bias_job {
    float *tables;           /* [sequences, parts, heads, cells]: by distance; the last cell for all beyond */
    int first, parts, cells; /* the first sequence; tables for each sequence and head */
};

/*
 * table[min(position of query i - position of key j, cells - 1)] = sum p_ij (dp_ij - delta_i)
 *
 * Grid     one block per sequence, part and head; it takes every parts-th query.
 * Memory   k and v once per row, mostly from cache, as is the table.
 * Numbers  f32 products once more, whatever the type.  Each thread has a key, so no two threads add to one cell between
 *          two barriers.  Sums in the order of the queries.
 */
template <typename T>
__global__ void __launch_bounds__(ROW_WARPS *WARP, 4)
    causal_bias_kernel(struct causal_bias_job job, causal_grads<T> g, causal_args<T> a)
{
    __shared__ float q[ROW_PARTS * WARP], dy[ROW_PARTS * WARP];
    int head = (int)block_id() % a.heads, group = head / a.each, part = (int)block_id() / a.heads;
    struct packed_span s = packed_span_of(a, job.first + part / job.parts);
    float *table = job.tables + block_id() * job.cells, far = 0;
    for (int i = thread_id(); i < job.cells; i += block_threads())
        table[i] = 0;

    for (int t = part % job.parts; t < s.n_queries; t += job.parts) {
        int64_t row = (s.q_from + t) * a.heads + head;
        int last = s.n_prefix + s.ahead + t; /* the last key that the query sees */
        __syncthreads();                     /* the table is cleared, and the row before has been used */
        if (warp_id() == 0)
            load_row(q, a.q + row * a.dim, a.dim);
        if (warp_id() == 1)
            load_row(dy, g.dy + row * a.dim, a.dim);
        __syncthreads();
        int j0 = causal_alone(a, last) ? last + 1 : causal_first(a, last + 1);
        for (int j = j0 + thread_id(); j <= last; j += block_threads()) {
            int64_t at = (causal_key(s, j) * a.groups + group) * a.dim;
            float score = causal_capped(a, a.scale * dot_row(q, a.k + at, a.dim)) + causal_bias(a, head, last - j);
            float slope = expf(score - g.lse[row]) * (dot_row(dy, a.v + at, a.dim) - g.delta[row]);
            /* Distances beyond the table share its last cell, so each thread sums them by itself. */
            if (last - j < job.cells - 1)
                table[last - j] += slope;
            else
                far += slope;
        }
    }
    far = block_sum(far);
    if (thread_id() == 0)
        table[job.cells - 1] = far;
}

/*
 * dbias[h, reach - d] (+)= sum of the cells d of head h's tables;  0 for keys behind a query, which it never sees
 *
 * Grid     one thread per number of dbias.
 * Memory   the tables once.
 * Numbers  f32 sums in the order of sequences and parts.
 */
__global__ void __launch_bounds__(ROW_WARPS *WARP, 4)
    causal_bias_sum_kernel(float *dbias, struct causal_bias_job job, int tables, int heads, int reach, bool add)
{
    int64_t number = grid_thread();
    int head = (int)(number / (2 * reach + 1)), behind = reach - (int)(number % (2 * reach + 1));
    float sum = 0;
    if (head >= heads)
        return;
    for (int i = 0; behind >= 0 && behind < job.cells && i < tables; i++)
        sum += job.tables[((int64_t)i * heads + head) * job.cells + behind];
    put(dbias + number, sum, add);
}

/* Computes g.delta, at the start of the scratch memory. */
template <typename T>
static void delta_of(struct ctx *c, const causal_grads<T> &g, const causal_args<T> &a, int64_t rows)
{
    LAUNCH(causal_delta_kernel<T>, blocks_for(rows, ROW_WARPS), ROW_WARPS * WARP, 0, cuda_stream(c), g, rows, a.dim);
}

/* Computes the gradient of the biases.  A launch takes as many sequences, with as many tables for each, as the scratch
 * memory behind delta holds. */
template <typename T>
static void backward_bias(struct ctx *c, struct destination dbias, causal_grads<T> g, causal_args<T> a,
                          const struct causal *s, int64_t rows)
{
    constexpr int ROWS = 64; /* a table, or more */
    struct causal_bias_job job = {};
    job.cells = (int)(a.reach < s->max_keys ? a.reach : s->max_keys) + 1;
    int64_t room = ((int64_t)SCRATCH_BYTES / (int64_t)sizeof(float) - rows) / ((int64_t)a.heads * job.cells);
    int64_t parts = (s->qs.max_len + ROWS - 1) / ROWS, n = s->qs.n, numbers = (int64_t)a.heads * (2 * a.reach + 1);
    CHECK(room > 0, "causal_attention: no scratch for the gradient of a bias of %d places", job.cells);
    job.parts = (int)(parts < 1 ? 1 : parts < room ? parts : room);
    int64_t at_once = room / job.parts < n ? room / job.parts : n, numbers_at_once = at_once * job.parts * a.heads;
    g.delta = (float *)cuda_scratch(c, (size_t)(rows + numbers_at_once * job.cells) * sizeof(float));
    job.tables = g.delta + rows;
    if (rows)
        delta_of(c, g, a, rows);
    do { /* once if there are no sequences: the sum then clears dbias */
        int64_t now = n - job.first < at_once ? n - job.first : at_once;
        if (now)
            LAUNCH(causal_bias_kernel<T>, blocks_for(now * job.parts * a.heads, 1), ROW_WARPS * WARP, 0, cuda_stream(c),
                   job, g, a);
        LAUNCH(causal_bias_sum_kernel, blocks_for(numbers, ROW_WARPS * WARP), ROW_WARPS * WARP, 0, cuda_stream(c),
               data_of<float>(dbias.t), job, (int)now * job.parts, a.heads, a.reach, dbias.add || job.first > 0);
        job.first += (int)at_once;
    } while (job.first < n);
}

template <typename T>
static void backward_rows(struct ctx *c, causal_grads<T> g, causal_args<T> a, const struct causal *s, int64_t rows)
{
    g.delta = (float *)cuda_scratch(c, (size_t)rows * sizeof(float));
    if (rows)
        delta_of(c, g, a, rows);
    a.tiles = (int)((s->qs.max_len * a.heads + ROW_WARPS - 1) / ROW_WARPS);
    if (g.dq && a.tiles)
        LAUNCH(causal_dq_kernel<T>, blocks_for(s->qs.n * a.tiles, 1), ROW_WARPS * WARP, 0, cuda_stream(c), g, a);
    a.tiles = (int)((s->max_keys * a.groups + ROW_WARPS - 1) / ROW_WARPS);
    if ((g.dk || g.dv) && a.tiles)
        LAUNCH(causal_dkv_kernel<T>, blocks_for(s->qs.n * a.tiles, 1), ROW_WARPS * WARP, 0, cuda_stream(c), g, a);
}

static bool on_tensor_cores(struct ctx *, const causal_grads<float> &, const causal_args<float> &,
                            const struct causal *, int *, int64_t, int64_t)
{
    return false;
}

static bool on_tensor_cores(struct ctx *c, const causal_grads<bf16> &g, const causal_args<bf16> &a,
                            const struct causal *s, int *sums, int64_t q_rows, int64_t k_rows)
{
    return causal_backward_mma(c, g, a, s, sums, q_rows, k_rows);
}

template <typename T>
static void causal_backward(struct ctx *c, const causal_grads<T> &g, struct destination dbias, const causal_args<T> &a,
                            const struct causal *s, int *sums, int64_t q_rows, int64_t k_rows)
{
    bool wanted = s->qs.n > 0 && (g.dq || g.dk || g.dv);
    if (wanted && !on_tensor_cores(c, g, a, s, sums, q_rows, k_rows))
        backward_rows(c, g, a, s, q_rows * a.heads);
    if (dbias.t)
        backward_bias(c, dbias, g, a, s, q_rows * a.heads);
}

template <typename T>
static causal_grads<T> causal_grads_of(struct destination dq, struct destination dk, struct destination dv,
                                       const struct tensor *dy, const struct tensor *y, const struct tensor *lse,
                                       const struct causal *s)
{
    causal_grads<T> g = {};
    g.dy = data_of<T>(dy), g.y = data_of<T>(y), g.lse = data_of<float>(lse);
    g.dq = data_of<T>(dq.t), g.dk = data_of<T>(dk.t), g.dv = data_of<T>(dv.t);
    g.dq_add = dq.add, g.dk_add = dk.add, g.dv_add = dv.add;
    g.last = s->prefix_len ? data_of<int>(s->last) : nullptr;
    return g;
}

extern "C" void cuda_causal_attention_backward(struct ctx *c, struct destination dq, struct destination dk,
                                               struct destination dv, struct destination dbias, struct tensor *sums,
                                               const struct tensor *dy, const struct tensor *y,
                                               const struct tensor *lse, const struct tensor *q, const struct tensor *k,
                                               const struct tensor *v, const struct causal *s,
                                               const struct attention_form *form)
{
    DTYPE_SWITCH(q->dtype, causal_backward<T>(c, causal_grads_of<T>(dq, dk, dv, dy, y, lse, s), dbias,
                                              causal_args_of<T>(q, k, v, s, form), s, data_of<int>(sums), q->shape[0],
                                              k->shape[0]));
}
