#include "kernels/cuda/causal_attention.cuh"

/* What both halves read beside the arguments of the forward, and where they write. */
template <typename T>
struct causal_grads {
    const T *dy;
    const float *lse;
    float *delta;    /* scratch [Tq, heads]: sum_j p_ij dp_ij, from the first half to the second */
    T *dq, *dk, *dv; /* laid out as q, k and v; null: not wanted */
    bool dq_add, dk_add, dv_add;
    const int *last; /* null without prefixes */
};

/*
 * p_ij = exp(scale q_i . k_j - lse_i);  dp_ij = dy_i . v_j;  delta_i = sum_j p_ij dp_ij;
 * dq_i (+)= scale sum_j p_ij (dp_ij - delta_i) k_j
 *
 * Grid     one warp per head and query, the rows of a sequence in one run of blocks.
 * Memory   k and v twice per row, mostly from cache.
 * Numbers  f32 sums in key order.  delta is summed first, not taken as dy . y, which was rounded.
 * Tuned    not: serves f32 and long heads.
 */
template <typename T>
__global__ void __launch_bounds__(ROW_WARPS *WARP) causal_dq_kernel(causal_grads<T> g, causal_args<T> a)
{
    __shared__ float rows[2][ROW_WARPS][ROW_PARTS * WARP], weights[ROW_WARPS][WARP];
    struct causal_span s = causal_span_of(a, block_id() / a.tiles);
    int64_t number = block_id() % a.tiles * ROW_WARPS + warp_id(), t = number / a.heads;
    int head = (int)(number % a.heads), group = head / a.each;
    if (t >= s.n_queries)
        return; /* the whole warp */
    int64_t row = (s.q_from + t) * a.heads + head, keys = s.n_prefix + s.ahead + t + 1;
    float *q = rows[0][warp_id()], *dy = rows[1][warp_id()], *weight = weights[warp_id()];
    float dq[ROW_PARTS] = { 0 }, delta = 0;
    load_row(q, a.q + row * a.dim, a.dim);
    load_row(dy, g.dy + row * a.dim, a.dim);
    __syncwarp();

    for (int pass = 0; pass < (g.dq ? 2 : 1); pass++) {
        for (int64_t j0 = 0; j0 < keys; j0 += WARP) {
            int64_t j = j0 + lane_id();
            float p = 0, dp = 0;
            if (j < keys) {
                int64_t at = (causal_key(s, j) * a.groups + group) * a.dim;
                p = expf(a.scale * dot_row(q, a.k + at, a.dim) - g.lse[row]);
                dp = dot_row(dy, a.v + at, a.dim);
            }
            if (pass == 0) {
                delta += p * dp;
                continue;
            }
            weight[lane_id()] = p * (dp - delta);
            __syncwarp();
            for (int i = 0; i < WARP && j0 + i < keys; i++)
                add_row(dq, weight[i], a.k + (causal_key(s, j0 + i) * a.groups + group) * a.dim, a.dim);
            __syncwarp(); /* the weights have been used */
        }
        if (pass == 0)
            delta = warp_sum(delta);
    }
    if (lane_id() == 0)
        g.delta[row] = delta;
    if (g.dq)
        put_row(g.dq + row * a.dim, dq, a.scale, a.dim, g.dq_add);
}

/* What rows [from, end) of one sequence and group give a key: for 32 rows at a time a lane has one row's score. */
template <typename T>
__device__ inline void key_gets(float (&dk)[ROW_PARTS], float (&dv)[ROW_PARTS], const causal_grads<T> &g,
                                const causal_args<T> &a, const struct causal_span &s, int group, int from,
                                const float *k, const float *v, float *p, float *ds)
{
    int end = (int)s.n_queries * a.each;
    for (int r0 = from; r0 < end; r0 += WARP) {
        if (r0 + lane_id() < end) {
            int64_t row = causal_row(a, s, group, r0 + lane_id());
            p[lane_id()] = expf(a.scale * dot_row(k, a.q + row * a.dim, a.dim) - g.lse[row]);
            ds[lane_id()] = p[lane_id()] * (dot_row(v, g.dy + row * a.dim, a.dim) - g.delta[row]);
        }
        __syncwarp();
        for (int i = 0; i < WARP && r0 + i < end; i++) {
            int64_t row = causal_row(a, s, group, r0 + i);
            add_row(dv, p[i], g.dy + row * a.dim, a.dim);
            add_row(dk, ds[i], a.q + row * a.dim, a.dim);
        }
        __syncwarp(); /* the weights have been used */
    }
}

/*
 * dv_j (+)= sum_i p_ij dy_i;  dk_j (+)= scale sum_i p_ij (dp_ij - delta_i) q_i, over the group's rows that see key j
 *
 * Grid     one warp per group and key, the keys of a sequence in one run of blocks.
 * Memory   q and dy twice per key, mostly from cache.
 * Numbers  scores as above, bit for bit; f32 sums: the own queries, each one's heads in order, then the sequences that
 * have j in their prefix. Tuned    not: serves f32 and long heads.
 */
template <typename T>
__global__ void __launch_bounds__(ROW_WARPS *WARP) causal_dkv_kernel(causal_grads<T> g, causal_args<T> a)
{
    __shared__ float rows[2][ROW_WARPS][ROW_PARTS * WARP], weights[2][ROW_WARPS][WARP];
    int64_t sequence = block_id() / a.tiles, number = block_id() % a.tiles * ROW_WARPS + warp_id();
    int64_t j = number / a.groups;
    int group = (int)(number % a.groups);
    struct causal_span s = causal_span_of(a, sequence);
    if (j >= s.n_keys)
        return; /* the whole warp */
    int64_t at = ((s.key_from + j) * a.groups + group) * a.dim, last = g.last ? g.last[sequence] : sequence;
    float *k = rows[0][warp_id()], *v = rows[1][warp_id()], *p = weights[0][warp_id()], *ds = weights[1][warp_id()];
    float dk[ROW_PARTS] = { 0 }, dv[ROW_PARTS] = { 0 };
    load_row(k, a.k + at, a.dim);
    load_row(v, a.v + at, a.dim);
    __syncwarp();

    key_gets(dk, dv, g, a, s, group, j > s.ahead ? (int)(j - s.ahead) * a.each : 0, k, v, p, ds);
    for (int64_t other = sequence + 1; other <= last; other++)
        key_gets(dk, dv, g, a, causal_span_of(a, other), group, 0, k, v, p, ds);
    if (g.dk)
        put_row(g.dk + at, dk, a.scale, a.dim, g.dk_add);
    if (g.dv)
        put_row(g.dv + at, dv, 1.0f, a.dim, g.dv_add);
}

template <typename T>
static void causal_backward(struct ctx *c, const causal_grads<T> &g, causal_args<T> a, const struct causal *s)
{
    a.tiles = (s->qs.max_len * a.heads + ROW_WARPS - 1) / ROW_WARPS;
    if (a.tiles)
        LAUNCH(causal_dq_kernel<T>, blocks_for(s->qs.n * a.tiles, 1), ROW_WARPS * WARP, 0, cuda_stream(c), g, a);
    a.tiles = (s->max_keys * a.groups + ROW_WARPS - 1) / ROW_WARPS;
    if ((g.dk || g.dv) && a.tiles)
        LAUNCH(causal_dkv_kernel<T>, blocks_for(s->qs.n * a.tiles, 1), ROW_WARPS * WARP, 0, cuda_stream(c), g, a);
}

template <typename T>
static causal_grads<T> causal_grads_of(struct ctx *c, struct grad dq, struct grad dk, struct grad dv,
                                       const struct tensor *dy, const struct tensor *lse, const struct causal *s)
{
    causal_grads<T> g = {};
    g.dy = data_of<T>(dy), g.lse = data_of<float>(lse);
    g.delta = (float *)cuda_scratch(c, tensor_bytes(lse));
    g.dq = data_of<T>(dq.t), g.dk = data_of<T>(dk.t), g.dv = data_of<T>(dv.t);
    g.dq_add = dq.add, g.dk_add = dk.add, g.dv_add = dv.add;
    g.last = s->prefix_len ? data_of<int>(s->last) : nullptr;
    return g;
}

extern "C" void cuda_causal_attention_backward(struct ctx *c, struct grad dq, struct grad dk, struct grad dv,
                                               const struct tensor *dy, const struct tensor *, const struct tensor *lse,
                                               const struct tensor *q, const struct tensor *k, const struct tensor *v,
                                               const struct causal *s, int heads, int groups)
{
    if (s->qs.n == 0 || (!dq.t && !dk.t && !dv.t))
        return;
    DTYPE_SWITCH(q->dtype, causal_backward(c, causal_grads_of<T>(c, dq, dk, dv, dy, lse, s),
                                           causal_args_of<T>(q, k, v, s, heads, groups), s));
}
