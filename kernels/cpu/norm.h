/*
 * norm.h - the norm of rows that are f32 already, for kernels that go on with them.
 */
#ifndef KERNELS_CPU_NORM_H
#define KERNELS_CPU_NORM_H

#include <stdint.h>

/* y = x / sqrt(mean(x^2) + eps) w for each of `groups` groups of n; rstd[groups] as the backward wants it */
void rms_norm_groups(float *y, float *rstd, const float *x, const float *w, int64_t groups, int64_t n, float eps);

#endif
