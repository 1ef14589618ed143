#include "kernels/cpu/vmath.h"

#include "tests/support/support.h"

#include <math.h>

static double worst(double at_worst, float got, double want)
{
    return fmax(at_worst, fabs((double)got - want) / fabs(want));
}

static void test_exp(void **state)
{
    double e = 0;

    (void)state;
    for (float x = -87.2f; x < 88.2f; x += 1e-3f)
        e = worst(e, vexp(x), exp((double)x));
    assert_true(e < 2e-7);
    assert_true(vexp(-1000) < 1.3e-38f && vexp(-1000) > 0);
    assert_true(vexp(1000) > 2e38f && isfinite(vexp(1000)));
    assert_true(isnan(vexp(NAN)));
}

/* Around 1 the logarithm is small, and its relative error counts. */
static void test_log(void **state)
{
    double e = 0;

    (void)state;
    for (float x = 1e-30f; x < 1e30f; x *= 1.0003f)
        e = worst(e, vlog(x), log((double)x));
    for (float x = 1.0001f; x < 3; x += 1e-4f)
        e = worst(e, vlog(x), log((double)x));
    assert_true(e < 2e-7);
    assert_true(vlog(1) == 0);
}

/* From e^-20 to e^3, spaced by ratio: the relative error near zero counts. */
static void test_odd_functions(void **state)
{
    double tanh_error = 0, erf_error = 0, expm1_error = 0;

    (void)state;
    for (double log_x = -20; log_x < 3; log_x += 1e-4) {
        float x = (float)exp(log_x);
        tanh_error = worst(tanh_error, vtanh(x), tanh((double)x));
        erf_error = worst(erf_error, verf(-x), erf(-(double)x));
        expm1_error = worst(expm1_error, vexpm1_negative(-x), expm1(-(double)x));
    }
    assert_true(tanh_error < 4e-7);
    assert_true(erf_error < 4e-7);
    assert_true(expm1_error < 4e-7);
    assert_true(isnan(vtanh(NAN)) && isnan(verf(NAN)));
}

static void test_sigmoid(void **state)
{
    double e = 0;

    (void)state;
    for (float x = -80; x < 80; x += 1e-2f)
        e = worst(e, vsigmoid(x), 1 / (1 + exp(-(double)x)));
    assert_true(e < 4e-7);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_exp), cmocka_unit_test(test_log),
                                        cmocka_unit_test(test_odd_functions), cmocka_unit_test(test_sigmoid) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
