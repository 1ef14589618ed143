/* A matrix that allows it is multiplied in TF32 by the library, forward and backward, and no other one is. */
#include "kernels/kernels.h"
#include "tests/support/step.h"

#include <stdlib.h>
#include <string.h>

enum { N = 64 }; /* the smallest product that the library makes */

/* 1 and the first bit that TF32 loses. */
static const float VALUE = 1 + 0x1p-12f;

static struct tensor *matrix(struct test_step *s, float value, bool param)
{
    float *x = xmalloc(N * N * sizeof *x);

    for (int i = 0; i < N * N; i++)
        x[i] = value;
    struct tensor *t = test_input(s, x, N, N, param);
    free(x);
    return t;
}

static void check_all(struct test_step *s, const struct tensor *t, float want)
{
    float *x = test_values(s, t);

    for (int i = 0; i < N * N; i++)
        if (x[i] != want)
            fail_msg("element %d is %.9g, expected %.9g", i, (double)x[i], (double)want);
    free(x);
}

/* y = x w^T, dx = dy w, dw = dy^T x: every factor but VALUE is 1. */
static void check_linear(struct test_step *s, float x_value, float w_value, float dy_value, bool tf32)
{
    struct ctx *c = &s->ctx;
    float kept = tf32 && !strcmp(s->device.driver->name, "cuda") ? 1 : VALUE;
    struct tensor *x = matrix(s, x_value, false), *w = matrix(s, w_value, true);

    w->tf32 = w->grad->tf32 = tf32;
    c->tape = NULL;
    struct tensor *y = op_linear(c, x, w, NULL, ACT_NONE), *dy = tensor_like(c, y);
    RUN(c, fill, dy, dy_value);
    tape_backward_from(c, y, dy);
    check_all(s, y, N * (x_value * w_value == 1 ? 1 : kept));
    check_all(s, x->grad, N * (dy_value * w_value == 1 ? 1 : kept));
    check_all(s, w->grad, N * (x_value * dy_value == 1 ? 1 : kept));
}

static void test_products(void **state)
{
    struct test_step s;

    (void)state;
    test_step_open(&s);
    for (int again = 0; again < 2; again++)
        for (int tf32 = 0; tf32 < 2; tf32++) {
            check_linear(&s, VALUE, 1, 1, tf32);
            check_linear(&s, 1, VALUE, 1, tf32);
            check_linear(&s, 1, 1, VALUE, tf32);
        }
    test_step_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_products) };
    return test_devices(tests, ARRAY_LEN(tests));
}
