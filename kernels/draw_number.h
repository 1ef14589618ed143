/*
 * draw_number.h - the arithmetic of op_draw that every device shares.
 *
 * Probabilities are added as integers, multiples of 2^-40 of the likeliest token's: sums are the same in any order, so
 * thresholds and draws need no sorted vocabulary and no fixed order of threads.
 */
#ifndef KERNELS_DRAW_NUMBER_H
#define KERNELS_DRAW_NUMBER_H

#include "kernels/rng.h"

#ifdef __CUDACC__
#define DRAW_INLINE static __host__ __device__ __forceinline__
#else
#define DRAW_INLINE static inline
#endif

/* Of x in [0, 2^6): 2^18 of them fit. */
DRAW_INLINE uint64_t draw_grains(float x)
{
    return (uint64_t)(x * 0x1p40f);
}

/* The least whole number of grains that holds a share of a sum; at least 1, so that the likeliest token stays. */
DRAW_INLINE uint64_t draw_share(uint64_t sum, float share)
{
    double part = (double)share * (double)sum;
    uint64_t whole = (uint64_t)part;
    whole += (double)whole < part;
    return whole ? whole : 1;
}

/* Which of `sum` grains is drawn for a row of a request after so many steps. */
DRAW_INLINE uint64_t draw_grain(uint64_t sum, uint64_t seed, const int32_t *key, uint32_t row, uint32_t step)
{
    struct philox counter = { { step, row, (uint32_t)key[0], (uint32_t)key[1] } };
    uint32_t word = philox_block(counter, (uint32_t)seed, (uint32_t)(seed >> 32)).v[0];
    return (uint64_t)((double)(word >> 8) * 0x1p-24 * (double)sum);
}

#undef DRAW_INLINE

#endif
