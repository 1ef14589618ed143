/* AMBIT_TRACE and AMBIT_CHECK_NAN, which are read once: this program runs itself with them set. */
#include "tests/support/step.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 2, COLS = 3, ABORTED = 128 + 6 };

/* The traced kernels: three, of which the second makes a NaN of two infinities. */
static void run_step(void **state)
{
    static const float a[ROWS * COLS] = { 1, 2, 3, 4, 5, INFINITY }, b[ROWS * COLS] = { 1, 1, 1, 1, 1, -INFINITY };
    struct test_step s;

    (void)state;
    test_step_open(&s);
    struct ctx *c = &s.ctx;
    op_scale(c, batch_f32(c, a, 1, COLS, F32), 2);
    struct tensor *y = op_add(c, batch_f32(c, a, ROWS, COLS, F32), batch_f32(c, b, ROWS, COLS, F32));
    y = op_scale(c, y, 0.5f);
    float *values = test_values(&s, y);
    assert_true(isnan(values[ROWS * COLS - 1]));
    free(values);
    test_step_close(&s);
}

/* The exit code and the output of one of the build's tests, this one ("test_trace run") or another. */
static int run_with(const char *variables, const char *test, char **output)
{
    char command[256];

    snprintf(command, sizeof command, "AMBIT_TEST_DEVICE=%s %s %s", test_device_name(), variables, test);
    return test_run(command, output);
}

static void check_says(char *output, bool says, const char *text)
{
    if ((strstr(output, text) != NULL) != says)
        fail_msg("expected %s\"%s\", got:\n%s", says ? "" : "no ", text, output);
}

/* Each kernel has its line, with time, names, types and shapes; nothing stops. */
static void test_trace(void **state)
{
    char *output;

    (void)state;
    assert_int_equal(run_with("AMBIT_TRACE=1", "test_trace run", &output), 0);
    check_says(output, true, " ms  scale  y f32[1, 3]  x f32[1, 3]  alpha 2\n");
    check_says(output, true, " ms  add  y f32[2, 3]  a f32[2, 3]  b f32[2, 3]\n");
    check_says(output, true, " ms  scale  y f32[2, 3]  x f32[2, 3]  alpha 0.5\n");
    free(output);
}

/* The first kernel that wrote it is named, with the file of its op, and the step ends there. */
static void test_check_nan(void **state)
{
    char *output;

    (void)state;
    assert_int_equal(run_with("AMBIT_CHECK_NAN=1", "test_trace run", &output), ABORTED);
    check_says(output, true, "kernels/ops/elementwise.c:");
    check_says(output, true, "y[1, 2] is ");
    check_says(output, true, "nan after add  y f32[2, 3]  a f32[2, 3]  b f32[2, 3]\n");
    check_says(output, false, "scale");
    free(output);
}

static void test_off(void **state)
{
    char *output;

    (void)state;
    assert_int_equal(run_with("AMBIT_TRACE= AMBIT_CHECK_NAN=0", "test_trace run", &output), 0);
    check_says(output, false, "scale");
    free(output);
}

/* Whole steps, forward and backward, with bf16 and dropout, are finite throughout; captured steps are not traced. */
static void test_captured(void **state)
{
    char *output;

    (void)state;
    assert_int_equal(run_with("AMBIT_TRACE=1 AMBIT_CHECK_NAN=1", "test_capture", &output), 0);
    check_says(output, true, " ms  adamw  norm ");
    free(output);
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest runs[] = { cmocka_unit_test(run_step) };
    static const struct CMUnitTest tests[] = { cmocka_unit_test(test_trace), cmocka_unit_test(test_check_nan),
                                               cmocka_unit_test(test_off), cmocka_unit_test(test_captured) };

    if (argc > 1 && !strcmp(argv[1], "run"))
        return test_devices(runs, ARRAY_LEN(runs));
    return test_devices(tests, ARRAY_LEN(tests));
}
