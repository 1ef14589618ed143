#include "kernels/cuda/attention_mma.cuh"

/*
 * y_i = sum_j keep_ij softmax_j(scale q_i . k_j) v_j;  lse_i = log sum_j exp(scale q_i . k_j)
 *
 * Grid     one block per sequence, head and tile of queries; four neighbouring lanes per query.
 * Memory   q once, k and v once per query tile, through shared memory as f32.
 * Numbers  running maximum and sum in f32 (online softmax); dropout after the sum, as rng.h numbers it.
 * Serves   f32.
 */
template <int D>
__global__ void __launch_bounds__(4 * attention_tile(D))
    attention_kernel(float *__restrict__ y, float *__restrict__ lse, attention_args<float> a)
{
    constexpr int TILE = attention_tile(D), THREADS = 4 * TILE, QUADS = TILE / 16;
    __shared__ float q[TILE][D + 1], k[TILE][D + 1], v[TILE][D + 1], weight[TILE][TILE + 1];
    struct attention_task t = attention_task_of(a);
    int64_t first = t.tile * TILE, column = (int64_t)t.head * D;
    int i = thread_id() / 4, part = thread_id() % 4;
    if (first >= t.q_length)
        return;
    int64_t row = t.q_first + first + i;
    float out[D / 4] = { 0 }, most = -INFINITY, sum = 0;
    load_rows(q, a.q + (t.q_first + first) * a.q_stride + column, a.q_stride, t.q_length - first, THREADS);

    for (int64_t j0 = 0; j0 < t.k_length; j0 += TILE) {
        int64_t left = t.k_length - j0, at = (t.k_first + j0) * a.kv_stride + column;
        __syncthreads(); /* the last tile has been used */
        load_rows(k, a.k + at, a.kv_stride, left, THREADS);
        load_rows(v, a.v + at, a.kv_stride, left, THREADS);
        __syncthreads();

        float score[QUADS][4], top = most;
        UNROLL
        for (int n = 0; n < QUADS; n++)
            for (int m = 0; m < 4; m++) {
                int j = 4 * (part + 4 * n) + m;
                float dot = 0;
                for (int d = 0; d < D; d++)
                    dot += q[i][d] * k[j][d];
                score[n][m] = j < left ? a.scale * dot : -INFINITY;
                top = fmaxf(top, score[n][m]);
            }
        top = quad_max(top); /* finite: every tile has a key */
        float shrink = expf(most - top), part_sum = 0;
        UNROLL
        for (int n = 0; n < QUADS; n++) {
            float keep[4];
            keep_quad(keep, a, row * a.heads + t.head, j0 / 4 + part + 4 * n);
            for (int m = 0; m < 4; m++) {
                float p = expf(score[n][m] - top);
                part_sum += p;
                weight[i][4 * (part + 4 * n) + m] = keep[m] * p;
            }
        }
        sum = sum * shrink + quad_sum(part_sum);
        most = top;
        __syncwarp(); /* the row's weights come from its own four lanes */
        UNROLL
        for (int d = 0; d < D / 4; d++) {
            out[d] *= shrink;
            for (int j = 0; j < TILE; j++)
                out[d] += weight[i][j] * v[j][4 * d + part];
        }
    }
    if (first + i >= t.q_length)
        return;
    UNROLL
    for (int d = 0; d < D / 4; d++)
        y[row * a.y_stride + column + 4 * d + part] = sum > 0 ? out[d] / sum : 0.0f;
    if (part == 0)
        lse[row * a.heads + t.head] = most + logf(sum);
}

/*
 * Scores of one tile become weights: the running maximum (in powers of two) and this lane's part of the sum go on, what
 * was summed up so far shrinks to the new maximum.  row is the dropout row of the warp's first query.
 */
template <int D, int KEYS>
__device__ inline void softmax_tile(float (&s)[KEYS / 8][4], float (&out)[D / 8][4], float (&most)[2], float (&sum)[2],
                                    const attention_args<bf16> &a, int64_t row, int64_t first, int64_t left)
{
    UNROLL
    for (int half = 0; half < 2; half++) {
        int64_t dropout_row = row + (lane_id() / 4 + 8 * half) * a.heads;
        float top = most[half];
        UNROLL
        for (int n = 0; n < KEYS / 8; n++)
            for (int m = 0; m < 2; m++) {
                float &x = s[n][2 * half + m];
                x = 8 * n + lane_id() % 4 * 2 + m < left ? LOG2_E * a.scale * x : -INFINITY;
                top = fmaxf(top, x);
            }
        top = quad_max(top); /* finite: every tile has a key */
        float shrink = exp2f(most[half] - top);
        most[half] = top;
        sum[half] *= shrink;
        UNROLL
        for (int n = 0; n < D / 8; n++) {
            out[n][2 * half] *= shrink;
            out[n][2 * half + 1] *= shrink;
        }
        UNROLL
        for (int n = 0; n < KEYS / 8; n++) {
            float keep[2];
            keep_pair(keep, a, dropout_row, first + 8 * n + lane_id() % 4 * 2);
            for (int m = 0; m < 2; m++) {
                float p = exp2f(s[n][2 * half + m] - top);
                sum[half] += p;
                s[n][2 * half + m] = keep[m] * p;
            }
        }
    }
}

/*
 * The same for bf16 on tensor cores.
 *
 * Grid     one block per sequence, head and tile of 16 queries a warp; as few warps as the longest sequence needs.
 * Memory   q once into registers, k and v once per query tile through shared memory, v arriving while k is used.
 * Numbers  products of bf16, sums in f32; weights count as two bf16 each, some 16 bits.
 */
template <int D>
__global__ void __launch_bounds__(MMA_THREADS)
    attention_mma_kernel(bf16 *__restrict__ y, float *__restrict__ lse, attention_args<bf16> a)
{
    constexpr int KEYS = mma_tile(D);
    alignas(16) __shared__ bf16 k[KEYS][D + TILE_PAD];
    alignas(16) __shared__ bf16 v[KEYS][D + TILE_PAD];
    struct attention_task t = attention_task_of(a);
    int64_t first = t.tile * (block_threads() / WARP) * MMA_ROWS, column = (int64_t)t.head * D;
    if (first >= t.q_length)
        return;
    first += warp_id() * MMA_ROWS;
    int64_t rows = t.q_length - first, row = t.q_first + first; /* rows <= 0: the warp only helps to copy */
    unsigned q[D / 16][4];
    float out[D / 8][4] = { { 0 } }, most[2] = { -INFINITY, -INFINITY }, sum[2] = { 0, 0 };
    load_left<D>(q, a.q + row * a.q_stride + column, a.q_stride, rows);

    for (int64_t j0 = 0; j0 < t.k_length; j0 += KEYS) {
        int64_t left = t.k_length - j0, at = (t.k_first + j0) * a.kv_stride + column;
        __syncthreads(); /* the last tile has been used */
        copy_tile(k, a.k + at, a.kv_stride, left);
        copy_commit();
        copy_tile(v, a.v + at, a.kv_stride, left);
        copy_commit();
        copy_wait<1>();
        __syncthreads();
        float s[KEYS / 8][4];
        if (rows > 0) {
            times_transposed<D, KEYS>(s, q, k, left);
            softmax_tile<D, KEYS>(s, out, most, sum, a, row * a.heads + t.head, j0, left);
        }
        copy_wait<0>();
        __syncthreads();
        if (rows > 0)
            add_times<D, KEYS>(out, s, v, left);
    }
    UNROLL
    for (int half = 0; half < 2; half++) {
        int r = lane_id() / 4 + 8 * half;
        sum[half] = quad_sum(sum[half]);
        if (r < rows && lane_id() % 4 == 0)
            lse[(row + r) * a.heads + t.head] = LN_2 * (most[half] + log2f(sum[half]));
        sum[half] = sum[half] > 0 ? 1.0f / sum[half] : 0.0f;
    }
    store_rows<D>(y + row * a.y_stride + column, a.y_stride, rows, out, sum, false);
}

template <int D>
static void attention(struct ctx *c, struct tensor *y, struct tensor *lse, attention_args<float> a, int64_t max_len,
                      int64_t n)
{
    constexpr int TILE = attention_tile(D);
    a.tiles = (max_len + TILE - 1) / TILE;
    LAUNCH(attention_kernel<D>, blocks_for(n * a.heads * a.tiles, 1), 4 * TILE, 0, cuda_stream(c), data_of<float>(y),
           data_of<float>(lse), a);
}

template <int D>
static void attention(struct ctx *c, struct tensor *y, struct tensor *lse, attention_args<bf16> a, int64_t max_len,
                      int64_t n)
{
    int warps = mma_warps(max_len);
    a.tiles = (max_len + warps * MMA_ROWS - 1) / (warps * MMA_ROWS);
    LAUNCH(attention_mma_kernel<D>, blocks_for(n * a.heads * a.tiles, 1), (unsigned)(warps * WARP), 0, cuda_stream(c),
           data_of<bf16>(y), data_of<float>(lse), a);
}

extern "C" void cuda_attention(struct ctx *c, struct tensor *y, struct tensor *lse, const struct tensor *q,
                               const struct tensor *kv, const struct seqs *qs, const struct seqs *ks, int heads,
                               float p, uint32_t site)
{
    int64_t dim = tensor_cols(y) / heads;
    if (tensor_size(y) == 0 || qs->max_len == 0)
        return;
    DTYPE_SWITCH(q->dtype,
                 HEAD_SWITCH(dim, attention<D>(c, y, lse, attention_args_of<T>(c, q, kv, qs, ks, heads, p, site),
                                               qs->max_len, qs->n)));
}
