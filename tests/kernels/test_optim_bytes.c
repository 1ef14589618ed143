/* AdamW with moments in bytes: the published maps, and each step beside the formula in double and the nearest code. */
#include "data/base/json.h"
#include "tests/support/optim_model.h"
#include "tests/support/support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBERS = 5001, BLOCKS = (NUMBERS + MOMENT_BLOCK - 1) / MOMENT_BLOCK, STEPS = 8 };

static double map[2][MOMENT_CODES];

static void read_maps(void)
{
    static const char *const names[] = { "signed", "squares" };
    struct error err;
    json_t *gold = json_read_file("tests/gold/moments.json", &err);

    for (int k = 0; k < 2; k++) {
        const json_t *list = json_object_get(gold, names[k]);
        assert_int_equal(json_array_size(list), MOMENT_CODES);
        for (size_t i = 0; i < MOMENT_CODES; i++)
            map[k][i] = json_number_value(json_array_get(list, i));
    }
    json_decref(gold);
}

static void test_maps(void **state)
{
    struct moment_maps got;

    (void)state;
    read_maps();
    moment_maps_fill(&got);
    for (int i = 0; i < MOMENT_CODES; i++) {
        assert_true(fabs((double)got.signed_values[i] - map[0][i]) <= 1e-7 * fabs(map[0][i]));
        assert_true(fabs((double)got.squares[i] - map[1][i]) <= 1e-7 * fabs(map[1][i]));
    }
}

/* The same numbers on each device; sizes between 1e-6 and 1, some exact zeros, a block of nothing else. */
static float draw(uint32_t i, uint32_t step)
{
    uint32_t h = (i * 7919u + step * 104729u + 17u) * 2654435761u;

    h ^= h >> 15;
    if (h % 29 == 0 || i / MOMENT_BLOCK == 3)
        return 0;
    return (float)(((double)(h % 20011) / 10005 - 1) * pow(10, -(double)(i % 7)));
}

/* A parameter before or after a step. */
struct picture {
    float w[NUMBERS], words[2][BLOCKS * MOMENT_WORDS];
};

static void take(struct picture *p, struct optim_model *m, const struct param *q)
{
    param_download(q, &m->step.device, p->w);
    for (int k = 0; k < 2; k++)
        device_download(&m->step.device, p->words[k], q->state[k]);
}

static double scale_of(const struct picture *p, int k, int i)
{
    return (double)p->words[k][i / MOMENT_BLOCK * MOMENT_WORDS];
}

static double moment(const struct picture *p, int k, int i)
{
    const uint8_t *codes = (const uint8_t *)&p->words[k][i / MOMENT_BLOCK * MOMENT_WORDS + 1];

    return scale_of(p, k, i) * map[k][codes[i % MOMENT_BLOCK]];
}

/* The code is nearest to x, as far as f32 tells. */
static void check_code(const struct picture *p, int k, int i, double x)
{
    double scale = scale_of(p, k, i), best = HUGE_VAL, got = moment(p, k, i);

    for (int c = 0; c < MOMENT_CODES; c++)
        best = fmin(best, fabs(scale * map[k][c] - x));
    if (!(fabs(got - x) <= best + 2e-6 * scale))
        fail_msg("moment %d of number %d is %.9g, expected %.9g to %.3g", k, i, got, x, best);
}

static const struct adamw usual = { .beta1 = 0.9f, .beta2 = 0.98f, .eps = 1e-6f, .decay = 0.1f };

static void check_step(const struct picture *before, const struct picture *after, const float *g, int step)
{
    double rate = 0.01, b1 = (double)usual.beta1, b2 = (double)usual.beta2, largest[2][BLOCKS] = { { 0 } };

    for (int i = 0; i < NUMBERS; i++) {
        double x = (double)g[i], m = b1 * moment(before, 0, i) + (1 - b1) * x;
        double v = b2 * moment(before, 1, i) + (1 - b2) * x * x;
        double w = (double)before->w[i] * (1 - rate * (double)usual.decay);
        w -= rate * m / (1 - pow(b1, step)) / (sqrt(v / (1 - pow(b2, step))) + (double)usual.eps);
        if (!(fabs((double)after->w[i] - w) <= 1e-5 * (fabs(w) + 1e-2)))
            fail_msg("number %d after step %d is %.9g, expected %.9g", i, step, (double)after->w[i], w);
        check_code(after, 0, i, m);
        check_code(after, 1, i, v);
        largest[0][i / MOMENT_BLOCK] = fmax(largest[0][i / MOMENT_BLOCK], fabs(m));
        largest[1][i / MOMENT_BLOCK] = fmax(largest[1][i / MOMENT_BLOCK], v);
    }
    for (int k = 0; k < 2; k++)
        for (int b = 0; b < BLOCKS; b++)
            optim_check(scale_of(after, k, b * MOMENT_BLOCK), largest[k][b], "scale", (size_t)step);
}

static void check_steps(enum dtype dtype)
{
    struct picture *now = xmalloc(2 * sizeof *now);
    struct optim_model m;
    struct error err;
    int64_t n = NUMBERS;
    float g[NUMBERS];

    optim_model_open(&m, OPTIMIZER_ADAMW_BYTES);
    param_new(&m.params, &m.arenas, dtype, 1, &n, 1, PARAM_DECAY, "w");
    params_init(&m.params, &m.step.device, 5);
    m.optim.schedule = (struct schedule){ .lr = 0.01f, .form = SCHEDULE_CONSTANT };
    m.optim.adamw = usual;
    assert_int_equal(optim_init(&m.optim, &m.step.device, &m.params, &err), 0);
    const struct param *p = &m.params.list[0];
    take(&now[0], &m, p);
    for (int step = 1; step <= STEPS; step++) {
        for (int i = 0; i < NUMBERS; i++)
            g[i] = draw((uint32_t)i, (uint32_t)step);
        device_upload(&m.step.device, p->t->grad, g);
        optim_step(&m.step.ctx, &m.optim, &m.params);
        take(&now[1], &m, p);
        check_step(&now[0], &now[1], g, step);
        assert_true(optim_first(&m, p->t->grad) == 0.0f);
        now[0] = now[1];
    }
    optim_model_close(&m);
    free(now);
}

static void test_steps(void **state)
{
    (void)state;
    read_maps();
    check_steps(F32);
    check_steps(BF16);
}

/* Small parameters and embeddings keep moments in f32, and are trained beside the others. */
static void test_policy(void **state)
{
    int64_t large = MOMENT_LEAST, small = MOMENT_LEAST - 1;
    struct optim_model m;
    struct error err;

    (void)state;
    optim_model_open(&m, OPTIMIZER_ADAMW_BYTES);
    param_new(&m.params, &m.arenas, F32, 1, &large, 1, 0, "large");
    param_new(&m.params, &m.arenas, F32, 1, &small, 1, 0, "small");
    param_new(&m.params, &m.arenas, F32, 1, &large, 1, PARAM_EMBEDDING, "table");
    const struct param *p = m.params.list;
    assert_int_equal(tensor_size(p[0].state[0]), MOMENT_LEAST / MOMENT_BLOCK * MOMENT_WORDS);
    assert_string_equal(param_state_group(&p[0], 1), "adam_v_bytes/");
    assert_int_equal(tensor_size(p[1].state[1]), small);
    assert_int_equal(tensor_size(p[2].state[1]), large);
    assert_string_equal(param_state_group(&p[2], 0), "adam_m/");
    params_init(&m.params, &m.step.device, 5);
    m.optim.schedule = (struct schedule){ .lr = 0.01f, .form = SCHEDULE_CONSTANT };
    m.optim.adamw = usual;
    assert_int_equal(optim_init(&m.optim, &m.step.device, &m.params, &err), 0);
    for (int i = 0; i < 3; i++) {
        float *ones = xmalloc(tensor_bytes(p[i].t->grad));
        for (int64_t k = 0; k < tensor_size(p[i].t); k++)
            ones[k] = 1;
        device_upload(&m.step.device, p[i].t->grad, ones);
        free(ones);
    }
    float before[3] = { optim_first(&m, p[0].t), optim_first(&m, p[1].t), optim_first(&m, p[2].t) };
    optim_step(&m.step.ctx, &m.optim, &m.params);
    for (int i = 0; i < 3; i++)
        optim_check((double)optim_first(&m, p[i].t), (double)before[i] - 0.01, p[i].name, 0);
    optim_model_close(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_maps),
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_policy),
    };
    return test_devices(tests, ARRAY_LEN(tests));
}
