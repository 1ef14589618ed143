/* Parameters' first values, and ten steps of AdamW beside torch's. */
#include "data/base/json.h"
#include "tests/support/optim_model.h"
#include "tests/support/support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct param *declare(struct optim_model *m, const char *name, int64_t n, float init_std, unsigned flags,
                             enum dtype dtype)
{
    param_new(&m->params, &m->arenas, dtype, 1, &n, init_std, flags, "%s", name);
    return &m->params.list[m->params.n - 1];
}

static float *values_of(struct optim_model *m, const char *name)
{
    struct param *p = params_find(&m->params, name);
    float *out = xmalloc((size_t)tensor_size(p->t) * sizeof *out);
    param_download(p, &m->step.device, out);
    return out;
}

static void test_first_values(void **state)
{
    enum { N = 20000 };
    struct optim_model m, other;
    double sum = 0, square = 0;

    (void)state;
    optim_model_open(&m, OPTIMIZER_ADAMW);
    declare(&m, "layer.0.weight", N, 0.02f, PARAM_DECAY, F32);
    declare(&m, "layer.0.norm", 5, -1, 0, F32);
    declare(&m, "layer.0.bias", 5, 0, 0, F32);
    params_init(&m.params, &m.step.device, 9);
    float *w = values_of(&m, "layer.0.weight"), *norm = values_of(&m, "layer.0.norm"),
          *bias = values_of(&m, "layer.0.bias");
    for (int i = 0; i < N; i++) {
        assert_true(fabsf(w[i]) <= 0.04f);
        sum += (double)w[i];
        square += (double)w[i] * (double)w[i];
    }
    assert_true(fabs(sum / N) < 5 * 0.0176 / sqrt(N));
    assert_true(fabs(sqrt(square / N) / 0.02 - 0.8796) < 0.02); /* a normal cut at two deviations */
    for (int i = 0; i < 5; i++)
        assert_true(norm[i] == 1.0f && bias[i] == 0.0f);

    /* the numbers hang on name and seed alone: not on order, neighbours or element type */
    optim_model_open(&other, OPTIMIZER_NONE);
    declare(&other, "another", 7, 0.02f, 0, F32);
    declare(&other, "layer.0.weight", 100, 0.02f, 0, F32);
    declare(&other, "layer.1.weight", 100, 0.02f, 0, F32);
    params_init(&other.params, &other.step.device, 9);
    float *same = values_of(&other, "layer.0.weight"), *differs = values_of(&other, "layer.1.weight");
    assert_memory_equal(w, same, 100 * sizeof *w);
    assert_memory_not_equal(w, differs, 100 * sizeof *w);
    params_init(&other.params, &other.step.device, 10);
    float *reseeded = values_of(&other, "layer.0.weight");
    assert_memory_not_equal(w, reseeded, 100 * sizeof *w);
    free(w), free(norm), free(bias), free(same), free(differs), free(reseeded);
    optim_model_close(&m);
    optim_model_close(&other);
}

static void test_memory_of_a_parameter(void **state)
{
    struct optim_model m;

    (void)state;
    optim_model_open(&m, OPTIMIZER_ADAMW);
    const struct param *p = declare(&m, "f32", 3, 0.02f, PARAM_DECAY, F32);
    assert_true(p->t->needs_grad && p->t->is_param && !p->t->frozen && p->t->grad && p->state[0] && p->state[1] &&
                !p->master);
    p = declare(&m, "bf16", 3, 0.02f, PARAM_DECAY, BF16);
    assert_true(p->master && p->master->dtype == F32 && p->t->grad->dtype == F32);
    p = declare(&m, "frozen", 3, 0.02f, PARAM_FROZEN, F32);
    assert_true(!p->t->needs_grad && p->t->frozen && !p->t->grad && !p->state[0] && !p->state[1]);
    assert_null(params_find(&m.params, "f3"));
    optim_model_close(&m);
    optim_model_open(&m, OPTIMIZER_NONE);
    p = declare(&m, "bf16", 3, 0.02f, PARAM_DECAY, BF16);
    assert_true(!p->t->needs_grad && p->t->frozen && !p->t->grad && !p->master);
    optim_model_close(&m);
}

static void test_bf16_values(void **state)
{
    const float values[3] = { 1.00390625f, -3.14159274f, 1e-3f };
    float back[3];
    struct optim_model m;

    (void)state;
    optim_model_open(&m, OPTIMIZER_ADAMW);
    struct param *p = declare(&m, "w", 3, 0, 0, BF16);
    param_upload(p, &m.step.device, values);
    param_download(p, &m.step.device, back);
    assert_memory_equal(back, values, sizeof back); /* the master keeps what bf16 would lose */
    uint16_t half[3];
    device_download(&m.step.device, half, p->t);
    for (int i = 0; i < 3; i++)
        assert_int_equal(half[i], bf16_from_f32(values[i]));
    optim_model_close(&m);
}

/* A frozen bias keeps a rounded copy beside it, whichever way its values come; a trained one has none. */
static void test_rounded_bias(void **state)
{
    const float values[5] = { 1.00390625f, -3.14159274f, 1e-3f, 7.1f, -0.3f }, part[2] = { 2.7182817f, -1e-5f };
    char unaligned[1 + sizeof part];
    struct optim_model m;
    uint16_t half[5];
    float whole[5];

    (void)state;
    optim_model_open(&m, OPTIMIZER_ADAMW);
    assert_null(declare(&m, "trained", 5, 0, PARAM_BIAS, F32)->t->rounded);
    assert_null(declare(&m, "frozen", 5, 0, PARAM_FROZEN, F32)->t->rounded);
    struct param *p = declare(&m, "bias", 5, 0, PARAM_FROZEN | PARAM_BIAS, F32);
    param_upload(p, &m.step.device, values);
    memcpy(unaligned + 1, part, sizeof part);
    param_upload_stored(p, &m.step.device, unaligned + 1, 3, 2);
    param_download(p, &m.step.device, whole);
    device_download(&m.step.device, half, p->t->rounded);
    for (int i = 0; i < 5; i++) {
        assert_true(whole[i] == (i < 3 ? values[i] : part[i - 3]));
        assert_int_equal(half[i], bf16_from_f32(whole[i]));
    }
    struct tensor *slice = tensor_slice(&m.step.ctx, p->t, 1, 3);
    assert_ptr_equal(slice->rounded->data, (uint16_t *)p->t->rounded->data + 1);
    assert_int_equal(tensor_size(slice->rounded), 3);
    assert_null(tensor_view(p->t, 1, 3).rounded);
    optim_model_close(&m);
}

/* The gold file. */

/* Ten updates add at most a few units of roundoff to numbers of size 1; none of it may come from elsewhere. */
static void check_values(struct optim_model *m, int i, const json_t *want, size_t step)
{
    struct param *p = &m->params.list[i];
    int64_t n = tensor_size(p->t);
    float *got = xmalloc((size_t)n * sizeof *got), *gold = xmalloc((size_t)n * sizeof *gold);

    optim_numbers(gold, want, n);
    param_download(p, &m->step.device, got);
    for (int64_t k = 0; k < n; k++)
        optim_check((double)got[k], (double)gold[k], p->name, step);
    if (p->t->dtype == BF16) {
        uint16_t *half = xmalloc((size_t)n * sizeof *half);
        device_download(&m->step.device, half, p->t);
        for (int64_t k = 0; k < n; k++)
            assert_int_equal(half[k], bf16_from_f32(got[k]));
        free(half);
    }
    free(got);
    free(gold);
}

static void upload_gradient(struct optim_model *m, int i, const json_t *values)
{
    struct tensor *g = m->params.list[i].t->grad;
    float *x = xmalloc(tensor_bytes(g));

    optim_numbers(x, values, tensor_size(g));
    device_upload(&m->step.device, g, x);
    free(x);
}

static const struct adamw usual = { .beta1 = 0.9f, .beta2 = 0.98f, .eps = 1e-6f, .decay = 0.1f };

static void plan(struct optim_model *m, struct schedule schedule, float clip)
{
    struct error err;

    m->optim.schedule = schedule;
    m->optim.adamw = usual;
    m->optim.adamw.clip = clip;
    assert_int_equal(optim_init(&m->optim, &m->step.device, &m->params, &err), 0);
}

static void check_step(struct optim_model *m, const json_t *want, size_t step)
{
    const struct optim *o = &m->optim;

    for (int i = 0; i < 2; i++)
        upload_gradient(m, i, json_array_get(json_object_get(want, "gradients"), (size_t)i));
    optim_step(&m->step.ctx, &m->optim, &m->params);
    optim_check(sqrt((double)optim_first(m, o->norm)), optim_field(want, "norm"), "norm", step);
    optim_check((double)optim_first(m, o->lr), optim_field(want, "rate"), "rate", step);
    for (int i = 0; i < 2; i++) {
        check_values(m, i, json_array_get(json_object_get(want, "values"), (size_t)i), step);
        assert_true(optim_first(m, m->params.list[i].t->grad) == 0.0f);
    }
}

static void check_case(const json_t *gold, enum dtype dtype)
{
    struct optim_model m;
    float start[37];

    optim_model_open(&m, OPTIMIZER_ADAMW);
    declare(&m, "decayed", 37, 0, PARAM_DECAY, dtype);
    declare(&m, "plain", 5, 0, 0, dtype);
    params_init(&m.params, &m.step.device, 0); /* zeroes gradients and moments */
    m.params.list[1].lr_scale = 2;
    for (int i = 0; i < 2; i++) {
        optim_numbers(start, json_array_get(json_object_get(gold, "start"), (size_t)i), i ? 5 : 37);
        param_upload(&m.params.list[i], &m.step.device, start);
    }
    struct schedule schedule = { .lr = 0.01f,
                                 .warmup = (int64_t)optim_field(gold, "warmup"),
                                 .total = (int64_t)optim_field(gold, "total"),
                                 .form = json_is_true(json_object_get(gold, "cosine")) ? SCHEDULE_COSINE
                                                                                       : SCHEDULE_LINEAR };
    plan(&m, schedule, (float)optim_field(gold, "clip"));
    const json_t *steps = json_object_get(gold, "steps");
    assert_int_equal(json_array_size(steps), 10);
    for (size_t s = 0; s < json_array_size(steps); s++)
        check_step(&m, json_array_get(steps, s), s);
    optim_model_close(&m);
}

static void test_gold(void **state)
{
    struct error err;
    json_t *cases = json_read_file("tests/gold/optim.json", &err);

    (void)state;
    assert_int_equal(json_array_size(cases), 2);
    for (size_t i = 0; i < 2; i++)
        for (enum dtype dtype = F32; dtype <= BF16; dtype++)
            check_case(json_array_get(cases, i), dtype);
    json_decref(cases);
}

/* The rate at its corners. */
static void test_schedule(void **state)
{
    static const struct {
        struct schedule s;
        int32_t step;
        double rate;
    } cases[] = {
        { { 2, 4, 8, SCHEDULE_LINEAR }, 0, 0 },    { { 2, 4, 8, SCHEDULE_LINEAR }, 2, 1 },
        { { 2, 4, 8, SCHEDULE_LINEAR }, 4, 2 },    { { 2, 4, 8, SCHEDULE_LINEAR }, 6, 1 },
        { { 2, 4, 8, SCHEDULE_LINEAR }, 8, 0 },    { { 2, 4, 8, SCHEDULE_LINEAR }, 900, 0 },
        { { 2, 0, 8, SCHEDULE_LINEAR }, 0, 2 },    { { 2, 4, 8, SCHEDULE_COSINE }, 5, 1.7071067811865475 },
        { { 2, 0, 0, SCHEDULE_LINEAR }, 0, 0 },    { { 2, 4, 4, SCHEDULE_COSINE }, 4, 0 },
        { { 2, 4, 8, SCHEDULE_LINEAR }, 7, 0.5 },  { { 2, 4, 0, SCHEDULE_CONSTANT }, 2, 1 },
        { { 2, 0, 0, SCHEDULE_CONSTANT }, 90, 2 },
    };
    struct optim_model m;

    (void)state;
    optim_model_open(&m, OPTIMIZER_ADAMW);
    plan(&m, cases[0].s, 0); /* of no parameters */
    for (int i = 0; i < ARRAY_LEN(cases); i++) {
        int32_t rng[4] = { 1, 2, cases[i].step, 0 };
        m.optim.schedule = cases[i].s;
        device_upload(&m.step.device, m.step.ctx.rng, rng);
        optim_step(&m.step.ctx, &m.optim, &m.params);
        assert_true(fabs((double)optim_first(&m, m.optim.lr) - cases[i].rate) < 1e-6);
        assert_true(optim_first(&m, m.optim.norm) == 0.0f);
        device_download(&m.step.device, rng, m.step.ctx.rng);
        assert_int_equal(rng[2], cases[i].step + 1);
    }
    optim_model_close(&m);
}

static float formula(int64_t at)
{
    return (float)(at % 19) / 8 - 1;
}

static void upload_formula(struct optim_model *m, const struct param *p, int shift, double *squares)
{
    int64_t n = tensor_size(p->t);
    float *x = xmalloc((size_t)n * sizeof *x);

    for (int64_t k = 0; k < n; k++) {
        x[k] = formula(k + shift);
        *squares += (double)x[k] * (double)x[k];
    }
    device_upload(&m->step.device, p->t->grad, x);
    free(x);
}

/* Rows of no, one and many chunks and parts, cut anywhere. */
static void test_norm(void **state)
{
    static const int64_t sizes[] = { 1, 0, 31, UPDATE_CHUNK, 70001, 33, 127, UPDATE_CHUNK + 1, 1025 };
    struct optim_model m;
    char name[16];
    double want = 0;

    (void)state;
    optim_model_open(&m, OPTIMIZER_ADAMW);
    for (int i = 0; i < ARRAY_LEN(sizes); i++) {
        snprintf(name, sizeof name, "p%d", i);
        upload_formula(&m, declare(&m, name, sizes[i], 0, 0, F32), i, &want);
    }
    plan(&m, (struct schedule){ .lr = 1, .total = 4 }, 0);
    optim_step(&m.step.ctx, &m.optim, &m.params);
    assert_true(fabs((double)optim_first(&m, m.optim.norm) / want - 1) < 2e-7);
    optim_model_close(&m);
}

/* The first number of a parameter that starts at 1 after its first update, the step'th of all, by a gradient of -1. */
static double first_update(double rate, double decay, int step)
{
    double mean = -0.1 / (1 - pow(0.9, step)), square = (1 - 0.98) / (1 - pow(0.98, step));
    return 1 - rate * decay - rate * mean / (sqrt(square) + 1e-6);
}

/* A parameter that rests keeps its numbers and its gradient; it joins in later, with a rate of its own. */
static void test_trained_parameters_change(void **state)
{
    struct optim_model m;
    double squares = 0;

    (void)state;
    optim_model_open(&m, OPTIMIZER_ADAMW);
    declare(&m, "always", 5000, -1, PARAM_DECAY, F32);
    declare(&m, "later", 9000, -1, 0, BF16);
    params_init(&m.params, &m.step.device, 0);
    for (int i = 0; i < 2; i++)
        upload_formula(&m, &m.params.list[i], 0, &squares);
    struct param *always = &m.params.list[0], *later = &m.params.list[1];
    plan(&m, (struct schedule){ .lr = 0.01f, .total = 1 << 30 }, 0);
    later->t->needs_grad = false;
    optim_step(&m.step.ctx, &m.optim, &m.params);
    optim_check((double)optim_first(&m, always->t), first_update(0.01, 0.1, 1), "always", 0);
    assert_true(optim_first(&m, later->master) == 1.0f && optim_first(&m, later->t->grad) == -1.0f);
    later->t->needs_grad = true;
    later->lr_scale = 3;
    optim_step(&m.step.ctx, &m.optim, &m.params);
    optim_check((double)optim_first(&m, later->master), first_update(0.03, 0, 2), "later", 1);
    assert_true(optim_first(&m, later->t->grad) == 0.0f);
    optim_model_close(&m);
}

/* Odd sizes of both types, in an arena whose every other byte is known. */
static const int64_t odd_sizes[] = { 1, 31, 33, 127, 1025 };
enum { ODD_PARAMS = 2 * ARRAY_LEN(odd_sizes), ODD_STEPS = 3, FREE_BYTE = 0xa5 };

static void fill_arena(struct optim_model *m)
{
    unsigned char *bytes = xmalloc(MODEL_BYTES);
    memset(bytes, FREE_BYTE, MODEL_BYTES);
    m->step.device.driver->upload(&m->step.device, m->data.base, bytes, MODEL_BYTES);
    free(bytes);
}

/* All of the arena after three steps of the optimizer; the caller frees. */
static unsigned char *run_odd_sizes(struct optim_model *m)
{
    unsigned char *bytes = xmalloc(MODEL_BYTES);
    double squares = 0;
    char name[16];

    optim_model_open(m, true);
    fill_arena(m);
    for (int i = 0; i < ODD_PARAMS; i++) {
        snprintf(name, sizeof name, "p%d", i);
        declare(m, name, odd_sizes[i / 2], 0.02f, i % 3 ? PARAM_DECAY : 0, i % 2 ? BF16 : F32);
    }
    plan(m, (struct schedule){ .lr = 0.1f, .total = 10 }, 1);
    params_init(&m->params, &m->step.device, 4);
    for (int step = 0; step < ODD_STEPS; step++) {
        for (int i = 0; i < ODD_PARAMS; i++)
            upload_formula(m, &m->params.list[i], step + i, &squares);
        optim_step(&m->step.ctx, &m->optim, &m->params);
    }
    m->step.device.driver->download(&m->step.device, bytes, m->data.base, MODEL_BYTES);
    return bytes;
}

static void forget(unsigned char *bytes, const struct optim_model *m, const struct tensor *t)
{
    if (t)
        memset(bytes + ((unsigned char *)t->data - (unsigned char *)m->data.base), FREE_BYTE, tensor_bytes(t));
}

/* Compares every running mean with that of the clipped gradients, and checks that all gradients are zero again. */
static void check_means(struct optim_model *m)
{
    float x[1025], g[1025];
    double squares[ODD_STEPS] = { 0 };

    for (int i = 0; i < ODD_PARAMS * ODD_STEPS; i++)
        for (int64_t k = 0; k < odd_sizes[i / ODD_STEPS / 2]; k++)
            squares[i % ODD_STEPS] += pow((double)formula(k + i % ODD_STEPS + i / ODD_STEPS), 2);
    for (int i = 0; i < ODD_PARAMS; i++) {
        const struct param *p = &m->params.list[i];
        device_download(&m->step.device, x, p->state[0]);
        device_download(&m->step.device, g, p->t->grad);
        for (int64_t k = 0; k < odd_sizes[i / 2]; k++) {
            double want = 0;
            for (int step = 0; step < ODD_STEPS; step++)
                want = 0.9 * want + 0.1 * (double)formula(k + step + i) / sqrt(squares[step]);
            optim_check((double)x[k], want, p->name, (size_t)k);
            assert_true(g[k] == 0.0f);
        }
    }
}

/* The same bits twice, and no write outside the parameters' memory. */
static void test_odd_sizes(void **state)
{
    struct optim_model m, again;
    unsigned char *bytes = run_odd_sizes(&m), *same = run_odd_sizes(&again);

    (void)state;
    check_means(&m);
    assert_memory_equal(bytes, same, MODEL_BYTES);
    for (int i = 0; i < ODD_PARAMS; i++) {
        const struct param *p = &m.params.list[i];
        const struct tensor *owned[] = { p->t, p->t->grad, p->state[0], p->state[1], p->master };
        for (int k = 0; k < ARRAY_LEN(owned); k++)
            forget(bytes, &m, owned[k]);
    }
    for (int i = 0; i < MODEL_BYTES; i++)
        if (bytes[i] != FREE_BYTE)
            fail_msg("byte %d is %d, and belongs to no parameter", i, bytes[i]);
    free(bytes);
    free(same);
    optim_model_close(&m);
    optim_model_close(&again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_values),
        cmocka_unit_test(test_memory_of_a_parameter),
        cmocka_unit_test(test_bf16_values),
        cmocka_unit_test(test_rounded_bias),
        cmocka_unit_test(test_gold),
        cmocka_unit_test(test_schedule),
        cmocka_unit_test(test_norm),
        cmocka_unit_test(test_odd_sizes),
        cmocka_unit_test(test_trained_parameters_change),
    };
    return test_devices(tests, ARRAY_LEN(tests));
}
