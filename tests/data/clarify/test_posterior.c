/* Posteriors and strategies: numbers computed by hand, and general laws. */
#include "tests/support/posteriors.h"
#include "tests/support/support.h"

#include "data/clarify/posterior.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Four interpretations of "List employees in sales hired after 2020". */
static const int output[] = { 0, 1, 0, 1 }, dept[] = { 0, 0, 0, 1 };
static const struct split noisy[] = { { output, 2, 0.1, 1, 0 }, { dept, 2, 0.1, 1, 0 } };
static double example_p[] = { 0.4, 0.2, 0.2, 0.2 };
static const struct posterior example_prior = { example_p, 4, 0 };

/* H(S) - sum over answers of P(a) H(S | a), by definition. */
static double gain_by_definition(const struct posterior *b, const struct split *s)
{
    double gain = posterior_entropy(b);
    for (int k = 0; k < s->n_values; k++) {
        double joint[50], mass = 0;
        for (int i = 0; i < b->n; i++)
            mass += joint[i] = b->p[i] * split_likelihood(s, s->value[i], k);
        for (int i = 0; mass > 0 && i < b->n; i++)
            joint[i] /= mass;
        gain -= mass * entropy_of(joint, b->n);
    }
    return gain;
}

static void test_gain_is_entropy_of_answer(void **state)
{
    (void)state;
    struct rng r = { .seed = 2 };
    for (int round = 0; round < 10000; round++) {
        double p[50], mass[50];
        int value[50], n = 1 + (int)rng_below(&r, 50), m = 2 + (int)rng_below(&r, 7);
        random_masses(p, n, &r);
        for (int i = 0; i < n; i++)
            value[i] = (int)rng_below(&r, (uint32_t)m);
        struct posterior b = { p, n, 0 };
        struct split s = { value, m, 0, 1, 0 };
        posterior_masses(mass, &b, &s);
        assert_near(gain_by_definition(&b, &s), entropy_of(mass, m), 1e-12);
        assert_near(posterior_gain(&b, &s), entropy_of(mass, m), 1e-12);
        s.noise = 0.4 * uniform(&r);
        if (posterior_masses(mass, &b, &s) > 1)
            assert_near(posterior_gain(&b, &s), gain_by_definition(&b, &s), 1e-12);
    }
}

/* A root divides the best candidate from a node with seven leaves. */
static void test_best_question_off_path(void **state)
{
    (void)state;
    double p[] = { 0.3, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1 };
    const int root[] = { 0, 1, 1, 1, 1, 1, 1, 1 }, node[] = { 7, 0, 1, 2, 3, 4, 5, 6 };
    const bool all[] = { 1, 1, 1, 1, 1, 1, 1, 1 }, right[] = { 0, 1, 1, 1, 1, 1, 1, 1 };
    const struct split splits[] = { { root, 2, 0, 1, 0 }, { node, 8, 0, 1, 0 } };
    struct posterior b = { p, 8, 0 };
    assert_int_equal(strategy_choose(STRATEGY_PATH, &b, splits, 2, NULL), 0);
    assert_digits(strategy_node_score(&b, &splits[0], all), 0.881291);
    assert_digits(strategy_node_score(&b, &splits[1], right), 1.965148);
    assert_int_equal(strategy_choose(STRATEGY_EIG, &b, splits, 2, NULL), 1);
    assert_digits(posterior_gain(&b, &splits[1]), 2.846439);
}

static void test_path_score(void **state)
{
    (void)state;
    double p[] = { 0.26, 0.25, 0.25, 0.24 };
    const int first[] = { 0, 0, 1, 1 }, second[] = { 0, 1, 0, 1 };
    const bool through[] = { 1, 1, 0, 0 };
    const struct split splits[] = { { first, 2, 0, 1, 0 }, { second, 2, 0, 1, 0 } };
    struct posterior b = { p, 4, 0 };
    assert_digits(posterior_gain(&b, &splits[1]), 0.999711);
    assert_digits(strategy_node_score(&b, &splits[1], through), 0.509859);
}

/* The approximation ignores the answers of users off the path. */
static void test_bounds_of_path(void **state)
{
    (void)state;
    const double on = 0.3, off = 0.4, answers[] = { on + off * 0.9, on + off * 0.1 }, law[] = { 0.9, 0.1 };
    assert_digits(entropy_of(answers, 2) - off * entropy_of(law, 2), 0.737220);
    const int apart[] = { 0, 1, 2 };
    double p[] = { on, on, off };
    struct posterior b = { p, 3, 0 };
    assert_digits(posterior_gain(&b, &(struct split){ apart, 3, 0, 1, 0 }), 1.570951);
    const double one_left[] = { 0.3 / 0.7, 0.4 / 0.7 }, four[] = { 0.3, 0.3, 0.1, 0.1, 0.1, 0.1 };
    const double four_left[] = { 0.3 / 0.7, 0.1 / 0.7, 0.1 / 0.7, 0.1 / 0.7, 0.1 / 0.7 };
    assert_digits(entropy_of(p, 3) - entropy_of(one_left, 2), 0.585722);
    assert_digits(entropy_of(four, 6) - entropy_of(four_left, 5), 0.242865);
}

static void test_user_errors(void **state)
{
    (void)state;
    const double want[] = { 0.620690, 0.034483, 0.310345, 0.034483 };
    double evidence = 0;
    assert_digits(posterior_gain(&example_prior, &noisy[0]), 0.512458);
    assert_digits(posterior_gain(&example_prior, &noisy[1]), 0.357751);
    for (int i = 0; i < 4; i++)
        evidence += example_p[i] * split_likelihood(&noisy[0], output[i], 0);
    assert_near(evidence, 0.58, 1e-15);
    struct posterior b = posterior_copy(&example_prior);
    assert_int_equal(posterior_update(&b, &noisy[0], (struct answer){ ANSWER_VALUE, 0 }), 0);
    for (int i = 0; i < 4; i++)
        assert_digits(b.p[i], want[i]);
    assert_near(posterior_entropy(&b), 1.285982, 5.1e-7);
    posterior_release(&b);
}

/* Support mixes in equally probable options, among the remaining candidates and without p_none. */
static void test_support_of_gain(void **state)
{
    (void)state;
    const int value[] = { 0, 1, 2 }, other[] = { 0, 0, 1 };
    double p[] = { 0.9, 0.1, 0 };
    struct posterior b = { p, 3, 0 };
    struct split splits[] = { { value, 3, 0, 1, 0.25 }, { other, 2, 0, 1, 1 } };

    assert_digits(posterior_gain_supported(&b, &splits[0]), 0.75 * 0.468996 + 0.25);
    assert_digits(posterior_gain(&b, &splits[0]), 0.468996);
    assert_digits(posterior_gain_supported(&b, &splits[1]), 0); /* which it does not split */
    double more[] = { 0.4, 0.3, 0.2 };
    struct posterior wide = { more, 3, 0.1 };
    splits[0].support = 0;
    assert_true(posterior_gain_supported(&wide, &splits[0]) == posterior_gain(&wide, &splits[0]));
    double even[] = { 0.3, 0.3, 0.3 };
    splits[0].support = 1;
    assert_digits(posterior_gain_supported(&wide, &splits[0]),
                  posterior_gain(&(struct posterior){ even, 3, 0.1 }, &splits[0]));
}

/* Support makes a question win over one with more information. */
static void test_support_of_choice(void **state)
{
    (void)state;
    const int sure[] = { 0, 0, 1, 1 }, doubtful[] = { 0, 1, 0, 1 };
    double p[] = { 0.56, 0.38, 0.04, 0.02 };
    struct posterior b = { p, 4, 0 };
    struct split splits[] = { { sure, 2, 0.05, 1, 0 }, { doubtful, 2, 0.05, 1, 0 } };

    assert_int_equal(strategy_choose(STRATEGY_EIG, &b, splits, 2, NULL), 1);
    splits[0].support = 0.5;
    assert_int_equal(strategy_choose(STRATEGY_EIG, &b, splits, 2, NULL), 1);
    splits[0].support = 1;
    assert_int_equal(strategy_choose(STRATEGY_EIG, &b, splits, 2, NULL), 0);
}

static void test_filter_without_user_errors(void **state)
{
    (void)state;
    struct rng r = { .seed = 7 };
    for (int round = 0; round < 1000; round++) {
        double p[20], kept[20], total = 0;
        int value[20], n = 2 + (int)rng_below(&r, 19);
        random_masses(p, n, &r);
        for (int i = 0; i < n; i++) {
            value[i] = (int)rng_below(&r, 3);
            kept[i] = value[i] == value[0] ? p[i] : 0;
            total += kept[i];
        }
        for (int i = 0; i < n; i++)
            kept[i] /= total;
        struct posterior b = { p, n, 0 };
        assert_int_equal(
            posterior_update(&b, &(struct split){ value, 3, 0, 1, 0 }, (struct answer){ ANSWER_VALUE, value[0] }), 0);
        assert_memory_equal(p, kept, (size_t)n * sizeof *p);
    }
}

/* The choice of each strategy, on splits where they differ. */
static void test_strategies(void **state)
{
    (void)state;
    double p[] = { 0.5, 0.2, 0.1, 0.1, 0.1 };
    static const int even[] = { 0, 1, 1, 1, 1 }, last[] = { 0, 0, 0, 0, 1 }, counts[] = { 0, 0, 1, 1, 2 },
                     flat[] = { 0, 0, 0, 0, 0 };
    struct split splits[] = {
        { flat, 1, 0, 1, 0 }, { last, 2, 0, 1, 0 }, { even, 2, 0, 1, 0 }, { counts, 3, 0, 9, 0 }
    };
    struct posterior b = { p, 5, 0 };
    struct rng r = { .seed = 3 };
    static const struct {
        enum strategy strategy;
        int choice;
    } rows[] = {
        { STRATEGY_MAX_PROBABILITY, 1 },
        { STRATEGY_MIN_PROBABILITY, 1 },
        { STRATEGY_INFO_GAIN_VALUES, 3 },
        { STRATEGY_INFO_GAIN_CANDIDATES, 3 },
        { STRATEGY_EIG, 3 },
        { STRATEGY_PATH, 2 },
    };
    for (int i = 0; i < ARRAY_LEN(rows); i++)
        if (strategy_choose(rows[i].strategy, &b, splits, 4, NULL) != rows[i].choice)
            fail_msg("%s asks %d, not %d", strategy_name(rows[i].strategy),
                     strategy_choose(rows[i].strategy, &b, splits, 4, NULL), rows[i].choice);
    int seen[4] = { 0 };
    for (int i = 0; i < 3000; i++)
        seen[strategy_choose(STRATEGY_RANDOM, &b, splits, 4, &r)]++;
    assert_int_equal(seen[0], 0);
    for (int i = 1; i < 4; i++)
        assert_in_range(seen[i], 850, 1150);
    for (int s = 0; s < STRATEGIES; s++) {
        assert_int_equal(strategy_of_name(strategy_name((enum strategy)s)), s);
        assert_int_equal(strategy_choose((enum strategy)s, &b, splits, 1, &r), -1);
    }
    assert_int_equal(strategy_of_name("best"), STRATEGIES);
}

/* Information gain by values, by candidates and under the posterior each choose another question. */
static void test_information_gains(void **state)
{
    (void)state;
    /* `best` divides the mass into .48 and .52. `half` divides the candidates into halves. `three` has three values,
     * but four of the six candidates and .98 of the mass have the first one. */
    double p[] = { 0.48, 0.48, 0.01, 0.01, 0.01, 0.01 };
    static const int three[] = { 0, 0, 0, 0, 1, 2 }, half[] = { 0, 0, 0, 1, 1, 1 }, best[] = { 0, 1, 1, 1, 1, 1 };
    const struct split splits[] = { { best, 2, 0, 1, 0 }, { half, 2, 0, 1, 0 }, { three, 3, 0, 1, 0 } };
    struct posterior b = { p, 6, 0 };
    assert_int_equal(strategy_choose(STRATEGY_EIG, &b, splits, 3, NULL), 0);
    assert_int_equal(strategy_choose(STRATEGY_INFO_GAIN_VALUES, &b, splits, 3, NULL), 2);
    /* entropies over candidates: .650, 1 and 1.252 */
    assert_int_equal(strategy_choose(STRATEGY_INFO_GAIN_CANDIDATES, &b, splits, 2, NULL), 1);
    assert_int_equal(strategy_choose(STRATEGY_INFO_GAIN_CANDIDATES, &b, splits, 3, NULL), 2);
    /* A value that no candidate has any more does not count: `three` has two values left, as many as the others. */
    p[5] = 0;
    assert_int_equal(strategy_choose(STRATEGY_INFO_GAIN_VALUES, &b, splits, 3, NULL), 0);
    assert_int_equal(strategy_choose(STRATEGY_INFO_GAIN_CANDIDATES, &b, splits, 3, NULL), 1);
}

/* For every question, sum over answers of P(a) H(S | a) <= H(S), also with user errors and p_none. */
static void test_entropy_falls(void **state)
{
    (void)state;
    struct rng r = { .seed = 12 };
    for (int round = 0; round < 2000; round++) {
        struct world w;
        random_world(&w, &r, 0.3 * uniform(&r));
        w.prior.p_none = 0.4 * uniform(&r);
        for (int i = 0; i < CANDIDATES; i++)
            w.p[i] *= 1 - w.prior.p_none;
        double left = 0, total = w.prior.p_none / 4;
        for (int k = 0; k < 3; k++) {
            struct posterior b = posterior_copy(&w.prior);
            double p = w.prior.p_none / 4;
            for (int i = 0; i < CANDIDATES; i++)
                p += w.p[i] * split_likelihood(&w.splits[0], w.value[0][i], k);
            assert_int_equal(posterior_update(&b, &w.splits[0], (struct answer){ ANSWER_VALUE, k }), 0);
            left += p * posterior_entropy(&b);
            total += p;
            posterior_release(&b);
        }
        assert_near(total, 1, 1e-12);
        assert_near(posterior_entropy(&w.prior) - left, posterior_gain(&w.prior, &w.splits[0]), 1e-12);
        assert_true(left <= posterior_entropy(&w.prior) + 1e-12);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gain_is_entropy_of_answer),
        cmocka_unit_test(test_best_question_off_path),
        cmocka_unit_test(test_path_score),
        cmocka_unit_test(test_bounds_of_path),
        cmocka_unit_test(test_user_errors),
        cmocka_unit_test(test_support_of_gain),
        cmocka_unit_test(test_support_of_choice),
        cmocka_unit_test(test_filter_without_user_errors),
        cmocka_unit_test(test_strategies),
        cmocka_unit_test(test_information_gains),
        cmocka_unit_test(test_entropy_falls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
