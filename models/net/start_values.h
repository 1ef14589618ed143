/*
 * start_values.h - weights of a network that are changed before training: from the device and back.
 */
#ifndef MODELS_NET_START_VALUES_H
#define MODELS_NET_START_VALUES_H

#include "kernels/param.h"

/* F32 values of the parameter that t is; the caller frees. */
float *start_values(const struct params *p, const struct tensor *t, struct device *d);
/* Back to it; frees values. */
void start_upload(const struct params *p, const struct tensor *t, struct device *d, float *values);

#endif
