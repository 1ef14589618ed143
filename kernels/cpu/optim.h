/* optim.h - the common functions of the CPU's optimizers. */
#ifndef KERNELS_CPU_OPTIM_H
#define KERNELS_CPU_OPTIM_H

#include "kernels/kernels.h"

double sum_of_squares(const float *x, int64_t n);
/* The same of all gradients. */
float gradient_norm(const struct update_table *t);
double rate_at(const struct schedule *s, int64_t step);
/* Returns the factor of gradients with this squared norm; clip 0: no clipping. */
float clip_scale(float clip, float norm);

#endif
