/*
 * step.h - a device with the arenas of one step, for tests that run ops by hand.
 */
#ifndef TESTS_STEP_H
#define TESTS_STEP_H

#include "kernels/batch.h"
#include "kernels/device.h"
#include "kernels/kernels.h"
#include "tests/support/support.h"

struct test_step {
    struct device device;
    struct arena host, step;
    struct ctx ctx; /* recording, training, and with a seed */
};

/* The device that test_devices is at. */
const char *test_device_name(void);
void test_device_open(struct device *d);
/* Skips the rest of a test on simt, which is slow, unless test_all. */
void test_not_on_simt(void);
/* On that device, which stays open between steps. */
void test_step_open(struct test_step *s);
void test_step_close(struct test_step *s);
/* A tensor that wants a gradient, as a parameter of its own or as an activation. */
struct tensor *test_input(struct test_step *s, const float *values, int64_t rows, int64_t cols, bool param);
/* The numbers of an F32 tensor; the caller frees. */
float *test_values(struct test_step *s, const struct tensor *t);

/* Runs the tests on every device that opens, or on the one that AMBIT_TEST_DEVICE names, which must; returns how many
 * failed. */
int test_devices(const struct CMUnitTest *tests, size_t n);

#endif
