/*
 * attention_backward.cuh - what the backward of attention in f32 and in bf16 share: gradients, and the bias table's.
 *
 * The table's gradient is summed without atomics: a block sums its own part of it, the parts are added in order.
 */
#ifndef KERNELS_CUDA_ATTENTION_BACKWARD_CUH
#define KERNELS_CUDA_ATTENTION_BACKWARD_CUH

#include "kernels/cuda/attention.cuh"

/* What the backward reads beside the arguments of the forward, and where it writes. */
template <typename T>
struct attention_grads {
    const T *dy;
    const float *lse, *delta; /* [Tq, heads]; delta_i = dy_i . y_i */
    T *dq, *dk, *dv;          /* laid out as q, k and v */
    float *dq_parts;          /* scratch [tiles, Tq, n_heads, dim], NULL where a block sees all keys */
    float *bias_parts;        /* scratch [sequences, tiles, n_heads, 2 reach + 1], or NULL */
    int64_t q_rows;           /* Tq */
    bool dq_add, dkv_add;
};

/* This block's part of the bias table's gradient, set to 0; NULL when nobody wants it. */
template <typename T>
__device__ inline float *bias_part(const attention_grads<T> &g, const attention_args<T> &a,
                                   const struct attention_task &t, int tile, int tiles)
{
    if (!g.bias_parts)
        return nullptr;
    int64_t part = ((int64_t)t.sequence * tiles + tile) * a.n_heads + t.head - a.first_head;
    float *cells = g.bias_parts + part * (2 * a.reach + 1);
    for (int r = thread_id(); r <= 2 * a.reach; r += block_threads())
        cells[r] = 0;
    return cells;
}

/*
 * Adds a tile of ds, ds(i, j) of query i and key j, down its diagonals to the block's part of the table; `ahead` is the
 * place of key 0 less that of query 0.  A cell belongs to one thread.  Between two barriers of the whole block.
 */
template <int QUERIES, int KEYS, typename T, typename F>
__device__ inline void add_diagonals(float *cells, float (&diagonal)[QUERIES + KEYS], const attention_args<T> &a,
                                     int ahead, F ds)
{
    for (int e = thread_id(); e < QUERIES + KEYS - 1; e += block_threads()) {
        diagonal[e] = 0;
        for (int i = 0; i < QUERIES; i++)
            if (int j = e - (QUERIES - 1) + i; j >= 0 && j < KEYS)
                diagonal[e] += ds(i, j);
    }
    __syncthreads();
    float sum = 0;
    for (int e = 0; e < QUERIES + KEYS - 1; e++) {
        int cell = bias_cell(a, ahead + e - (QUERIES - 1));
        sum += diagonal[e];
        if (e < QUERIES + KEYS - 2 && cell == bias_cell(a, ahead + e + 1 - (QUERIES - 1)))
            continue;
        if (cell % block_threads() == thread_id())
            cells[cell] += sum;
        sum = 0;
    }
}

/* Keys that a block of the bf16 kernel takes at once. */
int64_t attention_mma_keys(int head_dim);
/* The gradients in bf16, each unless it is NULL; dq through g.dq_parts when there are any. */
void attention_mma_backward(struct ctx *c, const attention_grads<bf16> &g, attention_args<bf16> a,
                            const struct seqs *qs, const struct seqs *ks);

#endif
