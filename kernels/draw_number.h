/*
 * draw_number.h - the arithmetic of sampling (op_draw), which every device shares.
 *
 * Probabilities are converted to integers, multiples of 2^-40 of the largest one, and then added.  Sums are the same in
 * any order.  Thresholds and samples therefore need neither a sorted vocabulary nor a fixed order of threads.
 */
#ifndef KERNELS_DRAW_NUMBER_H
#define KERNELS_DRAW_NUMBER_H

#include "kernels/rng.h"

#ifdef __CUDACC__
#define DRAW_INLINE static __host__ __device__ __forceinline__
#else
#define DRAW_INLINE static inline
#endif

/* Converts x in [0, 2^6) to grains; 2^18 such numbers can be added without overflow. */
DRAW_INLINE uint64_t draw_grains(float x)
{
    return (uint64_t)(x * 0x1p40f);
}

/* Returns the smallest number of grains that is at least `share` of the sum, and at least 1 to keep the likeliest
 * token. */
DRAW_INLINE uint64_t draw_share(uint64_t sum, float share)
{
    double part = (double)share * (double)sum;
    uint64_t whole = (uint64_t)part;
    whole += (double)whole < part;
    return whole ? whole : 1;
}

/* Returns the index of the sampled grain, of `sum` grains, for a row of a request at a step. */
DRAW_INLINE uint64_t draw_grain(uint64_t sum, uint64_t seed, const int32_t *key, uint32_t row, uint32_t step)
{
    struct philox counter = { { step, row, (uint32_t)key[0], (uint32_t)key[1] } };
    uint32_t word = philox_block(counter, (uint32_t)seed, (uint32_t)(seed >> 32)).v[0];
    return (uint64_t)((double)(word >> 8) * 0x1p-24 * (double)sum);
}

#undef DRAW_INLINE

#endif
