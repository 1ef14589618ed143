/* Logits of which a mask sets some to -infinity: the others decide, wherever they lie in their row. */
#include "kernels/kernels.h"
#include "tests/support/step.h"

#include <math.h>
#include <stdlib.h>

enum { COLS = 9001, ROWS = 7 }; /* columns beyond what a block takes at once, and no multiple of anything */

static struct row {
    int64_t from, to;  /* -infinity but for these columns */
    int64_t hole, end; /* and in these */
    int32_t target;
} const rows[ROWS] = {
    { 4200, COLS, 0, 0, 5000 },  { 17, 18, 0, 0, 17 }, { 0, COLS, 100, 8500, 3 }, { COLS - 1, COLS, 0, 0, COLS - 1 },
    { 0, COLS, 0, 8, COLS - 1 }, { 0, 0, 0, 0, 5 },    { 0, 0, 0, 0, -1 },
};
enum { EMPTY = 5 }; /* the first row without a number */

static float logit(int64_t r, int64_t j)
{
    const struct row *row = &rows[r];
    bool masked = j < row->from || j >= row->to || (j >= row->hole && j < row->end);

    return masked ? -INFINITY : (float)((7 * r + 3 * j) % 31) / 8 - 2;
}

static double log_sum(int64_t r)
{
    double sum = 0;

    for (int64_t j = 0; j < COLS; j++)
        sum += exp((double)logit(r, j));
    return log(sum);
}

/* The first n rows and their targets. */
static struct tensor *logits(struct ctx *c, int64_t n, struct tensor **target)
{
    float *z = xmalloc((size_t)(n * COLS) * sizeof *z);
    int32_t ids[ROWS];

    for (int64_t r = 0; r < n; r++) {
        ids[r] = rows[r].target;
        for (int64_t j = 0; j < COLS; j++)
            z[r * COLS + j] = logit(r, j);
    }
    *target = batch_i32(c, ids, n);
    struct tensor *t = batch_f32(c, z, n, COLS, F32);
    free(z);
    return t;
}

static void check_close(double got, double want)
{
    if (!(fabs(got - want) <= 1e-5 * fabs(want) + 1e-6))
        fail_msg("%.9g, expected %.9g", got, want);
}

static void check_gradient(const float *dz, int64_t r, double factor)
{
    double lse = log_sum(r);

    for (int64_t j = 0; j < COLS; j++)
        check_close((double)dz[j], factor * (exp((double)logit(r, j) - lse) - (j == rows[r].target)));
}

static void test_nll(void **state)
{
    struct test_step s;
    struct tensor *target;

    (void)state;
    test_step_open(&s);
    struct ctx *c = &s.ctx;
    struct tensor *z = logits(c, ROWS, &target), *y = tensor_new1(c, F32, ROWS), *lse = tensor_new1(c, F32, ROWS);
    struct tensor *dy = tensor_new1(c, F32, ROWS), *dz = tensor_new2(c, F32, ROWS, COLS);
    RUN(c, fill, dy, 2.0f);
    RUN(c, nll, y, lse, z, target);
    RUN(c, nll_backward, dz, dy, lse, z, target, 0);
    float *losses = test_values(&s, y), *sums = test_values(&s, lse), *gradients = test_values(&s, dz);
    for (int64_t r = 0; r < EMPTY; r++) {
        check_close((double)sums[r], log_sum(r));
        check_close((double)losses[r], log_sum(r) - (double)logit(r, rows[r].target));
        check_gradient(gradients + r * COLS, r, 2);
    }
    assert_true(isnan(sums[EMPTY]) && isnan(losses[EMPTY]));
    assert_true(isnan(sums[EMPTY + 1]) && losses[EMPTY + 1] == 0.0f);
    for (int64_t j = 0; j < COLS; j++) /* no target, no gradient, whatever the row is */
        assert_true(gradients[(EMPTY + 1) * COLS + j] == 0.0f);
    free(losses), free(sums), free(gradients);
    test_step_close(&s);
}

static void test_cross_entropy(void **state)
{
    struct test_step s;
    struct tensor *target;
    double want = 0;

    (void)state;
    test_step_open(&s);
    struct ctx *c = &s.ctx;
    struct tensor *x = logits(c, EMPTY, &target), *loss = tensor_new1(c, F32, 1), *lse = tensor_new1(c, F32, EMPTY);
    struct tensor *dloss = tensor_new1(c, F32, 1), *dx = tensor_like(c, x);
    struct destination to = { dx, false };
    float scale = 0.5f;
    RUN(c, fill, dloss, 4.0f);
    RUN(c, cross_entropy, loss, lse, x, target, scale);
    RUN(c, cross_entropy_backward, to, dloss, lse, x, target, scale);
    float *total = test_values(&s, loss), *gradients = test_values(&s, dx);
    for (int64_t r = 0; r < EMPTY; r++) {
        want += 0.5 * (log_sum(r) - (double)logit(r, rows[r].target));
        check_gradient(gradients + r * COLS, r, 2);
    }
    check_close((double)*total, want);
    free(total), free(gradients);
    test_step_close(&s);
}

static void test_argmax(void **state)
{
    struct test_step s;
    struct tensor *target;
    int32_t got[ROWS];

    (void)state;
    test_step_open(&s);
    struct ctx *c = &s.ctx;
    struct tensor *x = logits(c, ROWS, &target), *y = tensor_new1(c, I32, ROWS);
    RUN(c, argmax, y, x);
    device_download(&s.device, got, y);
    for (int64_t r = 0; r < ROWS; r++) {
        int32_t best = 0;
        for (int32_t j = 0; j < COLS; j++)
            if (logit(r, j) > logit(r, best))
                best = j;
        assert_int_equal(got[r], best);
    }
    test_step_close(&s);
}

/* One segment for each row of numbers. */
static void test_attention_pool(void **state)
{
    struct test_step s;
    struct tensor *target;
    int32_t lengths[EMPTY];
    float *x = xmalloc(EMPTY * COLS * sizeof *x);

    (void)state;
    test_step_open(&s);
    struct ctx *c = &s.ctx;
    for (int i = 0; i < EMPTY * COLS; i++)
        x[i] = (float)(i % 13);
    for (int i = 0; i < EMPTY; i++)
        lengths[i] = COLS;
    struct tensor *gate = logits(c, EMPTY, &target), *values = batch_f32(c, x, EMPTY * COLS, 1, F32);
    struct tensor *y = tensor_new2(c, F32, EMPTY, 1), *a = tensor_like(c, gate);
    struct seqs seqs = batch_seqs(c, lengths, EMPTY);
    const struct seqs *segments = &seqs;
    RUN(c, attention_pool, y, a, values, gate, segments);
    float *got = test_values(&s, y);
    for (int64_t r = 0; r < EMPTY; r++) {
        double want = 0, lse = log_sum(r);
        for (int64_t j = 0; j < COLS; j++)
            want += exp((double)logit(r, j) - lse) * (double)x[r * COLS + j];
        check_close((double)got[r], want);
    }
    free(got), free(x);
    test_step_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nll),
        cmocka_unit_test(test_cross_entropy),
        cmocka_unit_test(test_argmax),
        cmocka_unit_test(test_attention_pool),
    };
    return test_devices(tests, ARRAY_LEN(tests));
}
