/*
 * causal_rows.cuh - causal attention without tensor cores.
 *
 * A warp holds one row, or one key, in shared memory.  It computes the scores of 32 of the others at once, a lane each.
 * Then all lanes together add the values of these 32 in registers, a lane for every 32nd column.
 */
#ifndef KERNELS_CUDA_CAUSAL_ROWS_CUH
#define KERNELS_CUDA_CAUSAL_ROWS_CUH

#include "kernels/cuda/causal_attention.cuh"

constexpr int ROW_WARPS = 4, ROW_PARTS = 8; /* ROW_PARTS: max numbers of a head that a lane has */

/* x . y over a head; x is padded with zeros to a whole PACK.  It keeps PACK sums and adds them in pairs: that loses
 * fewer bits than one long sum, and no addition waits for another. */
template <typename T>
__device__ inline float dot_row(const float *x, const T *y, int dim)
{
    float sum[PACK] = { 0 };
    for (int d = 0; d < dim; d += PACK) {
        float v[PACK];
        load_pack(v, y + d, dim - d);
        UNROLL
        for (int i = 0; i < PACK; i++)
            sum[i] += x[d + i] * v[i];
    }
    return ((sum[0] + sum[4]) + (sum[2] + sum[6])) + ((sum[1] + sum[5]) + (sum[3] + sum[7]));
}

/* x[0 .. dim) = y by the whole warp, with zeros up to a whole PACK. */
template <typename T>
__device__ inline void load_row(float *x, const T *y, int dim)
{
    for (int d = lane_id(); d < (dim + PACK - 1) / PACK * PACK; d += WARP)
        x[d] = d < dim ? (float)y[d] : 0.0f;
}

/* y[0 .. dim) (+)= factor x by the whole warp. */
template <typename T>
__device__ inline void put_row(T *y, const float (&x)[ROW_PARTS], float factor, int dim, bool add)
{
    UNROLL
    for (int i = 0; i < ROW_PARTS; i++)
        if (lane_id() + i * WARP < dim)
            put(y + lane_id() + i * WARP, factor * x[i], add);
}

/* x += w y by the whole warp. */
template <typename T>
__device__ inline void add_row(float (&x)[ROW_PARTS], float w, const T *y, int dim)
{
    UNROLL
    for (int i = 0; i < ROW_PARTS; i++)
        if (lane_id() + i * WARP < dim)
            x[i] += w * (float)y[lane_id() + i * WARP];
}

/* out = shrink out + sum_i weight[i] values(i), over the n keys of a round.  The round is summed by itself first, so
 * that long rows lose fewer bits than in one sum. */
template <typename Values>
__device__ inline void add_round(float (&out)[ROW_PARTS], float shrink, const float *weight, int n, int dim,
                                 Values values)
{
    float sum[ROW_PARTS] = { 0 };
    for (int i = 0; i < n; i++)
        add_row(sum, weight[i], values(i), dim);
    UNROLL
    for (int i = 0; i < ROW_PARTS; i++)
        out[i] = fmaf(out[i], shrink, sum[i]);
}

#endif
