/*
 * keep.h - dropout masks as factors, many Philox counters side by side.
 */
#ifndef KERNELS_CPU_KEEP_H
#define KERNELS_CPU_KEEP_H

#include <stdint.h>

/* keep[j] = 0 or 1 / (1 - p) for columns [4 * quad, 4 * quad + n) of a row, by the words of rng_quad. */
void keep_run(float *keep, const int32_t *rng, uint32_t site, uint32_t row, uint32_t quad, int64_t n, float p);

#endif
