/*
 * step.h - a device with the arenas of one step, for tests that run ops by hand.
 */
#ifndef TESTS_STEP_H
#define TESTS_STEP_H

#include "kernels/batch.h"
#include "kernels/device.h"
#include "kernels/kernels.h"

struct test_step {
    struct device device;
    struct arena host, step;
    struct ctx ctx; /* recording, training, and with a seed */
};

/* A device that does not open ends the test. */
void test_step_open(struct test_step *s, const char *device);
void test_step_close(struct test_step *s);
/* A tensor that wants a gradient, as a parameter of its own or as an activation. */
struct tensor *test_input(struct test_step *s, const float *values, int64_t rows, int64_t cols, bool param);
/* The numbers of an F32 tensor; the caller frees. */
float *test_values(struct test_step *s, const struct tensor *t);

#endif
