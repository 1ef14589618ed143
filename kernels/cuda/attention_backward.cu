#include "kernels/cuda/attention.cuh"

/* What both halves read beside the arguments of the forward. */
template <typename T>
struct attention_grads {
    const T *y, *dy;
    const float *lse;
    T *dq, *dk, *dv; /* laid out as q, k and v */
    bool dq_add, dkv_add;
};

/* delta_i = dy_i . y_i, by the four lanes of a row. */
template <int D, typename T>
__device__ inline float row_delta(const T *y, const T *dy, int part, bool inside)
{
    float sum = 0;
    for (int d = 0; d < D / 4; d++)
        sum += inside ? (float)y[4 * d + part] * (float)dy[4 * d + part] : 0.0f;
    return quad_sum(sum);
}

/*
 * p_ij = exp(scale q_i . k_j - lse_i);  ds_ij = p_ij (keep_ij dy_i . v_j - delta_i);  dq_i (+)= scale sum_j ds_ij k_j
 *
 * Grid     one block per sequence, head and tile of queries; four neighbouring lanes per query.
 * Memory   q, y and dy once, k and v once per query tile, through shared memory as f32; scores are computed again.
 * Numbers  f32 sums in key order.
 * Tuned    not: serves f32.
 */
template <int D, typename T>
__global__ void __launch_bounds__(4 * attention_tile(D))
    attention_dq_kernel(struct attention_grads<T> g, struct attention_args<T> a)
{
    constexpr int TILE = attention_tile(D), THREADS = 4 * TILE, QUADS = TILE / 16;
    __shared__ float q[TILE][D + 1], k[TILE][D + 1], v[TILE][D + 1], ds[TILE][TILE + 1];
    struct attention_task t = attention_task_of(a);
    int64_t first = t.tile * TILE, column = (int64_t)t.head * D;
    int i = thread_id() / 4, part = thread_id() % 4;
    if (first >= t.q_length)
        return;
    int64_t row = t.q_first + first + i;
    bool inside = first + i < t.q_length;
    const T *up = g.dy + row * a.y_stride + column;
    float delta = row_delta<D>(g.y + row * a.y_stride + column, up, part, inside);
    float lse = inside ? g.lse[row * a.heads + t.head] : 0.0f, dq[D / 4] = { 0 };
    load_rows(q, a.q + (t.q_first + first) * a.q_stride + column, a.q_stride, t.q_length - first, THREADS);

    for (int64_t j0 = 0; j0 < t.k_length; j0 += TILE) {
        int64_t left = t.k_length - j0, at = (t.k_first + j0) * a.kv_stride + column;
        __syncthreads(); /* the last tile has been used */
        load_rows(k, a.k + at, a.kv_stride, left, THREADS);
        load_rows(v, a.v + at, a.kv_stride, left, THREADS);
        __syncthreads();
        for (int n = 0; n < QUADS; n++) {
            float keep[4];
            keep_quad(keep, a, row * a.heads + t.head, j0 / 4 + part + 4 * n);
            for (int m = 0; m < 4; m++) {
                int j = 4 * (part + 4 * n) + m;
                float dot = 0, dp = 0;
                for (int d = 0; d < D; d++) {
                    dot += q[i][d] * k[j][d];
                    dp += inside ? (float)up[d] * v[j][d] : 0.0f;
                }
                ds[i][j] = j < left && inside ? expf(a.scale * dot - lse) * (keep[m] * dp - delta) : 0.0f;
            }
        }
        __syncwarp(); /* the row's ds come from its own four lanes */
        for (int d = 0; d < D / 4; d++)
            for (int j = 0; j < TILE; j++)
                dq[d] += ds[i][j] * k[j][4 * d + part];
    }
    for (int d = 0; inside && d < D / 4; d++)
        put(g.dq + row * a.q_stride + column + 4 * d + part, a.scale * dq[d], g.dq_add);
}

/*
 * dv_j (+)= sum_i keep_ij p_ij dy_i;  dk_j (+)= scale sum_i ds_ij q_i
 *
 * Grid     one block per sequence, head and tile of keys; four neighbouring lanes per key.
 * Memory   k and v once, q, y and dy once per key tile, through shared memory as f32; scores are computed again.
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
        float sum = row_delta<D>(g.y + row * a.y_stride + column, g.dy + row * a.y_stride + column, part, j < left);
        if (part == 0) {
            delta[j] = sum;
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
    if (g.dq && a.tiles)
        LAUNCH((attention_dq_kernel<D, T>), blocks_for(qs->n * a.heads * a.tiles, 1), 4 * TILE, 0, cuda_stream(c), g,
               a);
    a.tiles = (ks->max_len + TILE - 1) / TILE;
    if (g.dk && a.tiles)
        LAUNCH((attention_dkv_kernel<D, T>), blocks_for(ks->n * a.heads * a.tiles, 1), 4 * TILE, 0, cuda_stream(c), g,
               a);
}

template <typename T>
static struct attention_grads<T> grads_of(struct grad dq, struct grad dkv, const struct tensor *dy,
                                          const struct tensor *y, const struct tensor *lse, const struct tensor *q,
                                          const struct tensor *kv, int heads) {
    struct attention_view view = attention_view(q, kv, heads);
    struct grad to_kv = q == kv ? dq : dkv;
    struct attention_grads<T> g = {
    };
    g.y = data_of<T>(y), g.dy = data_of<T>(dy), g.lse = data_of<float>(lse);
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
    if (qs->n == 0)
        return;
    DTYPE_SWITCH(q->dtype, HEAD_SWITCH(dim, attention_backward<D>(
                                                c, grads_of<T>(dq, dkv, dy, y, lse, q, kv, heads),
                                                attention_args_of<T>(c, q, kv, qs, ks, heads, p, site), qs, ks)));
}
