/* Measures against hand-counted cases and scikit-learn (gold/stats.json, made by gold/stats.py). */
#include "tests/support/support.h"

#include "data/base/json.h"
#include "data/base/stats.h"

#include <math.h>
#include <stdlib.h>

static void assert_near(double got, double want, double tolerance)
{
    if (!(fabs(got - want) <= tolerance))
        fail_msg("%.12g, expected %.12g", got, want);
}

static const double flat[] = { 0.5, 0.5, 0.5, 0.5 };
static const double steps[] = { 0.9, 0.8, 0.8, 0.1 };

static void ranking_by_hand(void **state)
{
    (void)state;
    const uint8_t label[] = { 1, 1, 0, 0 }, reversed[] = { 0, 0, 1, 1 }, none[] = { 0, 0, 0, 0 };
    /* of the pairs (positive, negative), 0.9 beats both, 0.8 ties with 0.8 and beats 0.1 */
    assert_near(stats_auc((struct scored){ steps, label, 4 }), 3.5 / 4, 1e-15);
    assert_near(stats_average_precision((struct scored){ steps, label, 4 }), 0.5 * 1 + 0.5 * 2 / 3, 1e-15);
    assert_near(stats_auc((struct scored){ steps, reversed, 4 }), 0.5 / 4, 1e-15);
    assert_near(stats_auc((struct scored){ flat, label, 4 }), 0.5, 0);
    assert_near(stats_average_precision((struct scored){ flat, label, 4 }), 0.5, 0);
    assert_true(isnan(stats_auc((struct scored){ flat, none, 4 })));
    assert_true(isnan(stats_average_precision((struct scored){ flat, none, 4 })));
    assert_true(isnan(stats_auc((struct scored){ flat, none, 0 })));
}

static void decision_of_a_confusion_matrix(void **state)
{
    (void)state;
    struct confusion c = { .tp = 68, .fp = 20, .tn = 19, .fn = 22 };
    struct confusion yes = stats_always_yes(c), none = { 0 };
    assert_near(stats_metric(yes, STATS_ACCURACY), 0.698, 0.0005);
    assert_near(stats_metric(yes, STATS_F1), 0.822, 0.0005);
    const double by_hand[STATS_METRICS] = {
        [STATS_F1] = 136 / 178.0,      [STATS_MACRO_F1] = (136 / 178.0 + 38 / 80.0) / 2,
        [STATS_ACCURACY] = 87 / 129.0, [STATS_PRECISION] = 68 / 88.0,
        [STATS_RECALL] = 68 / 90.0,
    };
    for (int k = 0; k < STATS_METRICS; k++) {
        assert_near(stats_metric(c, (enum stats_metric)k), by_hand[k], 1e-15);
        assert_near(stats_metric(none, (enum stats_metric)k), 0, 0);
    }
    struct confusion nothing = { .tn = 5 };
    assert_near(stats_metric(nothing, STATS_PRECISION) + stats_metric(nothing, STATS_RECALL) +
                    stats_metric(nothing, STATS_F1),
                0, 0);
    assert_near(stats_metric(nothing, STATS_ACCURACY), 1, 0);
}

static void threshold_counts_from_its_own_score_on(void **state)
{
    (void)state;
    const uint8_t label[] = { 1, 1, 0, 0 };
    struct confusion c = stats_confusion((struct scored){ steps, label, 4 }, 0.8);
    assert_int_equal(c.tp, 2);
    assert_int_equal(c.fp, 1);
    assert_int_equal(c.tn, 1);
    assert_int_equal(c.fn, 0);
}

static void best_threshold_stands_between_scores(void **state)
{
    (void)state;
    const double score[] = { 0.2, 0.6, 0.9, 0.4 };
    const uint8_t label[] = { 0, 1, 1, 0 };
    double f1, t = stats_best_f1((struct scored){ score, label, 4 }, &f1);
    assert_near(t, 0.5, 1e-15);
    assert_near(f1, 1, 0);
    const double close[] = { 1, nextafter(1, 0) }; /* no number lies between them */
    const uint8_t first[] = { 1, 0 };
    t = stats_best_f1((struct scored){ close, first, 2 }, &f1);
    assert_near(f1, 1, 0);
    assert_near(stats_metric(stats_confusion((struct scored){ close, first, 2 }, t), STATS_F1), 1, 0);
}

/* Two of ten scores of the quiet set may be above the threshold, so it is between .7 and .8; without the bound .5 has
 * the best F1. */
static void a_quiet_threshold_is_above_all_negatives(void **state)
{
    (void)state;
    const double score[] = { 0.9, 0.75, 0.6, 0.4 }, loud[] = { 0.95, 0.8, 0.7, 0.7, 0.6, 0.5, 0.3, 0.2, 0.1, 0.05 };
    const uint8_t label[] = { 1, 1, 1, 0 }, none[10] = { 0 };
    struct scored s = { score, label, 4 }, quiet = { loud, none, 10 };
    double f1, t = stats_best_f1_quiet(s, quiet, 0.2, &f1);
    assert_near(t, 0.725, 1e-15);
    assert_near(f1, 0.8, 1e-15);
    assert_int_equal(stats_confusion(quiet, t).fp, 2);
    t = stats_best_f1_quiet(s, quiet, 0.3, &f1); /* both scores of .7 or none */
    assert_int_equal(stats_confusion(quiet, t).fp, 2);
    t = stats_best_f1_quiet(s, quiet, 0, &f1); /* no score of s is above .95 */
    assert_true(t > 0.95);
    assert_near(f1, 0, 0);
    t = stats_best_f1_quiet(s, quiet, 1, &f1);
    assert_near(t, stats_best_f1(s, NULL), 0);
    assert_near(f1, 1, 0);
    assert_near(stats_best_f1_quiet(s, (struct scored){ 0 }, 0, &f1), 0.5, 1e-15);
}

static void calibration_by_hand(void **state)
{
    (void)state;
    const double score[] = { 0, 0.05, 1, 0.95 };
    const uint8_t label[] = { 0, 1, 1, 1 };
    struct scored s = { score, label, 4 };
    struct reliability r = stats_reliability(s);
    assert_int_equal(r.n[0], 2);
    assert_int_equal(r.n[STATS_BINS - 1], 2);
    assert_near(r.confidence[0], 0.025, 1e-15);
    assert_near(r.accuracy[0], 0.5, 0);
    assert_near(stats_ece(&r), (2 * 0.475 + 2 * 0.025) / 4, 1e-15);
    assert_near(stats_brier(s), (0.95 * 0.95 + 0.05 * 0.05) / 4, 1e-15);
}

static void temperature_undoes_a_scale(void **state)
{
    (void)state;
    enum { N = 2000 };
    static double logit[N];
    static uint8_t label[N];
    for (int i = 0; i < N; i++) {
        /* at logit z the fraction of yes is sigmoid(z / 2.5), spread evenly */
        double z = (i % 40 - 19.5) / 4;
        logit[i] = z;
        int round = i / 40;
        label[i] = (round + 0.5) / (N / 40.0) < 1 / (1 + exp(-z / 2.5));
    }
    struct scored s = { logit, label, N };
    double t = stats_fit_temperature(s);
    assert_near(t, 2.5, 0.05);
    assert_true(stats_nll(s, t) < stats_nll(s, t * 1.01) && stats_nll(s, t) < stats_nll(s, t / 1.01));
    assert_near(stats_fit_temperature((struct scored){ logit, label, 0 }), 1, 0);
}

static double mean_score(struct scored s, const void *arg)
{
    double sum = 0;
    (void)arg;
    for (int i = 0; i < s.n; i++)
        sum += s.score[i];
    return sum / s.n;
}

static void bootstrap_of_a_mean(void **state)
{
    (void)state;
    enum { N = 400 };
    double score[N];
    uint8_t label[N] = { 0 };
    int pair[N];
    for (int i = 0; i < N; i++) {
        score[i] = i % 2; /* variance 1/4: the standard error of the mean is 1/40 */
        pair[i] = i / 2;
    }
    struct scored s = { score, label, N };
    struct bootstrap how = { .rounds = 2000, .level = 0.95, .seed = 3 };
    struct interval a = stats_bootstrap(s, mean_score, NULL, &how), b = stats_bootstrap(s, mean_score, NULL, &how);
    assert_near(a.low, 0.5 - 1.96 / 40, 0.006);
    assert_near(a.high, 0.5 + 1.96 / 40, 0.006);
    assert_true(a.low == b.low && a.high == b.high);
    how.group = pair; /* each pair has one of both labels, so resampling pairs leaves no variance */
    how.n_groups = N / 2;
    a = stats_bootstrap(s, mean_score, NULL, &how);
    assert_near(a.low, 0.5, 1e-15);
    assert_near(a.high, 0.5, 1e-15);
    int one[N] = { 0 };
    how = (struct bootstrap){ .group = one, .n_groups = 2, .rounds = 10, .level = 0.95 }; /* the other group is empty */
    a = stats_bootstrap(s, mean_score, NULL, &how);
    assert_true(isnan(a.low) && isnan(a.high));
}

static void bootstrap_follows_its_seed(void **state)
{
    (void)state;
    enum { N = 50 };
    double score[N];
    uint8_t label[N] = { 0 };
    for (int i = 0; i < N; i++)
        score[i] = sqrt(i);
    struct bootstrap how = { .rounds = 100, .level = 0.9, .seed = 3 }, other = how;
    other.seed = 4;
    struct interval a = stats_bootstrap((struct scored){ score, label, N }, mean_score, NULL, &how);
    struct interval b = stats_bootstrap((struct scored){ score, label, N }, mean_score, NULL, &other);
    assert_true(a.low != b.low && a.high != b.high);
}

/* scipy 1.x: beta.ppf(1 - alpha, k + 1, n - k), hypergeom.cdf(k, n, marked, drawn). */
static void counts_as_scipy(void **state)
{
    (void)state;
    assert_near(stats_binomial_upper(0, 1, 0.05), 0.95, 1e-11);
    assert_near(stats_binomial_upper(3, 312, 0.0025), 0.037561408506562, 1e-11);
    assert_near(stats_binomial_upper(31, 33, 0.05), 0.989123928956656, 1e-11);
    assert_near(stats_binomial_upper(1000, 6196, 0.0025), 0.174899549570977, 1e-11);
    assert_near(stats_binomial_upper(5, 100000, 0.01), 0.00013107952211408, 1e-11);
    assert_near(stats_binomial_upper(49999, 100000, 0.05), 0.502595717953417, 1e-11);
    assert_near(stats_fisher(2, 53, 19, 129), 0.0023184678647942, 1e-10);
    assert_near(stats_fisher(0, 1, 1, 31), 0.967741935483871, 1e-10);
    assert_near(stats_fisher(19, 53, 19, 129), 1, 1e-10);
    assert_near(stats_fisher(400, 1025, 800, 2000), 0.192832192861747, 1e-10);
    assert_near(stats_fisher(12, 20, 12, 25), 1, 1e-10);
    assert_near(stats_binomial_upper(0, 0, 0.05), 1, 0);
    assert_near(stats_binomial_upper(7, 7, 0.05), 1, 0);
    assert_near(stats_binomial_upper(0, 59, 0.05), 1 - pow(0.05, 1.0 / 59), 1e-12);
}

static double *reals(const json_t *array)
{
    double *x = xmalloc(json_array_size(array) * sizeof *x);
    for (size_t i = 0; i < json_array_size(array); i++)
        x[i] = json_number_value(json_array_get(array, i));
    return x;
}

static void as_scikit_learn(void **state)
{
    (void)state;
    struct error err;
    json_t *cases = json_read_file("tests/gold/stats.json", &err);
    if (!cases)
        fail_msg("%s", err.text);
    assert_int_equal(json_array_size(cases), 4);
    for (size_t k = 0; k < json_array_size(cases); k++) {
        const json_t *c = json_array_get(cases, k), *labels = json_object_get(c, "label");
        int n = (int)json_array_size(labels);
        double *score = reals(json_object_get(c, "score")), *logit = reals(json_object_get(c, "logit")), f1;
        uint8_t *label = xmalloc((size_t)n);
        for (int i = 0; i < n; i++)
            label[i] = (uint8_t)json_integer_value(json_array_get(labels, (size_t)i));
        struct scored s = { score, label, n }, z = { logit, label, n };
        assert_near(stats_average_precision(s), json_number_value(json_object_get(c, "ap")), 1e-12);
        assert_near(stats_auc(s), json_number_value(json_object_get(c, "auc")), 1e-12);
        assert_near(stats_brier(s), json_number_value(json_object_get(c, "brier")), 1e-12);
        double t = stats_best_f1(s, &f1);
        assert_near(f1, json_number_value(json_object_get(c, "best_f1")), 1e-12);
        assert_near(stats_metric(stats_confusion(s, t), STATS_F1), f1, 1e-12);
        assert_near(stats_nll(z, 1), json_number_value(json_object_get(c, "nll")), 1e-9);
        t = json_number_value(json_object_get(c, "temperature")); /* from a grid with steps of 3e-5 */
        assert_near(stats_fit_temperature(z), t, 1e-4 * t);
        free(score);
        free(logit);
        free(label);
    }
    json_decref(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranking_by_hand),
        cmocka_unit_test(decision_of_a_confusion_matrix),
        cmocka_unit_test(threshold_counts_from_its_own_score_on),
        cmocka_unit_test(best_threshold_stands_between_scores),
        cmocka_unit_test(a_quiet_threshold_is_above_all_negatives),
        cmocka_unit_test(calibration_by_hand),
        cmocka_unit_test(temperature_undoes_a_scale),
        cmocka_unit_test(bootstrap_of_a_mean),
        cmocka_unit_test(bootstrap_follows_its_seed),
        cmocka_unit_test(as_scikit_learn),
        cmocka_unit_test(counts_as_scipy),
    };
    return cmocka_run_group_tests_name("stats", tests, NULL, NULL);
}
