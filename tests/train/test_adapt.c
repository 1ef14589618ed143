/* Fits of temperature and shift to few labels equal the minima of scipy; means and quantiles over samples. */
#include "tests/support/support.h"

#include "train/detector/adapt.h"
#include "train/detector/adapt_fit.h"
#include "train/detector/adapt_questions.h"

#include <math.h>

static const double logits[] = { -3.1, -1.2, -0.4, 0.3, 0.9, 2.2, -2.0, 0.1 };
static const uint8_t labels[] = { 0, 0, 1, 0, 1, 1, 1, 0 };
static const struct scored few = { logits, labels, ARRAY_LEN(labels) };

static double away(double x, double y)
{
    return fabs(x - y);
}

/* scipy.optimize.minimize, BFGS in f64, of sum(logaddexp(0, -+z)) + pull / 2 ((a - 1)^2 + b^2), z = a x + b. */
static void test_minima(void **state)
{
    static const struct {
        double pull, a, b;
    } cases[] = { { 1, 0.6232791774899068, 0.1492069491134273 },
                  { 4, 0.7841838232814541, 0.08117525747488728 },
                  { 16, 0.9255117812066394, 0.027617653607062646 } };

    (void)state;
    for (int i = 0; i < ARRAY_LEN(cases); i++) {
        struct adapt_scale k = adapt_scale_fit(few, cases[i].pull, -1);
        assert_true(away(k.a, cases[i].a) < 1e-6 && away(k.b, cases[i].b) < 1e-6);
    }
    struct adapt_scale k = adapt_scale_fit(few, INFINITY, -1);
    assert_true(k.a == 1 && k.b == 0);
    assert_true(away(adapt_loss(few, k), 0.6740348497203016) < 1e-12);
}

/* The mean held-out loss is 0.674, 0.699, 0.760 and 0.888 for no change and pulls of 16, 4 and 1. */
static void test_left_out_chooses(void **state)
{
    double loss;

    (void)state;
    struct adapt_scale k = adapt_calibrate(few, &loss);
    assert_true(k.a == 1 && k.b == 0);
    assert_true(away(loss, 0.6740348497203016) < 1e-12);
}

/* Scores that are too high by two are shifted down, and the held-out loss falls. */
static void test_shift(void **state)
{
    double high[ARRAY_LEN(logits)], loss;
    static const uint8_t truth[] = { 0, 0, 0, 1, 1, 1, 0, 1 };

    (void)state;
    for (int i = 0; i < ARRAY_LEN(high); i++)
        high[i] = logits[i] + 2;
    struct scored s = { high, truth, ARRAY_LEN(truth) };
    struct adapt_scale k = adapt_calibrate(s, &loss);
    assert_true(k.b < -0.5 && loss < adapt_loss(s, (struct adapt_scale){ 1, 0 }));
}

/* Labels that contradict the scores do not reverse their order. */
static void test_order_stays(void **state)
{
    uint8_t turned[ARRAY_LEN(labels)];
    double sure[ARRAY_LEN(labels)];

    (void)state;
    for (int i = 0; i < ARRAY_LEN(turned); i++) {
        turned[i] = logits[i] < 0;
        sure[i] = 20 * logits[i];
    }
    assert_true(adapt_scale_fit((struct scored){ sure, turned, ARRAY_LEN(turned) }, 1, -1).a >= 0.05);
}

/* A pair is in the list if fewer than ADAPT_PAIRS pairs have a higher logit, or an equal one earlier. */
static void test_likeliest(void **state)
{
    static const int sizes[] = { 0, 1, 15, 16, 17, 33, 127, 1025 };
    struct rng rng = { .seed = 3 };
    float logit[1025];
    int best[ADAPT_PAIRS];

    (void)state;
    for (int k = 0; k < ARRAY_LEN(sizes); k++) {
        int n = sizes[k];
        for (int i = 0; i < n; i++)
            logit[i] = (float)rng_below(&rng, 40) - 20; /* many are equal */
        int found = adapt_likeliest(logit, n, best);
        assert_int_equal(found, n < ADAPT_PAIRS ? n : ADAPT_PAIRS);
        for (int p = 0; p < n; p++) {
            int likelier = 0;
            for (int o = 0; o < n; o++)
                likelier += logit[o] > logit[p] || (o < p && logit[o] == logit[p]);
            assert_true(likelier >= ADAPT_PAIRS || best[likelier] == p);
        }
    }
}

static void test_spread(void **state)
{
    struct adapt_cell c = { 0 };

    (void)state;
    for (int i = 100; i >= 0; i--)
        adapt_cell_add(&c, (double[ADAPT_METRICS]){ [ADAPT_AP] = i, [ADAPT_BRIER] = i % 2 ? NAN : 7 });
    struct adapt_spread ap = adapt_cell_spread(&c, ADAPT_AP), brier = adapt_cell_spread(&c, ADAPT_BRIER);
    assert_true(away(ap.mean, 50) < 1e-12 && away(ap.low, 5) < 1e-12 && away(ap.high, 95) < 1e-12);
    assert_true(brier.mean == 7 && brier.low == 7 && brier.high == 7);
    adapt_cell_release(&c);
    adapt_cell_add(&c, (double[ADAPT_METRICS]){ [ADAPT_AP] = 3 });
    assert_true(adapt_cell_spread(&c, ADAPT_AP).low == 3);
    adapt_cell_release(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_minima),      cmocka_unit_test(test_left_out_chooses), cmocka_unit_test(test_shift),
        cmocka_unit_test(test_order_stays), cmocka_unit_test(test_likeliest),        cmocka_unit_test(test_spread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
