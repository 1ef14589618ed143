/* Steps of Adafactor beside transformers'. */
#include "data/base/json.h"
#include "tests/support/optim_model.h"
#include "tests/support/support.h"

#include <math.h>
#include <stdlib.h>

/* The gold file's script has the same shapes and formulas.  Sides of 63 and 65 more than squares of 64; a vector whose
 * state fills its place. */

enum { MATRICES = 5, FACTORED_PARAMS = 8, SAMPLES = 12 };
static const int64_t factored_shapes[FACTORED_PARAMS][2] = { { 127, 33 }, { 1, 65 }, { 129, 1 }, { 64, 64 },
                                                             { 65, 127 }, { 48 },    { 1 },      { 5000 } };

static float *formula_of(const struct param *p, int64_t a, int64_t b, float scale)
{
    int64_t n = tensor_size(p->t);
    float *x = xmalloc((size_t)n * sizeof *x);

    for (int64_t k = 0; k < n; k++)
        x[k] = (float)((k * a + b) % 257 - 128) / 64 * scale;
    return x;
}

static void declare_factored(struct optim_model *m, enum dtype dtype)
{
    optim_model_open(m, OPTIMIZER_ADAFACTOR);
    for (int i = 0; i < FACTORED_PARAMS; i++) {
        bool matrix = i < MATRICES;
        param_new(&m->params, &m->arenas, dtype, matrix ? 2 : 1, factored_shapes[i], 0, matrix ? PARAM_DECAY : 0, "p%d",
                  i);
    }
    params_init(&m->params, &m->step.device, 0);
    for (int i = 0; i < FACTORED_PARAMS; i++) {
        float *start = formula_of(&m->params.list[i], 7, i, 1);
        param_upload(&m->params.list[i], &m->step.device, start);
        free(start);
    }
}

static void upload_factored(struct optim_model *m, int i, int64_t step)
{
    const struct param *p = &m->params.list[i];
    float *g = formula_of(p, 31 + i, 17 * step + i, step % 3 ? 2 : 0x1p-7f);

    for (int64_t r = 0; i == 0 && r < p->t->shape[0]; r++)
        g[r * p->t->shape[1] + 5] = 0;
    device_upload(&m->step.device, p->t->grad, g);
    free(g);
}

static void check_samples(struct optim_model *m, int i, const json_t *want, size_t step)
{
    struct param *p = &m->params.list[i];
    float gold[SAMPLES], *got = xmalloc(tensor_bytes(p->t->grad));

    optim_numbers(gold, want, SAMPLES);
    param_download(p, &m->step.device, got);
    for (int64_t k = 0; k < SAMPLES; k++)
        optim_check((double)got[k * 977 % tensor_size(p->t)], (double)gold[k], p->name, step);
    free(got);
}

static void check_factored_step(struct optim_model *m, const json_t *want, size_t step)
{
    for (int i = 0; i < FACTORED_PARAMS; i++)
        upload_factored(m, i, (int64_t)step);
    optim_step(&m->step.ctx, &m->optim, &m->params);
    optim_check(sqrt((double)optim_first(m, m->optim.norm)), optim_field(want, "norm"), "norm", step);
    optim_check((double)optim_first(m, m->optim.lr), optim_field(want, "rate"), "rate", step);
    for (int i = 0; i < FACTORED_PARAMS; i++) {
        check_samples(m, i, json_array_get(json_object_get(want, "values"), (size_t)i), step);
        assert_true(optim_first(m, m->params.list[i].t->grad) == 0.0f);
    }
}

static void check_factored_case(const json_t *gold, enum dtype dtype)
{
    const json_t *steps = json_object_get(gold, "steps");
    struct error err;
    struct optim_model m;

    declare_factored(&m, dtype);
    m.optim.schedule = (struct schedule){ .lr = 0.01f,
                                          .warmup = (int64_t)optim_field(gold, "warmup"),
                                          .total = (int64_t)optim_field(gold, "total"),
                                          .form = json_is_true(json_object_get(gold, "linear")) ? SCHEDULE_LINEAR
                                                                                                : SCHEDULE_CONSTANT };
    m.optim.adafactor = (struct adafactor){ .decay_rate = 0.8f,
                                            .eps = 1e-30f,
                                            .threshold = 1,
                                            .decay = (float)optim_field(gold, "decay"),
                                            .clip = (float)optim_field(gold, "clip") };
    assert_int_equal(optim_init(&m.optim, &m.step.device, &m.params, &err), 0);
    assert_int_equal(json_array_size(steps), 6);
    for (size_t s = 0; s < json_array_size(steps); s++)
        check_factored_step(&m, json_array_get(steps, s), s);
    optim_model_close(&m);
}

static void test_adafactor(void **state)
{
    struct error err;
    json_t *cases = json_read_file("tests/gold/adafactor.json", &err);

    (void)state;
    assert_int_equal(json_array_size(cases), 2);
    for (size_t i = 0; i < 2; i++)
        for (enum dtype dtype = F32; dtype <= BF16; dtype++)
            check_factored_case(json_array_get(cases, i), dtype);
    json_decref(cases);
}

static void test_state_of_adafactor(void **state)
{
    struct optim_model m;

    (void)state;
    declare_factored(&m, BF16);
    const struct param *matrix = &m.params.list[0], *vector = &m.params.list[MATRICES];
    assert_int_equal(tensor_size(matrix->state[0]), 127);
    assert_int_equal(tensor_size(matrix->state[1]), 33);
    assert_int_equal(tensor_size(vector->state[0]), 48);
    assert_null(vector->state[1]);
    assert_string_equal(param_state_group(matrix, 0), "adafactor_rows/");
    assert_string_equal(param_state_group(matrix, 1), "adafactor_columns/");
    assert_string_equal(param_state_group(vector, 0), "adafactor_v/");
    optim_model_close(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_adafactor), cmocka_unit_test(test_state_of_adafactor) };
    return test_devices(tests, ARRAY_LEN(tests));
}
