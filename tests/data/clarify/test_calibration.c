/* Calibration: the likelihood that it maximises, and the parameters that it finds for golds sampled with known ones. */
#include "tests/support/support.h"

#include "data/clarify/calibration.h"
#include "kernels/rng.h"

#include <math.h>

static void test_likelihood(void **state)
{
    (void)state;
    static const double raw[] = { -1, -3 };
    static const int length[] = { 2, 4 };
    static const bool first[] = { true, false }, both[] = { true, true }, none[] = { false, false };
    const struct observation list[] = { { raw, length, first, 2 }, { raw, length, both, 2 } };
    assert_float_equal(calibration_nll(list, 1, 0, 1), log(1 + exp(-2)), 1e-12);
    assert_float_equal(calibration_nll(list, 1, 0, 4), log(1 + exp(-0.5)), 1e-12);
    assert_float_equal(calibration_nll(list, 1, 1, 1), log(1 + exp(-0.25)), 1e-12);
    assert_float_equal(calibration_nll(list, 2, 0, 1), log(1 + exp(-2)) / 2, 1e-12);
    const struct observation lost = { raw, length, none, 2 };
    assert_true(calibration_nll(&lost, 1, 0, 1) > 600); /* and finite */
}

enum { RECORDS = 4000, CANDIDATES = 5 };
struct world {
    double raw[RECORDS][CANDIDATES];
    int length[RECORDS][CANDIDATES];
    bool right[RECORDS][CANDIDATES];
    struct observation list[RECORDS];
};

/* Samples golds with p = softmax(raw / length^alpha / temperature). */
static void draw(struct world *w, double alpha, double temperature)
{
    struct rng rng = { 7, 0 };

    for (int r = 0; r < RECORDS; r++) {
        double p[CANDIDATES], sum = 0;
        for (int i = 0; i < CANDIDATES; i++) {
            w->length[r][i] = 4 + (int)rng_below(&rng, 30);
            w->raw[r][i] = -40.0 * (double)rng_uniform(&rng);
            w->right[r][i] = false;
            sum += p[i] = exp(w->raw[r][i] / pow(w->length[r][i], alpha) / temperature);
        }
        double at = sum * (double)rng_uniform(&rng);
        int gold = 0;
        while (gold < CANDIDATES - 1 && (at -= p[gold]) > 0)
            gold++;
        w->right[r][gold] = true;
        w->list[r] = (struct observation){ w->raw[r], w->length[r], w->right[r], CANDIDATES };
    }
}

static void test_fit_recovers_parameters(void **state)
{
    (void)state;
    static struct world w;
    static const struct calibration laws[] = { { 0, 5, 1, -1 }, { 1, 0.6, 1, -1 } };
    for (int i = 0; i < ARRAY_LEN(laws); i++) {
        draw(&w, laws[i].alpha, laws[i].temperature);
        struct calibration fit = calibration_fit(w.list, RECORDS);
        assert_true(fit.alpha == laws[i].alpha);
        assert_true(fabs(fit.temperature / laws[i].temperature - 1) < 0.08);
        double least = calibration_nll(w.list, RECORDS, fit.alpha, fit.temperature);
        for (int k = -20; k < 30; k++)
            assert_true(calibration_nll(w.list, RECORDS, fit.alpha, pow(1.1, k)) >= least - 1e-9);
    }
}

/* The threshold keeps the given share of golds of the same distribution; a missing gold never passes. */
static void test_threshold_share(void **state)
{
    (void)state;
    static struct world w;
    static const double shares[] = { 0.5, 0.8, 0.95 };
    draw(&w, 0, 5);
    const struct calibration law = { 0, 5, 1, -1 };
    for (int s = 0; s < ARRAY_LEN(shares); s++) {
        int half = RECORDS / 2, kept = 0;
        double keep = calibration_keep(&law, w.list, half, shares[s]), p[CANDIDATES];
        for (int r = half; r < RECORDS; r++) {
            calibration_shares(&law, p, w.raw[r], w.length[r], CANDIDATES, 1);
            for (int i = 0; i < CANDIDATES; i++)
                kept += w.right[r][i] && p[i] >= keep;
        }
        assert_true(fabs((double)kept / half - shares[s]) < 0.03);
    }
}

static void test_threshold_of_few_golds(void **state)
{
    (void)state;
    static const double raw[] = { -1, -2 };
    static const int length[] = { 2, 2 };
    static const bool first[] = { true, false }, second[] = { false, true }, none[] = { false, false };
    const struct observation list[] = { { raw, length, second, 2 },
                                        { raw, length, none, 2 },
                                        { raw, length, first, 2 } };
    const struct calibration law = { 0, 1, 1, -1 };
    double low = 1 / (1 + exp(1));
    assert_true(calibration_keep(&law, list, 3, 0.9) == 0);  /* three golds can promise three in four */
    assert_true(calibration_keep(&law, list, 3, 0.75) == 0); /* and one is missing */
    assert_true(fabs(calibration_keep(&law, list, 3, 0.5) - low) < 1e-5);
    assert_true(fabs(calibration_keep(&law, list, 3, 0.25) - (1 - low)) < 1e-5);
    assert_true(calibration_keep(&law, list, 3, 1) == 0);
}

static void test_length(void **state)
{
    (void)state;
    assert_int_equal(calibration_length("SELECT a, b FROM t WHERE a = 'x y'"), 10);
    assert_int_equal(calibration_length(""), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_likelihood),      cmocka_unit_test(test_fit_recovers_parameters),
        cmocka_unit_test(test_threshold_share), cmocka_unit_test(test_threshold_of_few_golds),
        cmocka_unit_test(test_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
