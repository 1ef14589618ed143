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
    struct schema_column columns[] = { { .type = COLUMN_TEXT }, { .type = COLUMN_TEXT } };
    const struct schema schema = { .columns = columns, .n_columns = ARRAY_LEN(columns) };
    struct schema_pair pair = { .type = SIA_AGGREGATE };
    struct schema_input in = { .schema = &schema, .n_nodes = ARRAY_LEN(relevance), .pairs = &pair, .n_pairs = 1 };
    double labels[2][WORD_LABELS] = { { .5, .25, 0, .125, .125 }, { 0, 0, 0, 1, 0 } };
    const struct word_reading words = { .n = 2, .p = labels };
    struct gate_triage_input read = { relevance, &in, 7, &result, &signs, &words };
    float x[TRIAGE_FEATURES];

    (void)state;
    gate_triage_features(x, &read);
    assert_float_equal(x[TRIAGE_LABELLED + SPAN_AMB], 1.125, 1e-6);
    assert_float_equal(x[TRIAGE_LABEL + SPAN_COL], log(.25 / .75), 1e-6);
    assert_float_equal(x[TRIAGE_LABEL + SPAN_AMB], 10, 0);
    assert_float_equal(x[TRIAGE_LABEL + SPAN_VAL], -10, 0);
    const float top[TRIAGE_TOP] = { 4, 3, 1, 0, -1, -2 };
    assert_memory_equal(x, top, sizeof top);
    assert_float_equal(x[TRIAGE_MEAN], -3. / 8, 1e-6);
    assert_float_equal(x[TRIAGE_ELEMENTS], log(8), 1e-6);
    assert_float_equal(x[TRIAGE_SCORE], 1.5, 0);
    assert_float_equal(x[TRIAGE_LINGUISTIC], 0, 0); /* the detector has no head for it */
    assert_float_equal(x[TRIAGE_RELEVANT], 3, 0);
    assert_float_equal(x[TRIAGE_TOKENS], 7, 0);
    assert_float_equal(x[TRIAGE_PAIR + SIA_COLUMN] + x[TRIAGE_PAIR + SIA_TABLE] + x[TRIAGE_PAIR + SIA_JOIN], 0, 0);
    assert_float_equal(x[TRIAGE_PAIR + SIA_AGGREGATE], .817574, 1e-6);
    assert_float_equal(x[TRIAGE_TIMES], 0, 0);
    assert_float_equal(x[TRIAGE_FIRST_SIGN + SIGN_KNOWN], .25, 0);
    in.n_nodes = 1;
    columns[1].type = COLUMN_TIME;
    read.result = &(const struct gate_result){ .pair = -1 };
    read.words = NULL;
    gate_triage_features(x, &read);
    for (int l = 0; l < SPAN_LABELS; l++)
        assert_true(x[TRIAGE_LABELLED + l] == 0 && x[TRIAGE_LABEL + l] == 0);
    assert_float_equal(x[TRIAGE_PAIR + SIA_AGGREGATE], 0, 0); /* there is no pair */
    assert_float_equal(x[TRIAGE_TIMES], 1, 0);
    assert_float_equal(x[0], -2, 0);
    assert_float_equal(x[TRIAGE_TOP - 1], -10, 0); /* there is no such element */
}

/* Kinds of all classes, two of them ambiguous; questions of kind k lie around k in the first feature. */
enum { EACH = 20, USED = 5, QUESTIONS = USED * EACH };
static const enum triage_kind used[USED] = { KIND_ANSWERABLE, KIND_SCHEMA, KIND_TIME, KIND_COLUMN, KIND_IMPROPER };
static const int uneven[USED] = { 40, 20, 20, 10, 10 }, even[USED] = { EACH, EACH, EACH, EACH, EACH };

/* Kinds that overlap: used kind u lies around u in the first feature and around -u in the last. */
static void make_questions(float *x, uint8_t *kinds, const int *of_kind)
{
    struct rng rng = { .seed = 1 };

    for (int u = 0; u < USED; u++)
        for (int k = 0; k < of_kind[u]; k++, x += TRIAGE_FEATURES) {
            for (int i = 0; i < TRIAGE_FEATURES; i++)
                x[i] = rng_uniform(&rng);
            x[0] += (float)u;
            x[TRIAGE_FEATURES - 1] -= (float)u;
            *kinds++ = (uint8_t)used[u];
        }
}

/* The weight of a question: classes share equally, and kinds their class; two kinds are ambiguous. */
static double weight_of(int u)
{
    return 1. / TRIAGE_CLASSES / (used[u] == KIND_SCHEMA || used[u] == KIND_TIME ? 2 : 1) / uneven[u];
}

/* At the minimum, the weighted sum of the errors of each kind is zero, since the bias has no penalty. */
static void test_minimum(void **state)
{
    float *x = xcalloc(QUESTIONS * TRIAGE_FEATURES, sizeof *x);
    uint8_t kinds[QUESTIONS];
    double error[USED] = { 0 };
    struct gate_triage head;
    int right = 0;

    (void)state;
    make_questions(x, kinds, uneven);
    triage_fit(&head, x, kinds, QUESTIONS);
    for (int k = 0, u = 0, n = 0; k < QUESTIONS; k++, n++) {
        double p[TRIAGE_KINDS], sum = 0;
        gate_triage_predict_kinds(&head, x + k * TRIAGE_FEATURES, p);
        if (n == uneven[u]) {
            n = 0;
            u++;
        }
        for (int v = 0; v < USED; v++)
            error[v] += (p[used[v]] - (u == v)) * weight_of(u);
        for (int i = 0; i < TRIAGE_KINDS; i++)
            sum += p[i];
        assert_float_equal(sum, 1, 1e-9);
        right += p[kinds[k]] > .5;
    }
    for (int v = 0; v < USED; v++)
        assert_float_equal(error[v], 0, 1e-3);
    assert_true(right > QUESTIONS * 3 / 4);
    free(x);
}

/* A feature that never varies changes nothing and divides nothing by zero. */
static void test_constant(void **state)
{
    float *x = xcalloc(QUESTIONS * TRIAGE_FEATURES, sizeof *x);
    uint8_t kinds[QUESTIONS];
    struct gate_triage head;
    double p[TRIAGE_CLASSES];

    (void)state;
    make_questions(x, kinds, even);
    for (int k = 0; k < QUESTIONS; k++)
        x[k * TRIAGE_FEATURES + 5] = 7;
    triage_fit(&head, x, kinds, QUESTIONS);
    for (int k = 0; k < TRIAGE_KINDS; k++)
        assert_float_equal(head.weight[k][5], 0, 1e-12);
    gate_triage_predict(&head, x, p);
    assert_true(isfinite(p[0]));
    free(x);
}

/* The probability of a class is the sum over its kinds. */
static void test_kinds(void **state)
{
    const double kinds[TRIAGE_KINDS] = { [KIND_ANSWERABLE] = .1, [KIND_SCHEMA] = .15, [KIND_TIME] = .2,
                                         [KIND_COLUMN] = .25,    [KIND_REQUEST] = .2, [KIND_IMPROPER] = .1 };
    const double wanted[TRIAGE_CLASSES] = { .1, .35, .45, .1 };
    double p[TRIAGE_CLASSES];

    (void)state;
    gate_triage_classes(p, kinds);
    for (int c = 0; c < TRIAGE_CLASSES; c++)
        assert_float_equal(p[c], wanted[c], 1e-12);
    assert_int_equal(gate_triage_kind(kinds, TRIAGE_AMBIGUOUS), KIND_TIME);
    assert_int_equal(gate_triage_kind(kinds, TRIAGE_UNANSWERABLE), KIND_COLUMN);
    assert_int_equal(gate_triage_kind(kinds, TRIAGE_IMPROPER), KIND_IMPROPER);
}

/* Whether question k of n is among the m that the head refuses most surely. */
static bool is_among_surest(const struct gate_triage *head, const float *x, int n, int k, int m)
{
    double own[TRIAGE_CLASSES], p[TRIAGE_CLASSES];
    int surer = 0;

    gate_triage_predict(head, x + k * TRIAGE_FEATURES, own);
    for (int i = 0; i < n; i++) {
        gate_triage_predict(head, x + i * TRIAGE_FEATURES, p);
        surer += gate_triage_refusal(p) > gate_triage_refusal(own);
    }
    return surer < m;
}

/* The answerable questions with a refusal for the class that reaches the limit. */
static int count_refusals(const struct gate_triage *head, const float *x, int n, enum triage_class class, double limit)
{
    double p[TRIAGE_CLASSES];
    int reach = 0;

    for (int k = 0; k < n; k++) {
        gate_triage_predict(head, x + k * TRIAGE_FEATURES, p);
        reach += gate_triage_refusal_class(p) == class && gate_triage_refusal(p) >= limit;
    }
    return reach;
}

/* Of 40 answerable questions at most four are refused for each class; a lower threshold would refuse more. */
static void test_thresholds(void **state)
{
    const int n = uneven[0];
    float *x = xcalloc(QUESTIONS * TRIAGE_FEATURES, sizeof *x);
    uint8_t kinds[QUESTIONS], classes[QUESTIONS];
    int origins[QUESTIONS] = { 0 };
    struct triage_shares t;
    struct gate_triage head;

    (void)state;
    make_questions(x, kinds, uneven);
    for (int k = 0; k < QUESTIONS; k++)
        classes[k] = (uint8_t)triage_kind_class(kinds[k]);
    triage_fit(&head, x, kinds, QUESTIONS);
    triage_choose(&t, &head, x, classes, origins, QUESTIONS, .2);
    const double all = head.threshold[TRIAGE_UNANSWERABLE];
    assert_true(t.refused[TRIAGE_ANSWERABLE] <= .2 && t.asked[TRIAGE_ANSWERABLE] <= .2);
    assert_true(t.refused[TRIAGE_IMPROPER] > .5);
    assert_int_equal(count_refusals(&head, x, n, TRIAGE_UNANSWERABLE, all), 4);
    assert_int_equal(count_refusals(&head, x, n, TRIAGE_UNANSWERABLE, nextafter(all, 0)), 5);
    /* The twenty questions that are refused most surely are an origin of their own, and two of them may be. */
    for (int k = 0; k < n; k++)
        origins[k] = is_among_surest(&head, x, n, k, n / 2);
    triage_choose(&t, &head, x, classes, origins, QUESTIONS, .2);
    assert_true(head.threshold[TRIAGE_UNANSWERABLE] > all);
    assert_int_equal(count_refusals(&head, x, n, TRIAGE_UNANSWERABLE, head.threshold[TRIAGE_UNANSWERABLE]), 2);
    triage_choose(&t, &head, x, classes, origins, QUESTIONS, 0);
    assert_true(t.refused[TRIAGE_ANSWERABLE] <= 0 && t.asked[TRIAGE_ANSWERABLE] <= 0);
    free(x);
}

/* A refusal comes before the detector's ambiguity, which needs no probability of the head. */
static void test_decisions(void **state)
{
    const struct gate_triage head = { .threshold = { 0, .6, .7, .75 } };
    const double unsure[TRIAGE_CLASSES] = { .2, .1, .3, .4 }, unanswerable[TRIAGE_CLASSES] = { .2, .1, .4, .3 },
                 improper[TRIAGE_CLASSES] = { .1, .1, .3, .5 }, ambiguous[TRIAGE_CLASSES] = { .1, .65, .2, .05 };

    (void)state;
    assert_int_equal(gate_triage_decide(&head, unsure, false), TRIAGE_ANSWERABLE);
    assert_int_equal(gate_triage_decide(&head, unsure, true), TRIAGE_AMBIGUOUS);
    assert_int_equal(gate_triage_decide(&head, unanswerable, true), TRIAGE_UNANSWERABLE);
    assert_int_equal(gate_triage_decide(&head, improper, false), TRIAGE_IMPROPER);
    assert_int_equal(gate_triage_decide(&head, ambiguous, false), TRIAGE_AMBIGUOUS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_features),   cmocka_unit_test(test_minimum),   cmocka_unit_test(test_constant),
        cmocka_unit_test(test_thresholds), cmocka_unit_test(test_decisions), cmocka_unit_test(test_kinds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
