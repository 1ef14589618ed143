/*
 * row_parts.cuh - rows of logits that several blocks share.
 *
 * A row is as long as a vocabulary, and a step has few rows: a block a row would leave most multiprocessors idle.  A
 * block therefore takes ROW_PART choices of a row and holds them in registers.  The last block to finish its part of a
 * row continues alone with the results of all parts (last_to_arrive).
 *
 * The parts depend on the length of the row alone, and so does the order of sums.
 */
#ifndef KERNELS_CUDA_ROW_PARTS_CUH
#define KERNELS_CUDA_ROW_PARTS_CUH

#include "kernels/cuda/decode.cuh"

/* A thread holds QUADS groups of QUAD neighbouring choices.  The groups of a warp's lanes lie side by side, so each
 * load of the warp reads 512 neighbouring bytes. */
constexpr int PART_THREADS = 256, PART_WARPS = PART_THREADS / WARP, QUAD = 4, QUADS = 4, EACH = QUAD * QUADS;
constexpr int ROW_PART = PART_THREADS * EACH;

/* Returns the number of parts of a row. */
__host__ __device__ inline int row_parts(int64_t choices)
{
    return (int)((choices + ROW_PART - 1) / ROW_PART);
}

/* Returns the choice that this thread holds in v[k] after load_part. */
__device__ inline int part_choice(int part, int k)
{
    return part * ROW_PART + (k / QUAD * PART_THREADS + thread_id()) * QUAD + k % QUAD;
}

/* v = the logits of this thread's choices, -infinity behind the end of the row.  Whole parts of an aligned row without
 * an automaton are read 16 bytes at a time. */
__device__ inline void load_part(float (&v)[EACH], const choice_view &ch, int part)
{
    int first = part_choice(part, 0), n = (int)ch.n;
    if (!ch.token && (part + 1) * ROW_PART <= n && aligned16(ch.x)) {
        UNROLL
        for (int q = 0; q < QUADS; q++) {
            float4 a = *(const float4 *)(ch.x + first + q * QUAD * PART_THREADS);
            v[QUAD * q] = a.x, v[QUAD * q + 1] = a.y, v[QUAD * q + 2] = a.z, v[QUAD * q + 3] = a.w;
        }
        return;
    }
    UNROLL
    for (int k = 0; k < EACH; k++) {
        int at = part_choice(part, k);
        v[k] = at < n ? choice_logit(ch, at) : -INFINITY;
    }
}

/* Returns the largest number in v. fmaxf skips NaN. */
__device__ inline float most_of(const float (&v)[EACH])
{
    float most = -INFINITY;
    UNROLL
    for (int k = 0; k < EACH; k++)
        most = fmaxf(most, v[k]);
    return most;
}

/* Returns the largest logit of the part and the sum of exp(logit - largest), to all threads of the block. */
__device__ inline normaliser part_normaliser(const float (&v)[EACH])
{
    float most = block_max(most_of(v)), sum = 0;
    if (most > -INFINITY) {
        UNROLL
        for (int k = 0; k < EACH; k++)
            sum += exp_below(v[k], most);
    }
    return { most, block_sum(sum) };
}

#endif
