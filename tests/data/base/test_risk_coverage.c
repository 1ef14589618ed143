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

static void rows_have_coverages(void **state)
{
    struct risk_decision mixed[] = { { 1, false }, { 2, true }, { 3, true }, { 2, false } };
    struct risk_row rows[RISK_ROWS];
    (void)state;
    risk_sort(mixed, 4);
    assert_true(mixed[0].margin >= 3 && mixed[3].margin <= 1);
    risk_rows(rows, mixed, 4);
    static const int answered[RISK_ROWS] = { 4, 4, 4, 4, 3, 3, 3, 3, 3, 1, 1 };
    for (int i = 0; i < RISK_ROWS; i++)
        assert_int_equal(rows[i].answered, answered[i]);
    assert_true(fabs(rows[0].accuracy - .5) < 1e-15 && fabs(rows[0].coverage - 1) < 1e-15);
    assert_true(fabs(rows[6].accuracy - (2 / 3.0)) < 1e-15 && fabs(rows[6].coverage - .75) < 1e-15);
    assert_int_equal(rows[10].right, 1);
    struct risk_row none = risk_row_of(0, 0, 4);
    assert_true(isnan(none.accuracy));
    json_t *o = risk_row_json(&none);
    assert_true(json_is_null(json_object_get(o, "accuracy")));
    json_decref(o);
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
                                        cmocka_unit_test(rows_have_coverages),
                                        cmocka_unit_test(no_decisions_have_no_curve) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
