/*
 * The triage head: its features, its probabilities and its fit.
 */
#include "tests/support/support.h"
#include "train/detector/triage_train.h"

#include <math.h>
#include <stdlib.h>

static void test_features(void **state)
{
    const float relevance[] = { -2, 3, -1, 4, -5, 1, 0, -3 };
    const struct gate_result result = { .score = 1.5F, .pair = 0, .linguistic = 2.5F, .type = LINGUISTIC_NONE };
    struct triage_reading signs = { .signs[SIGN_KNOWN] = .25F };
    float x[TRIAGE_FEATURES];

    (void)state;
    gate_triage_features(x, relevance, 8, 7, &result, &signs);
    const float top[TRIAGE_TOP] = { 4, 3, 1, 0, -1, -2 };
    assert_memory_equal(x, top, sizeof top);
    assert_float_equal(x[TRIAGE_MEAN], -3. / 8, 1e-6);
    assert_float_equal(x[TRIAGE_ELEMENTS], log(8), 1e-6);
    assert_float_equal(x[TRIAGE_SCORE], 1.5, 0);
    assert_float_equal(x[TRIAGE_LINGUISTIC], 0, 0); /* the detector has no head for it */
    assert_float_equal(x[TRIAGE_RELEVANT], 3, 0);
    assert_float_equal(x[TRIAGE_TOKENS], 7, 0);
    assert_float_equal(x[TRIAGE_FIRST_SIGN + SIGN_KNOWN], .25, 0);
    gate_triage_features(x, relevance, 1, 7, &result, &signs);
    assert_float_equal(x[0], -2, 0);
    assert_float_equal(x[TRIAGE_TOP - 1], -10, 0); /* there is no such element */
}

enum { EACH = 20, QUESTIONS = TRIAGE_CLASSES * EACH };

/* Classes that overlap: class c lies around c in the first feature and around -c in the last. */
static void make_questions(float *x, uint8_t *classes, const int *of_class)
{
    struct rng rng = { .seed = 1 };

    for (int c = 0; c < TRIAGE_CLASSES; c++)
        for (int k = 0; k < of_class[c]; k++, x += TRIAGE_FEATURES) {
            for (int i = 0; i < TRIAGE_FEATURES; i++)
                x[i] = rng_uniform(&rng);
            x[0] += (float)c;
            x[TRIAGE_FEATURES - 1] -= (float)c;
            *classes++ = (uint8_t)c;
        }
}

/* At the minimum, the weighted sum of the errors of each class is zero, since the bias has no penalty. */
static void test_minimum(void **state)
{
    const int of_class[TRIAGE_CLASSES] = { 40, 20, 10, 10 };
    float *x = xcalloc(QUESTIONS * TRIAGE_FEATURES, sizeof *x);
    uint8_t classes[QUESTIONS];
    double error[TRIAGE_CLASSES] = { 0 };
    struct gate_triage head;
    int right = 0;

    (void)state;
    make_questions(x, classes, of_class);
    triage_fit(&head, x, classes, QUESTIONS);
    for (int k = 0; k < QUESTIONS; k++) {
        double p[TRIAGE_CLASSES], sum = 0;
        gate_triage_predict(&head, x + k * TRIAGE_FEATURES, p);
        for (int c = 0; c < TRIAGE_CLASSES; c++) {
            error[c] += (p[c] - (classes[k] == c)) / of_class[classes[k]] / TRIAGE_CLASSES;
            sum += p[c];
        }
        assert_float_equal(sum, 1, 1e-9);
        right += p[classes[k]] > .5;
    }
    for (int c = 0; c < TRIAGE_CLASSES; c++)
        assert_float_equal(error[c], 0, 1e-4);
    assert_true(right > QUESTIONS * 3 / 4);
    free(x);
}

/* A feature that never varies changes nothing and divides nothing by zero. */
static void test_constant(void **state)
{
    const int of_class[TRIAGE_CLASSES] = { EACH, EACH, EACH, EACH };
    float *x = xcalloc(QUESTIONS * TRIAGE_FEATURES, sizeof *x);
    uint8_t classes[QUESTIONS];
    struct gate_triage head;
    double p[TRIAGE_CLASSES];

    (void)state;
    make_questions(x, classes, of_class);
    for (int k = 0; k < QUESTIONS; k++)
        x[k * TRIAGE_FEATURES + 5] = 7;
    triage_fit(&head, x, classes, QUESTIONS);
    for (int c = 0; c < TRIAGE_CLASSES; c++)
        assert_float_equal(head.weight[c][5], 0, 1e-12);
    gate_triage_predict(&head, x, p);
    assert_true(isfinite(p[0]));
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_features),
        cmocka_unit_test(test_minimum),
        cmocka_unit_test(test_constant),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
