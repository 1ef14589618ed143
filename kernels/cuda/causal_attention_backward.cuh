/*
 * causal_attention_backward.cuh - the common part of the kernels of the backward of causal attention.
 *
 * With p_ij = exp(s_ij - lse_i), dp_ij = dy_i . v_j and delta_i = dy_i . y_i, the slope of a score is p_ij (dp_ij -
 * delta_i).  A kernel of its own computes delta first.  If a row sees one key only, the key has all the weight and the
 * slope is 0.
 *
 * With capped scores, the slope before the cap is slope_ij = p_ij (dp_ij - delta_i) (1 - (s_ij / cap)^2), with s_ij
 * without its bias.
 */
#ifndef KERNELS_CUDA_CAUSAL_ATTENTION_BACKWARD_CUH
#define KERNELS_CUDA_CAUSAL_ATTENTION_BACKWARD_CUH

#include "kernels/cuda/causal_attention.cuh"

/* Inputs of the backward beside the arguments of the forward, and its outputs. */
template <typename T>
struct causal_grads {
    const T *dy, *y;
    const float *lse;
    float *delta;    /* scratch [Tq, heads] */
    T *dq, *dk, *dv; /* laid out as q, k and v; null: not wanted */
    bool dq_add, dk_add, dv_add;
    const int *last; /* null without prefixes */
};

/* Whether a row sees one key alone, if `last` is the position of its last key. */
template <typename T>
__device__ inline bool causal_alone(const causal_args<T> &a, int last)
{
    return last == 0 || a.window == 1;
}

/* Returns the number of rows of a group of a sequence up to the last row that sees a key.  `key` is the key's position,
 * where the first query has position 0. */
template <typename T>
__device__ inline int causal_rows_until(const causal_args<T> &a, const struct packed_span &s, int key)
{
    int queries = a.window && key + a.window < s.n_queries ? key + a.window : s.n_queries;
    return queries > 0 ? queries * a.each : 0;
}

/* Returns delta of a row to all lanes of its warp. *square is the squared length of dy. */
template <typename T>
__device__ inline float causal_delta(float *square, const T *dy, const T *y, int dim)
{
    float dot = 0, length = 0;
    for (int d = lane_id() * PACK; d < dim; d += WARP * PACK) {
        float a[PACK], b[PACK];
        load_pack(a, dy + d, dim - d);
        load_pack(b, y + d, dim - d);
        for (int i = 0; i < PACK; i++) {
            dot += a[i] * b[i];
            length += a[i] * a[i];
        }
    }
    *square = warp_sum(length);
    return warp_sum(dot);
}

/* dq, dk and dv of bf16 on tensor cores.  `sums` has causal_sum_words words, and q_rows is Tq.  Returns false, with
 * nothing done, if heads have more than CAUSAL_SUM_DIM channels. */
bool causal_backward_mma(struct ctx *c, const causal_grads<bf16> &g, const causal_args<bf16> &a, const struct causal *s,
                         int *sums, int64_t q_rows, int64_t k_rows);

#endif
