#include "kernels/cuda/attention.cuh"

/*
 * y_i = sum_j keep_ij softmax_j(scale q_i . k_j) v_j;  lse_i = log sum_j exp(scale q_i . k_j)
 *
 * Grid     one block per sequence, head and tile of queries; four neighbouring lanes per query.
 * Memory   q once, k and v once per query tile, through shared memory as f32.
 * Numbers  running maximum and sum in f32 (online softmax); dropout after the sum, as rng.h numbers it.
 * Tuned    not: serves f32.
 */
template <int D, typename T>
__global__ void __launch_bounds__(4 * attention_tile(D))
    attention_kernel(T *__restrict__ y, float *__restrict__ lse, struct attention_args<T> a)
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
        for (int d = 0; d < D / 4; d++) {
            out[d] *= shrink;
            for (int j = 0; j < TILE; j++)
                out[d] += weight[i][j] * v[j][4 * d + part];
        }
    }
    if (first + i >= t.q_length)
        return;
    for (int d = 0; d < D / 4; d++)
        y[row * a.y_stride + column + 4 * d + part] = T(sum > 0 ? out[d] / sum : 0.0f);
    if (part == 0)
        lse[row * a.heads + t.head] = most + logf(sum);
}

template <int D, typename T>
static void attention(struct ctx *c, struct tensor *y, struct tensor *lse, struct attention_args<T> a, int64_t max_len,
                      int64_t n)
{
    constexpr int TILE = attention_tile(D);
    a.tiles = (max_len + TILE - 1) / TILE;
    LAUNCH((attention_kernel<D, T>), blocks_for(n * a.heads * a.tiles, 1), 4 * TILE, 0, cuda_stream(c), data_of<T>(y),
           data_of<float>(lse), a);
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
