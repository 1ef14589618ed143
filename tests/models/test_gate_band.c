/* Bands of uncertain scores: the guarantee holds, checkpoints store the validation questions, and options are
 * parsed. */
#include "tests/support/posteriors.h"
#include "tests/support/support.h"

#include "kernels/rng.h"
#include "models/gatekeeper/gate_band.h"

#include <math.h>
#include <string.h>

static struct gate_model detector(double threshold, double temperature, double shift)
{
    return (struct gate_model){ .threshold = threshold, .temperature = temperature, .shift = shift };
}

/* Margins are uniform up to WIDE; at margin u the probability of an error is WORST exp(-u). */
static const double WIDE = 4, WORST = 0.4;

static double true_risk(double margin)
{
    return WORST * (exp(-margin) - exp(-WIDE)) / (WIDE - margin);
}

static void draw_validation(struct gate_model *m, struct rng *rng, int n)
{
    double logit[600];
    uint8_t label[600];

    assert_true(n <= 600);
    for (int i = 0; i < n; i++) {
        double u = WIDE * (double)rng_uniform(rng);
        bool yes = rng_uniform(rng) < 0.5F, wrong = (double)rng_uniform(rng) < WORST * exp(-u);
        logit[i] = (yes ? u : -u) * m->temperature + m->shift;
        label[i] = (uint8_t)(yes != wrong);
    }
    gate_validation_keep(m, logit, label, n);
}

/* The rate may be exceeded in at most .05 of all samples: 68 or more of 1,000 would occur once in 200 at .05. */
static void the_rate_is_kept(void **state)
{
    struct gate_model m = detector(0.5, 2, 0.5);
    struct rng rng = { .seed = 5 };
    int found = 0, passed = 0;
    double answered = 0;

    (void)state;
    for (int k = 0; k < 1000; k++) {
        struct gate_band b;
        struct error err;
        draw_validation(&m, &rng, 600);
        if (gate_band_find(&b, &m, &(struct gate_abstain){ .rate = 0.1 }, &err))
            continue;
        double margin = log(b.high / (1 - b.high));
        assert_near(b.low, 1 - b.high, 1e-12);
        assert_true(b.bound <= 0.1 && (double)b.wrong / b.answered < 0.1);
        found++;
        passed += true_risk(margin) > 0.1;
        answered += (double)b.answered / b.n;
    }
    gate_validation_release(&m.validation);
    assert_true(found > 950);
    assert_true(passed < 68);
    assert_true(answered / found > 0.5); /* .88 would be the share at the true risk */
}

/* Ten questions on each side, all correct but the two nearest. Questions as certain as the last answered one are
 * answered too. */
static void by_hand(void **state)
{
    struct gate_model m = detector(0.5, 1, 0);
    double logit[400];
    uint8_t label[400];
    struct gate_band b;
    struct error err;

    (void)state;
    for (int i = 0; i < 400; i++) {
        logit[i] = (i % 2 ? 1 : -1) * (1 + i / 40); /* NOLINT(bugprone-integer-division): forty equal ones */
        label[i] = (uint8_t)((i % 2) ^ (i < 40));
    }
    gate_validation_keep(&m, logit, label, 400);
    assert_int_equal(gate_band_find(&b, &m, &(struct gate_abstain){ .rate = 0.02 }, &err), 0);
    assert_int_equal(b.answered, 360);
    assert_int_equal(b.wrong, 0);
    assert_near(b.bound, 1 - pow(0.05 / 20, 1.0 / 360), 1e-9);
    assert_near(b.high, 1 / (1 + exp(-2)), 1e-12);
    assert_int_equal(gate_band_find(&b, &m, &(struct gate_abstain){ .rate = 0.01 }, &err), -1);
    assert_int_equal(err.code, EXIT_CODE_USAGE);
    assert_non_null(strstr(err.text, "expected 0.017 or more"));
    assert_int_equal(gate_band_find(&b, &m, &(struct gate_abstain){ .rate = 0.2 }, &err), 0);
    assert_int_equal(b.answered, 400);
    gate_validation_release(&m.validation);
    assert_int_equal(gate_band_find(&b, &m, &(struct gate_abstain){ .rate = 0.2 }, &err), -1);
    assert_non_null(strstr(err.text, "has no validation questions"));
    assert_int_equal(gate_band_find(&b, &m, &(struct gate_abstain){ .low = 0.2, .high = 0.4 }, &err), 0);
    assert_true(b.low == 0.2 && b.high == 0.4 && b.n == 0);
}

static void comes_back(void **state)
{
    struct gate_model m = detector(0.3, 1, 0), other = detector(0.3, 1, 0);
    struct rng rng = { .seed = 9 };
    struct error err;

    (void)state;
    assert_null(gate_validation_json(&m));
    assert_int_equal(gate_validation_read(&m, NULL, "there", &err), 0);
    draw_validation(&m, &rng, 333);
    for (int i = 0; i < 333; i++)
        m.validation.logit[i] = (double)(float)m.validation.logit[i]; /* as models compute them */
    json_t *o = gate_validation_json(&m);
    assert_int_equal(gate_validation_read(&other, o, "there", &err), 0);
    assert_int_equal(other.validation.n, 333);
    assert_memory_equal(other.validation.ambiguous, m.validation.ambiguous, 333);
    for (int i = 0; i < 333; i++)
        assert_true((float)other.validation.logit[i] == (float)m.validation.logit[i]);
    json_decref(o);
    gate_validation_release(&m.validation);
    gate_validation_release(&other.validation);
}

static void bad_meta(void **state)
{
    static const char *const bad[] = { "1", "1x", "y", "nany", "1e999n", "1y2n", "1y  2n x", " ", "1y 2" };
    struct gate_model m = detector(0.5, 1, 0);
    struct error err;

    (void)state;
    for (int i = 0; i < ARRAY_LEN(bad); i++) {
        json_t *o = json_string(bad[i]);
        if (gate_validation_read(&m, o, "there", &err) != -1)
            fail_msg("\"%s\" is read", bad[i]);
        assert_int_equal(err.code, EXIT_CODE_CHECKPOINT);
        json_decref(o);
        gate_validation_release(&m.validation);
    }
    json_t *number = json_integer(7);
    assert_int_equal(gate_validation_read(&m, number, "there", &err), -1);
    assert_non_null(strstr(err.text, "an integer"));
    json_decref(number);
    gate_validation_release(&m.validation);
}

static void words(void **state)
{
    static const char *const bad[] = { "0",       "0.5",      "-0.1", "nan", "0.6:0.4", "0.5:0.5",
                                       "0.1:1.1", "0.2:0.8x", "0.1x", ":",   "x",       "" };
    struct gate_abstain a;
    struct error err;

    (void)state;
    assert_int_equal(gate_abstain_read(&a, NULL, &err), 0);
    assert_true(a.rate == 0 && a.high == 0);
    assert_int_equal(gate_abstain_read(&a, "0.25:0.75", &err), 0);
    assert_true(a.rate == 0 && a.low == 0.25 && a.high == 0.75);
    assert_int_equal(gate_abstain_read(&a, "0.05", &err), 0);
    assert_true(a.rate == 0.05 && a.low == 0 && a.high == 0);
    for (int i = 0; i < ARRAY_LEN(bad); i++)
        if (gate_abstain_read(&a, bad[i], &err) != -1 || err.code != EXIT_CODE_USAGE)
            fail_msg("\"%s\" is read", bad[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rate_is_kept), cmocka_unit_test(by_hand), cmocka_unit_test(comes_back),
        cmocka_unit_test(bad_meta),         cmocka_unit_test(words),
    };
    return cmocka_run_group_tests_name("gate_band", tests, NULL, NULL);
}
