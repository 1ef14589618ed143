/*
 * dropout_mask.h - dropout masks as factors, and noise, from many Philox counters in parallel.
 */
#ifndef KERNELS_CPU_DROPOUT_MASK_H
#define KERNELS_CPU_DROPOUT_MASK_H

#include <stdint.h>

enum { DROPOUT_MASK_LANES = 16 };

/* keep[j] = 0 or 1 / (1 - p) for columns [4 * quad, 4 * quad + n) of a row, by the words of rng_quad. */
void dropout_mask_run(float *keep, const int32_t *rng, uint32_t site, uint32_t row, uint32_t quad, int64_t n, float p);
/* Like dropout_mask_run, for columns 4 * quad .. 4 * quad + 3 of DROPOUT_MASK_LANES rows: keep[k][l] is of column k,
 * row first + l * step. */
void dropout_mask_lanes(float keep[4][DROPOUT_MASK_LANES], const int32_t *rng, uint32_t site, uint32_t first,
                        uint32_t step, uint32_t quad, float p);
/* u[j] = (word >> 8) 2^-23 - 1, uniform in [-1, 1), for columns [4 * quad, 4 * quad + n) of a row. */
void noise_run(float *u, const int32_t *rng, uint32_t site, uint32_t row, uint32_t quad, int64_t n);

#endif
