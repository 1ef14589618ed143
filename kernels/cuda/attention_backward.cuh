/*
 * attention_backward.cuh - the common part of the backward of attention in f32 and in bf16: its gradients, and that of
 * the bias table.
 *
 * The gradient of the table is summed without atomics.  Each block sums its own copy of the table, and the copies are
 * added in order.
 */
#ifndef KERNELS_CUDA_ATTENTION_BACKWARD_CUH
#define KERNELS_CUDA_ATTENTION_BACKWARD_CUH

#include "kernels/cuda/attention.cuh"

/* Inputs of the backward beside the arguments of the forward, and its outputs. */
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

/* Returns this block's copy of the bias table's gradient, set to 0; NULL if the gradient is not wanted. */
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
 * Adds a tile of ds down its diagonals to the block's copy of the table.  ds(i, j) belongs to query i and key j of the
 * tile, and `ahead` is the position of key 0 minus that of query 0.
 *
 * All pairs of a diagonal have the same distance, and thus the same cell.  Cells are clipped to the reach of the table,
 * so several diagonals may share one.  Each cell is written by one thread, which adds its diagonals in order.  Call it
 * between two barriers of the whole block.
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
    /* Every thread walks over all diagonals.  It keeps a running sum until the cell changes. */
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

/* The number of keys that a block of the bf16 kernel takes at once. */
int64_t attention_mma_keys(int head_dim);
/* The gradients in bf16, each unless it is NULL. dq goes through g.dq_parts if these exist. */
void attention_mma_backward(struct ctx *c, const attention_grads<bf16> &g, attention_args<bf16> a,
                            const struct seqs *qs, const struct seqs *ks);

#endif
