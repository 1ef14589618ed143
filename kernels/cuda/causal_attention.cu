#include "kernels/cuda/causal_attention.cuh"

/*
 * y_i = sum_j softmax_j(scale q_i . k_j) v_j;  lse_i = log sum_j exp(scale q_i . k_j), over the keys that i sees
 *
 * Grid     one warp per head and query, the rows of a sequence in one run of blocks.
 * Memory   k and v once per row, mostly from cache; a lane reads a key of its own, then all lanes one value.
 * Numbers  running maximum and sum in f32 (online softmax).
 * Tuned    not: serves f32 and long heads.
 */
template <typename T>
__global__ void __launch_bounds__(ROW_WARPS *WARP)
    causal_attention_kernel(T *__restrict__ y, float *__restrict__ lse, causal_args<T> a)
{
    __shared__ float queries[ROW_WARPS][ROW_PARTS * WARP], weights[ROW_WARPS][WARP];
    struct causal_span s = causal_span_of(a, block_id() / a.tiles);
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

template <typename T>
static void causal_attention(struct ctx *c, struct tensor *y, struct tensor *lse, causal_args<T> a,
                             const struct causal *s)
{
    a.tiles = (s->qs.max_len * a.heads + ROW_WARPS - 1) / ROW_WARPS;
    LAUNCH(causal_attention_kernel<T>, blocks_for(s->qs.n * a.tiles, 1), ROW_WARPS * WARP, 0, cuda_stream(c),
           data_of<T>(y), data_of<float>(lse), a);
}

extern "C" void cuda_causal_attention(struct ctx *c, struct tensor *y, struct tensor *lse, const struct tensor *q,
                                      const struct tensor *k, const struct tensor *v, const struct causal *s, int heads,
                                      int groups)
{
    if (tensor_size(y) == 0 || s->qs.max_len == 0)
        return;
    DTYPE_SWITCH(q->dtype, causal_attention(c, y, lse, causal_args_of<T>(q, k, v, s, heads, groups), s));
}
