/* Tokens drawn from logits: exact chances over all of u's range, the nucleus, ties, extremes. */
#include "tests/support/support.h"

#include "models/lm/sample.h"
#include "tests/support/digest.h"

#include <math.h>
#include <stdlib.h>

enum { VOCAB = 50, DRAWS = 1 << 20 };

static void fill(float *logits)
{
    for (int i = 0; i < VOCAB; i++)
        logits[i] = 3 * formula_value("logits", i);
}

/* The likeliest tokens' chances after the cut at top_p, by repeated search for the next likeliest. */
static int nucleus(double *p, const float *logits, double temperature, double top_p)
{
    double whole = 0, held = 0;
    bool in[VOCAB] = { false };
    int n = 0;

    for (int i = 0; i < VOCAB; i++)
        whole += p[i] = exp((double)logits[i] / temperature);
    while (held < top_p * whole && n < VOCAB) {
        int best = -1;
        for (int i = 0; i < VOCAB; i++)
            if (!in[i] && (best < 0 || p[i] > p[best]))
                best = i;
        in[best] = true;
        held += p[best];
        n++;
    }
    for (int i = 0; i < VOCAB; i++)
        p[i] = in[i] ? p[i] / held : 0;
    return n;
}

/* With u at the middle of DRAWS equal steps, each token comes as often as its chance says, to one step at each end. */
static void check_chances(double temperature, double top_p)
{
    float logits[VOCAB];
    double p[VOCAB];
    int count[VOCAB] = { 0 };

    fill(logits);
    int n = nucleus(p, logits, temperature, top_p);
    for (int k = 0; k < DRAWS; k++)
        count[sample_token(logits, VOCAB, temperature, top_p, ((float)k + 0.5f) / (float)DRAWS)]++;
    for (int i = 0; i < VOCAB; i++)
        if (fabs(count[i] - p[i] * DRAWS) > 2)
            fail_msg("temperature %g, top_p %g: token %d drawn %d times, %g wanted", temperature, top_p, i, count[i],
                     p[i] * DRAWS);
    print_message("temperature %g, top_p %g: %d of %d tokens\n", temperature, top_p, n, VOCAB);
}

static void test_chances(void **state)
{
    (void)state;
    check_chances(1, 1);
    check_chances(0.3, 1);
    check_chances(4, 0.95);
    check_chances(1, 0.5);
    check_chances(1, 0.9);
    check_chances(0.7, 1e-9);
}

/* Equal logits: the nucleus takes the first ones. */
static void test_ties(void **state)
{
    float logits[4] = { 1, 1, 1, 1 };

    (void)state;
    for (int k = 0; k < 100; k++)
        assert_true(sample_token(logits, 4, 1, 0.5, (float)k / 100) < 2);
    assert_int_equal(sample_token(logits, 4, 1, 1, 0), 0);
    assert_int_equal(sample_token(logits, 4, 1, 1, 0x1.fffffep-1f), 3);
    assert_int_equal(sample_token(logits, 1, 1, 1, 0.5f), 0);
}

/* Tiny temperatures and far-off logits neither overflow nor draw what has no chance. */
static void test_extremes(void **state)
{
    float logits[4] = { -3e38f, 3e38f, 0, -INFINITY };

    (void)state;
    for (int k = 0; k < 100; k++) {
        assert_int_equal(sample_token(logits, 4, 1, 1, (float)k / 100), 1);
        assert_int_equal(sample_token(logits, 4, 1e-300, 0.9, (float)k / 100), 1);
    }
    float near[3] = { 1, 1.0000001f, 0.5f };
    assert_int_equal(sample_token(near, 3, 1e-12, 1, 0.999f), 1);
}

/* Logits that are no numbers (weights that overflow) have no chance; with no other there still is a token. */
static void test_no_numbers(void **state)
{
    float some[4] = { NAN, 1, NAN, 1 }, none[4] = { NAN, NAN, NAN, NAN }, above[4] = { 0, INFINITY, 5, INFINITY };

    (void)state;
    for (int k = 0; k < 100; k++) {
        int32_t id = sample_token(some, 4, 1, 0.9, (float)k / 100);
        assert_true(id == 1 || id == 3);
        assert_int_equal(sample_token(none, 4, 1, 1, (float)k / 100), 0);
        id = sample_token(above, 4, 1, 1, (float)k / 100);
        assert_true(id == 1 || id == 3);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_chances), cmocka_unit_test(test_ties),
                                        cmocka_unit_test(test_extremes), cmocka_unit_test(test_no_numbers) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
