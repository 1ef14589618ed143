#include "kernels/cuda/attention.cuh"

/* What both halves read beside the arguments of the forward, and where they write. */
template <typename T>
struct attention_grads {
    const T *dy;
    const float *lse;
    float *delta;    /* scratch [Tq, heads]: sum_j p_ij dp_ij, from the first half to the second */
    T *dq, *dk, *dv; /* laid out as q, k and v */
    bool dq_add, dkv_add;
};

/* One query against one tile of keys: p_ij and dp_ij of the keys this lane looks at, 0 where there is none. */
template <int D, int TILE, typename T>
__device__ inline void query_weights(float (&p)[TILE / 4], float (&dp)[TILE / 4], const struct attention_args<T> &a,
                                     const float *q, const T *dy, const float (&k)[TILE][D + 1],
                                     const float (&v)[TILE][D + 1], int64_t row, int64_t first, int64_t left, float lse)
{
    int part = thread_id() % 4;
    for (int n = 0; n < TILE / 16; n++) {
        float keep[4];
        keep_quad(keep, a, row, first / 4 + part + 4 * n);
        for (int m = 0; m < 4; m++) {
            int j = 4 * (part + 4 * n) + m;
            float score = 0, up = 0;
            for (int d = 0; d < D && j < left; d++) {
                score += q[d] * k[j][d];
                up += (float)dy[d] * v[j][d];
            }
            p[4 * n + m] = j < left ? expf(a.scale * score - lse) : 0.0f;
            dp[4 * n + m] = keep[m] * up;
        }
    }
}

/*
 * p_ij = exp(scale q_i . k_j - lse_i);  dp_ij = keep_ij dy_i . v_j;  delta_i = sum_j p_ij dp_ij;
 * dq_i (+)= scale sum_j p_ij (dp_ij - delta_i) k_j
 *
 * Grid     one block per sequence, head and tile of queries; four neighbouring lanes per query.
 * Memory   q and dy once, k and v twice per query tile, through shared memory as f32; scores are computed again.
 * Numbers  f32 sums in key order.  delta is summed first, not taken as dy . y: y was rounded, and where the terms of
 *          dq cancel that rounding would be all that is left.
 * Tuned    not: serves f32.
 */
template <int D, typename T>
__global__ void __launch_bounds__(4 * attention_tile(D))
    attention_dq_kernel(struct attention_grads<T> g, struct attention_args<T> a)
{
    constexpr int TILE = attention_tile(D), THREADS = 4 * TILE;
    __shared__ float q[TILE][D + 1], k[TILE][D + 1], v[TILE][D + 1], ds[TILE][TILE + 1];
    struct attention_task t = attention_task_of(a);
    int64_t first = t.tile * TILE, column = (int64_t)t.head * D;
    int i = thread_id() / 4, part = thread_id() % 4;
    if (first >= t.q_length)
        return;
    int64_t row = t.q_first + first + i, number = row * a.heads + t.head;
    bool inside = first + i < t.q_length;
    const T *dy = g.dy + (inside ? row * a.y_stride + column : 0);
    float lse = inside ? g.lse[number] : 0.0f, delta = 0, dq[D / 4] = { 0 }, p[TILE / 4], dp[TILE / 4];
    load_rows(q, a.q + (t.q_first + first) * a.q_stride + column, a.q_stride, t.q_length - first, THREADS);

    for (int pass = 0; pass < (g.dq ? 2 : 1); pass++) {
        for (int64_t j0 = 0; j0 < t.k_length; j0 += TILE) {
            int64_t left = t.k_length - j0, at = (t.k_first + j0) * a.kv_stride + column;
            __syncthreads(); /* the last tile has been used */
            load_rows(k, a.k + at, a.kv_stride, left, THREADS);
            load_rows(v, a.v + at, a.kv_stride, left, THREADS);
            __syncthreads();
            query_weights<D, TILE>(p, dp, a, q[i], dy, k, v, number, j0, inside ? left : 0, lse);
            for (int n = 0; n < TILE / 4; n++) {
                if (pass == 0)
                    delta += p[n] * dp[n];
                else
                    ds[i][4 * (part + 4 * (n / 4)) + n % 4] = p[n] * (dp[n] - delta);
            }
            __syncwarp(); /* the row's ds come from its own four lanes */
            for (int d = 0; pass == 1 && d < D / 4; d++)
                for (int j = 0; j < TILE; j++)
                    dq[d] += ds[i][j] * k[j][4 * d + part];
        }
        if (pass == 0)
            delta = quad_sum(delta);
    }
    if (inside && part == 0)
        g.delta[number] = delta;
    for (int d = 0; g.dq && inside && d < D / 4; d++)
        put(g.dq + row * a.q_stride + column + 4 * d + part, a.scale * dq[d], g.dq_add);
}

/*
 * dv_j (+)= sum_i keep_ij p_ij dy_i;  dk_j (+)= scale sum_i ds_ij q_i
 *
 * Grid     one block per sequence, head and tile of keys; four neighbouring lanes per key.
 * Memory   k and v once, q and dy once per key tile, through shared memory as f32; scores are computed again.
 * Numbers  f32 sums in query order.
 * Tuned    not: serves f32.
 */
template <int D, typename T>
__global__ void __launch_bounds__(4 * attention_tile(D))
    attention_dkv_kernel(struct attention_grads<T> g, struct attention_args<T> a)
{
    constexpr int TILE = attention_tile(D), THREADS = 4 * TILE;
    __shared__ float q[TILE][D + 1], up[TILE][D + 1], p[TILE][TILE + 1], ds[TILE][TILE + 1], delta[TILE], lse[TILE];
    struct attention_task t = attention_task_of(a);
    int64_t first = t.tile * TILE, column = (int64_t)t.head * D;
    int j = thread_id() / 4, part = thread_id() % 4;
    if (first >= t.k_length)
        return;
    bool inside = first + j < t.k_length;
    int64_t key = (t.k_first + first + j) * a.kv_stride + column;
    float dk[D / 4] = { 0 }, dv[D / 4] = { 0 };

    for (int64_t i0 = 0; i0 < t.q_length; i0 += TILE) {
        int64_t left = t.q_length - i0, row = t.q_first + i0 + j; /* as a query, this thread's row is j too */
        __syncthreads();                                          /* the last tile has been used */
        load_rows(q, a.q + (t.q_first + i0) * a.q_stride + column, a.q_stride, left, THREADS);
        load_rows(up, g.dy + (t.q_first + i0) * a.y_stride + column, a.y_stride, left, THREADS);
        if (part == 0) {
            delta[j] = j < left ? g.delta[row * a.heads + t.head] : 0.0f;
            lse[j] = j < left ? g.lse[row * a.heads + t.head] : 0.0f;
        }
        __syncthreads();
        for (int i = part; i < TILE; i += 4) {
            float dot = 0, dp = 0, keep[4];
            for (int d = 0; inside && d < D; d++) {
                dot += q[i][d] * (float)a.k[key + d];
                dp += up[i][d] * (float)a.v[key + d];
            }
            keep_quad(keep, a, (t.q_first + i0 + i) * a.heads + t.head, (first + j) / 4);
            float kept = j % 4 == 0 ? keep[0] : j % 4 == 1 ? keep[1] : j % 4 == 2 ? keep[2] : keep[3];
            float w = inside && i < left ? expf(a.scale * dot - lse[i]) : 0.0f;
            p[j][i] = kept * w;
            ds[j][i] = w * (kept * dp - delta[i]);
        }
        __syncwarp(); /* the row's numbers come from its own four lanes */
        for (int d = 0; d < D / 4; d++)
            for (int i = 0; i < TILE; i++) {
                dv[d] += p[j][i] * up[i][4 * d + part];
                dk[d] += ds[j][i] * q[i][4 * d + part];
            }
    }
    for (int d = 0; inside && d < D / 4; d++) {
        put(g.dk + key + 4 * d + part, a.scale * dk[d], g.dkv_add);
        put(g.dv + key + 4 * d + part, dv[d], g.dkv_add);
    }
}

template <int D, typename T>
static void attention_backward(struct ctx *c, const struct attention_grads<T> &g, struct attention_args<T> a,
                               const struct seqs *qs, const struct seqs *ks)
{
    constexpr int TILE = attention_tile(D);
    a.tiles = (qs->max_len + TILE - 1) / TILE;
    if (a.tiles)
        LAUNCH((attention_dq_kernel<D, T>), blocks_for(qs->n * a.heads * a.tiles, 1), 4 * TILE, 0, cuda_stream(c), g,
               a);
    a.tiles = (ks->max_len + TILE - 1) / TILE;
    if (g.dk && a.tiles)
        LAUNCH((attention_dkv_kernel<D, T>), blocks_for(ks->n * a.heads * a.tiles, 1), 4 * TILE, 0, cuda_stream(c), g,
               a);
}

template <typename T>
static struct attention_grads<T> grads_of(struct ctx *c, struct grad dq, struct grad dkv, const struct tensor *dy,
                                          const struct tensor *lse, const struct tensor *q, const struct tensor *kv,
                                          int heads) {
    struct attention_view view = attention_view(q, kv, heads);
    struct grad to_kv = q == kv ? dq : dkv;
    struct attention_grads<T> g = {
    };
    g.dy = data_of<T>(dy), g.lse = data_of<float>(lse);
    g.delta = (float *)cuda_scratch(c, tensor_bytes(lse));
    g.dq = data_of<T>(dq.t), g.dq_add = dq.add, g.dkv_add = to_kv.add;
    if (to_kv.t) {
        g.dk = data_of<T>(to_kv.t) + view.k_offset;
        g.dv = data_of<T>(to_kv.t) + view.v_offset;
    }
    return g;
}

extern "C" void
cuda_attention_backward(struct ctx *c, struct grad dq, struct grad dkv, const struct tensor *dy, const struct tensor *y,
                        const struct tensor *lse, const struct tensor *q, const struct tensor *kv,
                        const struct seqs *qs, const struct seqs *ks, int heads, float p, uint32_t site)
{
    int64_t dim = tensor_cols(y) / heads;
    if (qs->n == 0 || (!dq.t && !dkv.t))
        return;
    DTYPE_SWITCH(q->dtype, HEAD_SWITCH(dim, attention_backward<D>(
                                                c, grads_of<T>(c, dq, dkv, dy, lse, q, kv, heads),
                                                attention_args_of<T>(c, q, kv, qs, ks, heads, p, site), qs, ks)));
}
