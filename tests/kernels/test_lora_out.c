/* The kernels of adapters at sizes of several blocks in each direction, against sums in double. */
#include "tests/support/step.h"

#include "kernels/rng.h"

#include <math.h>
#include <stdlib.h>

enum { MAPS = 2 };

/* Two adapters of one x; the second has a smaller rank and fewer columns. */
struct sizes {
    int64_t rows, cols[MAPS], rank[MAPS];
};

struct adapted {
    struct test_step step;
    const struct sizes *n;
    struct lora lora[MAPS];
    struct tensor *dy[MAPS], *h[MAPS];
    float *dy_values[MAPS], *h_values[MAPS], *b_values[MAPS];
};

/* Numbers that bf16 holds as they are. */
static float *noise(struct rng *r, int64_t n)
{
    float *values = xmalloc((size_t)n * sizeof *values);

    for (int64_t i = 0; i < n; i++)
        values[i] = f32_from_bf16(bf16_from_f32(2 * rng_uniform(r) - 1));
    return values;
}

static void adapted_open(struct adapted *a, const struct sizes *n, enum dtype dtype)
{
    struct rng r = { 3, 0 };

    test_step_open(&a->step);
    a->n = n;
    for (int i = 0; i < MAPS; i++) {
        struct ctx *c = &a->step.ctx;
        a->dy_values[i] = noise(&r, n->rows * n->cols[i]);
        a->h_values[i] = noise(&r, n->rows * n->rank[i]);
        a->b_values[i] = noise(&r, n->cols[i] * n->rank[i]);
        a->dy[i] = batch_f32(c, a->dy_values[i], n->rows, n->cols[i], dtype);
        a->h[i] = batch_f32(c, a->h_values[i], n->rows, n->rank[i], dtype);
        a->lora[i].b = batch_f32(c, a->b_values[i], n->cols[i], n->rank[i], dtype);
        a->lora[i].scale = 0.5f + (float)i;
    }
}

static void adapted_close(struct adapted *a)
{
    for (int i = 0; i < MAPS; i++) {
        free(a->dy_values[i]);
        free(a->h_values[i]);
        free(a->b_values[i]);
    }
    test_step_close(&a->step);
}

static float *values_of(struct adapted *a, struct tensor *t)
{
    struct tensor *wide = tensor_new(&a->step.ctx, F32, t->ndim, t->shape);

    RUN(&a->step.ctx, cast, wide, t);
    return test_values(&a->step, wide);
}

/* A number of that type, which is a sum of some hundred terms in f32. */
static void check(const char *what, double got, double expected, enum dtype dtype)
{
    double bound = dtype == BF16 ? 0x1p-8 * fabs(expected) : 0;

    if (!(fabs(got - expected) <= bound + 0x1p-18 * (fabs(expected) + 1)))
        fail_msg("%s: expected %g, got %g", what, expected, got);
}

/* The part of dh that comes from map i, whose columns begin at `from`. */
static void check_dh(struct adapted *a, int i, int64_t from, const float *dh, int64_t stride, enum dtype dtype)
{
    for (int64_t t = 0; t < a->n->rows; t++)
        for (int64_t k = 0; k < a->n->rank[i]; k++) {
            double sum = 0;
            for (int64_t j = 0; j < a->n->cols[i]; j++)
                sum += (double)a->dy_values[i][t * a->n->cols[i] + j] * a->b_values[i][j * a->n->rank[i] + k];
            check("dh", dh[t * stride + from + k], sum * a->lora[i].scale, dtype);
        }
}

static void check_db(struct adapted *a, int i, const float *db, double before)
{
    for (int64_t j = 0; j < a->n->cols[i]; j++)
        for (int64_t k = 0; k < a->n->rank[i]; k++) {
            double sum = before;
            for (int64_t t = 0; t < a->n->rows; t++)
                sum += (double)a->dy_values[i][t * a->n->cols[i] + j] * a->h_values[i][t * a->n->rank[i] + k];
            check("dB", db[j * a->n->rank[i] + k], sum, F32);
        }
}

/* dh, unless it is not wanted, and dB, which is added to 2 for the first map and not wanted of the second where only
 * one is. */
static void check_backward(const struct sizes *n, enum dtype dtype, bool wants_dh, bool both)
{
    struct adapted a = { 0 };
    struct destination grads[MAPS] = { { 0 } }, *db = grads;
    struct tensor *dh = NULL, *const *dy = a.dy, *const *h = a.h;
    const struct lora *l = a.lora;

    adapted_open(&a, n, dtype);
    struct ctx *c = &a.step.ctx;
    if (wants_dh)
        dh = tensor_new2(c, dtype, n->rows, n->rank[0] + n->rank[1]);
    for (int i = 0; i < 1 + both; i++) {
        db[i] = (struct destination){ tensor_new2(c, F32, n->cols[i], n->rank[i]), i == 0 };
        RUN(c, fill, db[i].t, 2.0f);
    }
    RUN(c, lora_out_backward, dh, db, dy, h, l, MAPS);
    float *values = wants_dh ? values_of(&a, dh) : NULL;
    for (int i = 0; i < MAPS && wants_dh; i++)
        check_dh(&a, i, i ? n->rank[0] : 0, values, n->rank[0] + n->rank[1], dtype);
    free(values);
    for (int i = 0; i < 1 + both; i++) {
        values = values_of(&a, db[i].t);
        check_db(&a, i, values, i == 0 ? 2 : 0);
        free(values);
    }
    adapted_close(&a);
}

/* Widths of whole packs and others; more rows than a part has, more columns than a block has, and more rank. */
static const struct sizes sizes[] = {
    { 300, { 1031, 520 }, { 19, 16 } },
    { 531, { 576, 64 }, { 16, 8 } },
    { 1, { 513, 3 }, { 40, 1 } },
    { 129, { 264, 256 }, { 32, 32 } },
};

static void test_backward(void **state)
{
    (void)state;
    for (int i = 0; i < ARRAY_LEN(sizes); i++)
        for (enum dtype dtype = F32; dtype <= BF16; dtype++) {
            check_backward(&sizes[i], dtype, true, true);
            check_backward(&sizes[i], dtype, false, true);
            check_backward(&sizes[i], dtype, true, false);
        }
}

/* The parts of not even few rows fit the scratch of a CUDA device. */
static void test_wide(void **state)
{
    static const struct sizes wide = { 3, { 700001, 8 }, { 1, 2 } };

    (void)state;
    check_backward(&wide, BF16, true, true);
}

static void check_y(struct adapted *a, int i, const float *y, const float *h, double before, enum dtype dtype)
{
    for (int64_t t = 0; t < a->n->rows; t++)
        for (int64_t j = 0; j < a->n->cols[i]; j++) {
            double sum = before;
            for (int64_t k = 0; k < a->n->rank[i]; k++)
                sum += (double)h[t * a->n->rank[i] + k] * a->b_values[i][j * a->n->rank[i] + k];
            check("y", y[t * a->n->cols[i] + j], sum, dtype);
        }
}

/* y and h of the second map's adapter; y of the first is added to 2. */
static void check_forward(const struct sizes *n, enum dtype dtype)
{
    struct adapted a = { 0 };
    struct destination out[MAPS], *y = out;
    struct rng r = { 5, 0 };
    int64_t ranks = n->rank[0] + n->rank[1];
    float *low_values = noise(&r, n->rows * ranks);
    struct tensor *const *h = a.h;
    const struct lora *l = a.lora;

    adapted_open(&a, n, dtype);
    struct ctx *c = &a.step.ctx;
    const struct tensor *low = batch_f32(c, low_values, n->rows, ranks, F32);
    for (int i = 0; i < MAPS; i++) {
        out[i] = (struct destination){ tensor_new2(c, dtype, n->rows, n->cols[i]), i == 0 };
        RUN(c, fill, out[i].t, 2.0f);
    }
    RUN(c, lora_out, y, h, low, l, MAPS);
    for (int i = 0; i < MAPS; i++) {
        float *made = values_of(&a, out[i].t), *scaled = values_of(&a, a.h[i]);
        for (int64_t t = 0; t < n->rows; t++)
            for (int64_t k = 0; k < n->rank[i]; k++)
                check("h", scaled[t * n->rank[i] + k],
                      (double)low_values[t * ranks + (i ? n->rank[0] : 0) + k] * a.lora[i].scale, dtype);
        check_y(&a, i, made, scaled, i == 0 ? 2 : 0, dtype);
        free(made);
        free(scaled);
    }
    free(low_values);
    adapted_close(&a);
}

static void test_forward(void **state)
{
    (void)state;
    for (int i = 0; i < ARRAY_LEN(sizes); i++)
        for (enum dtype dtype = F32; dtype <= BF16; dtype++)
            check_forward(&sizes[i], dtype);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_forward), cmocka_unit_test(test_backward),
                                        cmocka_unit_test(test_wide) };
    return test_devices(tests, ARRAY_LEN(tests));
}
