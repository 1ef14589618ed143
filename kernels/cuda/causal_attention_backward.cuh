/*
 * causal_attention_backward.cuh - what the kernels of the backward read beside the arguments of the forward, and where
 * they write.
 *
 * With p_ij = exp(s_ij - lse_i), dp_ij = dy_i . v_j and delta_i = dy_i . y_i the slope of a score is
 * p_ij (dp_ij - delta_i), and 0 where the row sees one key, which has all its weight: delta is made first, on its own.
 * Where scores are capped the slope before that is slope_ij = p_ij (dp_ij - delta_i) (1 - (s_ij / cap)^2), s without
 * bias.
 */
#ifndef KERNELS_CUDA_CAUSAL_ATTENTION_BACKWARD_CUH
#define KERNELS_CUDA_CAUSAL_ATTENTION_BACKWARD_CUH

#include "kernels/cuda/causal_attention.cuh"

template <typename T>
struct causal_grads {
    const T *dy, *y;
    const float *lse;
    float *delta;    /* scratch [Tq, heads] */
    T *dq, *dk, *dv; /* laid out as q, k and v; null: not wanted */
    bool dq_add, dk_add, dv_add;
    const int *last; /* null without prefixes */
};

/* Whether a row that sees keys up to its place `last` sees one alone. */
template <typename T>
__device__ inline bool causal_alone(const causal_args<T> &a, int last)
{
    return last == 0 || a.window == 1;
}

/* How many of a sequence's rows of a group there are to the last that sees a key of the place `key`, that of the first
 * query being 0. */
template <typename T>
__device__ inline int causal_rows_until(const causal_args<T> &a, const struct packed_span &s, int key)
{
    int queries = a.window && key + a.window < s.n_queries ? key + a.window : s.n_queries;
    return queries > 0 ? queries * a.each : 0;
}

/* delta of a row, for all lanes of its warp; *square: of the length of dy. */
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

/* dq, dk and dv of bf16 on tensor cores, in `sums` of causal_sum_words; q_rows: Tq; false
 * where heads are longer than CAUSAL_SUM_DIM. */
bool causal_backward_mma(struct ctx *c, const causal_grads<bf16> &g, const causal_args<bf16> &a, const struct causal *s,
                         int *sums, int64_t q_rows, int64_t k_rows);

#endif
