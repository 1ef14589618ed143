/* Calibration: the likelihood that it makes greatest, and what it finds in golds that were drawn from a known law. */
#include "tests/support/support.h"

#include "data/clarify/calibration.h"
#include "kernels/rng.h"

#include <math.h>

static void likelihood_of_two(void **state)
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

/* Golds drawn with p = softmax(raw / length^alpha / temperature). */
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

static void finds_what_golds_were_drawn_with(void **state)
{
    (void)state;
    static struct world w;
    static const struct calibration laws[] = { { 0, 5, 1 }, { 1, 0.6, 1 } };
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

static void length_counts_tokens(void **state)
{
    (void)state;
    assert_int_equal(calibration_length("SELECT a, b FROM t WHERE a = 'x y'"), 10);
    assert_int_equal(calibration_length(""), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(likelihood_of_two),
        cmocka_unit_test(finds_what_golds_were_drawn_with),
        cmocka_unit_test(length_counts_tokens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
