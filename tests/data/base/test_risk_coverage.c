/* Risk-coverage curves by hand: ties, shares that do not divide evenly, and no decisions. */
#include "tests/support/support.h"

#include "data/base/risk_coverage.h"

#include <math.h>

/* The margins 3, 2, 2, 1: right, wrong, right, wrong. */
static const struct risk_decision decisions[] = { { 3, true }, { 2, false }, { 2, true }, { 1, false } };

static void ties_are_answered_together(void **state)
{
    int right;
    (void)state;
    assert_int_equal(risk_answered(decisions, 4, 1, &right), 4);
    assert_int_equal(right, 2);
    assert_int_equal(risk_answered(decisions, 4, .5, &right), 3);
    assert_int_equal(right, 2);
    assert_int_equal(risk_answered(decisions, 4, .1, &right), 1);
    assert_int_equal(right, 1);
    assert_int_equal(risk_answered(decisions, 4, 0, &right), 0);
    assert_int_equal(right, 0);
}

static void a_curve_has_a_point_for_each_margin(void **state)
{
    struct risk_curve c;
    (void)state;
    risk_curve_init(&c, decisions, 4);
    assert_int_equal(c.points, 3);
    assert_true(fabs(c.coverage[0] - .25) < 1e-15);
    assert_true(fabs(c.risk[0] - 0) < 1e-15);
    assert_true(fabs(c.coverage[1] - .75) < 1e-15);
    assert_true(fabs(c.risk[1] - (1 / 3.0)) < 1e-15);
    assert_true(fabs(c.coverage[2] - 1) < 1e-15);
    assert_true(fabs(c.risk[2] - .5) < 1e-15);
    assert_true(fabs(c.area - ((0 + 2 / 3.0 + .5) / 4)) < 1e-15);
    risk_curve_release(&c);
}

static void no_decisions_have_no_curve(void **state)
{
    struct risk_curve c;
    int right = 1;
    (void)state;
    assert_int_equal(risk_answered(decisions, 0, 1, &right), 0);
    assert_int_equal(right, 0);
    risk_curve_init(&c, decisions, 0);
    assert_int_equal(c.points, 0);
    assert_true(isnan(c.area));
    risk_curve_release(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(ties_are_answered_together),
                                        cmocka_unit_test(a_curve_has_a_point_for_each_margin),
                                        cmocka_unit_test(no_decisions_have_no_curve) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
