/* Descriptions of detectors in checkpoints are written and read back. The probabilities of the two heads are
 * combined. */
#include "tests/support/gate_world.h"

#include "data/base/json.h"

#include <math.h>
#include <string.h>

static json_t *description(enum gat_precision precision)
{
    const struct gate_world_settings s = { .classifier = CLASSIFIER_PAIR, .encode = ENCODE_SCHEMA };
    struct gate_world w;

    gate_world_open(&w, &s);
    w.model.net.config.gat_precision = precision;
    json_t *o = gate_model_to_json(&w.model);
    gate_world_close(&w);
    return o;
}

static enum gat_precision read_back(const json_t *o)
{
    struct gate_model_spec spec;
    struct error err;

    assert_int_equal(gate_model_from_json(o, &spec, "there", &err), 0);
    return spec.config.gat_precision;
}

static void test_precision(void **state)
{
    (void)state;
    for (enum gat_precision p = GAT_F32; p <= GAT_BF16; p++) {
        json_t *o = description(p);
        assert_int_equal(read_back(o), p);
        json_decref(o);
    }
}

/* Descriptions without the field are F32. */
static void test_no_precision(void **state)
{
    json_t *o = description(GAT_BF16);

    (void)state;
    json_object_del(o, "gat_precision");
    assert_int_equal(read_back(o), GAT_F32);
    json_decref(o);
}

/* Descriptions without the field have no head for linguistic ambiguity. */
static void test_linguistic(void **state)
{
    const struct gate_world_settings s = { .classifier = CLASSIFIER_PAIR, .encode = ENCODE_SCHEMA, .linguistic = 1 };
    struct gate_model_spec spec;
    struct gate_world w;
    struct error err;

    (void)state;
    gate_world_open(&w, &s);
    w.model.linguistic_temperature = 2.5;
    json_t *o = gate_model_to_json(&w.model);
    gate_world_close(&w);
    assert_int_equal(gate_model_from_json(o, &spec, "there", &err), 0);
    assert_int_equal(spec.config.linguistic, 1);
    assert_true(spec.linguistic_temperature == 2.5);
    json_object_del(o, "linguistic");
    json_object_del(o, "linguistic_temperature");
    assert_int_equal(gate_model_from_json(o, &spec, "there", &err), 0);
    assert_int_equal(spec.config.linguistic, 0);
    assert_true(spec.linguistic_temperature == 1);
    json_decref(o);
}

static void check_refused(json_t *o, const char *field, json_t *value, const char *says)
{
    struct gate_model_spec spec;
    struct error err;

    if (value)
        json_object_set_new(o, field, value);
    else
        json_object_del(o, field);
    assert_int_equal(gate_model_from_json(o, &spec, "there", &err), -1);
    if (!strstr(err.text, says))
        fail_msg("'%s' in: %s", says, err.text);
    json_decref(o);
}

static void test_refused(void **state)
{
    char message[64];

    (void)state;
    check_refused(description(GAT_F32), "gat_precision", json_string("f8"), "gat_precision: unknown value \"f8\"");
    check_refused(description(GAT_F32), "gat_precision", json_integer(1), "gat_precision");
    check_refused(description(GAT_F32), "pool", NULL, "pool");
    check_refused(description(GAT_F32), "encoder", json_string("modernbert"), "expected a window of 2 or more");
    check_refused(description(GAT_F32), "encoder", json_string("gpt"), "encoder: unknown value \"gpt\"");
    check_refused(description(GAT_F32), "heads", json_integer(0), "heads");
    check_refused(description(GAT_F32), "linguistic", json_string("maybe"), "linguistic");
    snprintf(message, sizeof message, "pair_feature_set: expected version %d, got 1: ", SCHEMA_PAIR_FEATURE_SET);
    check_refused(description(GAT_F32), "pair_feature_set", NULL, message);
    check_refused(description(GAT_F32), "pair_feature_set", json_integer(1), message);
    check_refused(description(GAT_F32), "linguistic_temperature", json_integer(0), "linguistic_temperature");
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static void one_of_two_is_so(void **state)
{
    const struct gate_model m = { .temperature = 1.7, .shift = 0.3, .linguistic_temperature = 0.6 };

    (void)state;
    for (double score = -6; score <= 6; score += 0.75)
        for (double words = -6; words <= 6; words += 0.75) {
            double p = sigmoid((score - m.shift) / m.temperature), q = sigmoid(words / m.linguistic_temperature);
            double got = gate_probability(&m, gate_join_logits(&m, score, words)), want = 1 - (1 - p) * (1 - q);
            assert_true(fabs(got - want) <= 1e-14);
            assert_int_equal(gate_words_likelier(&m, score, words), q > p);
        }
}

static void logits_without_bound_stay_in_order(void **state)
{
    const struct gate_model m = { .temperature = 1, .linguistic_temperature = 1 };
    const double far[] = { -3000, -700, -40, -1, 0, 1, 40, 700, 3000 };

    (void)state;
    for (int i = 0; i < ARRAY_LEN(far); i++) {
        assert_true(gate_join_logits(&m, far[i], -HUGE_VAL) == far[i]);
        assert_false(gate_words_likelier(&m, far[i], -HUGE_VAL));
        for (int k = 0; k < ARRAY_LEN(far); k++) {
            double joined = gate_join_logits(&m, far[i], far[k]);
            assert_true(isfinite(joined) && joined >= fmax(far[i], far[k]));
            assert_true(k == 0 || joined >= gate_join_logits(&m, far[i], far[k - 1]));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_precision),   cmocka_unit_test(test_no_precision),
        cmocka_unit_test(test_linguistic),  cmocka_unit_test(test_refused),
        cmocka_unit_test(one_of_two_is_so), cmocka_unit_test(logits_without_bound_stay_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
