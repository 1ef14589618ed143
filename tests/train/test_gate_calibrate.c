/* The threshold of a detector that is trained on several folders. */
#include "tests/support/support.h"

#include "train/detector/gate_eval.h"

#include <stdlib.h>

enum { LARGE = 100, SMALL = 10, VALID = 40 };

static struct gate_answers given(const struct example *examples, const double *p, int n)
{
    struct gate_answers a;
    const struct example **list = xmalloc((size_t)n * sizeof *list);
    bool *named = xcalloc((size_t)n, sizeof *named);

    for (int i = 0; i < n; i++)
        list[i] = &examples[i];
    gate_answers_given(&a, list, p, named, n);
    free(list);
    free(named);
    return a;
}

static int called_ambiguous(const struct gate_model *m, const struct gate_answers *a, int first, int end)
{
    int n = 0;

    for (int i = first; i < end; i++)
        n += gate_probability(m, a->logit[i]) >= m->threshold;
    return n;
}

/* All unambiguous questions of a small folder score at least .6, those of a large one .1. Over both folders, the
 * false positives would hardly count. */
static void each_folder_stays_quiet(void **state)
{
    static struct example quiet[LARGE + SMALL], valid[VALID];
    double p[LARGE + SMALL], v[VALID];
    struct gate_model m = { .threshold = 0.5, .temperature = 1, .linguistic_temperature = 1 };

    (void)state;
    for (int i = 0; i < LARGE + SMALL; i++) {
        quiet[i] = (struct example){ .source_db = "db", .part = i < LARGE ? "large" : "small" };
        p[i] = i < LARGE ? 0.1 : 0.6 + 0.01 * (i - LARGE);
    }
    for (int i = 0; i < VALID; i++) {
        valid[i] =
            (struct example){ .source_db = "db", .part = i % 2 ? "large" : "small", .ambiguous = i >= VALID / 2 };
        v[i] = i >= VALID / 2 ? 0.5 + 0.01 * i : 0.3;
    }
    struct gate_answers a = given(valid, v, VALID), hard_negatives = given(quiet, p, LARGE + SMALL);
    gate_calibrate(&m, &a, &hard_negatives, 0.1);
    assert_in_range(called_ambiguous(&m, &hard_negatives, LARGE, LARGE + SMALL), 0, 1);
    assert_true(called_ambiguous(&m, &a, VALID / 2, VALID) > 0);

    for (int i = 0; i < LARGE + SMALL; i++)
        quiet[i].part = NULL; /* one folder: at most a tenth of all questions is called ambiguous */
    m = (struct gate_model){ .threshold = 0.5, .temperature = 1, .linguistic_temperature = 1 };
    gate_calibrate(&m, &a, &hard_negatives, 0.1);
    assert_int_equal(called_ambiguous(&m, &hard_negatives, LARGE, LARGE + SMALL), SMALL);
    gate_answers_release(&a);
    gate_answers_release(&hard_negatives);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(each_folder_stays_quiet) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
