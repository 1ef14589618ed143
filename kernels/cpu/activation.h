/*
 * activation.h - activations over f32 runs, for the kernels that apply one on the way.
 */
#ifndef KERNELS_CPU_ACTIVATION_H
#define KERNELS_CPU_ACTIVATION_H

#include "kernels/ops.h"

/* y = act(x); y may be x */
void activation_run(float *y, const float *x, int64_t n, enum activation act);
/* dx = dy act'(x) */
void activation_back_run(float *dx, const float *dy, const float *x, int64_t n, enum activation act);

#endif
