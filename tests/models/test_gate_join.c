/* Combines the probabilities of the detector's two heads: schema and linguistic ambiguity. */
#include "tests/support/support.h"

#include "models/gatekeeper/gate_model.h"

#include <math.h>

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static void one_of_two_is_so(void **state)
{
    const struct gate_model m = { .temperature = 1.7, .shift = 0.3, .linguistic_temperature = 0.6 };

    (void)state;
    for (double score = -6; score <= 6; score += 0.75)
        for (double words = -6; words <= 6; words += 0.75) {
            double p = sigmoid((score - m.shift) / m.temperature), q = sigmoid(words / m.linguistic_temperature);
            double got = gate_probability(&m, gate_join_logits(&m, score, words)), want = 1 - (1 - p) * (1 - q);
            assert_true(fabs(got - want) <= 1e-14);
            assert_int_equal(gate_words_likelier(&m, score, words), q > p);
        }
}

static void logits_without_bound_stay_in_order(void **state)
{
    const struct gate_model m = { .temperature = 1, .linguistic_temperature = 1 };
    const double far[] = { -3000, -700, -40, -1, 0, 1, 40, 700, 3000 };

    (void)state;
    for (int i = 0; i < ARRAY_LEN(far); i++) {
        assert_true(gate_join_logits(&m, far[i], -HUGE_VAL) == far[i]);
        assert_false(gate_words_likelier(&m, far[i], -HUGE_VAL));
        for (int k = 0; k < ARRAY_LEN(far); k++) {
            double joined = gate_join_logits(&m, far[i], far[k]);
            assert_true(isfinite(joined) && joined >= fmax(far[i], far[k]));
            assert_true(k == 0 || joined >= gate_join_logits(&m, far[i], far[k - 1]));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_of_two_is_so),
        cmocka_unit_test(logits_without_bound_stay_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
