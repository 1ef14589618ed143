/*
 * optim_model.h - a few parameters on a device, and numbers of gold files about their updates.
 */
#ifndef TESTS_OPTIM_MODEL_H
#define TESTS_OPTIM_MODEL_H

#include "kernels/optim.h"
#include "tests/support/step.h"

#include <jansson.h>

enum { MODEL_BYTES = 1 << 22 };

/* A model of a few parameters on a device. */
struct optim_model {
    struct test_step step;
    struct arena data;
    struct params params;
    struct param_arenas arenas;
    struct optim optim;
};

void optim_model_open(struct optim_model *m, enum optimizer optimizer);
void optim_model_close(struct optim_model *m);
float optim_first(struct optim_model *m, const struct tensor *t);

void optim_numbers(float *out, const json_t *list, int64_t n);
double optim_field(const json_t *o, const char *name);
/* Some updates add at most a few units of roundoff to numbers of size 1; none of it may come from elsewhere. */
void optim_check(double got, double want, const char *what, size_t step);

#endif
