#include "tests/support/step.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HOST_BYTES = 1 << 20, STEP_BYTES = 64 << 20 };

static const char *device_name = "cpu";
static struct device shared; /* that device, open while its tests run: a GPU takes long to open */

const char *test_device_name(void)
{
    return device_name;
}

void test_not_on_simt(void)
{
    if (strcmp(device_name, "simt") == 0 && !test_all())
        skip();
}

void test_device_open(struct device *d)
{
    struct error err;
    assert_int_equal(device_open(d, device_name, &err), 0);
}

void test_step_open(struct test_step *s)
{
    static const int32_t rng[4] = { 11, 0, 0, 0 };
    struct error err;

    *s = (struct test_step){ 0 };
    assert_non_null(shared.driver);
    s->device = shared;
    assert_int_equal(arena_init(&s->host, HOST_BYTES, &err), 0);
    assert_int_equal(device_arena(&s->device, &s->step, STEP_BYTES, &err), 0);
    s->ctx = (struct ctx){ .k = s->device.driver->kernels,
                           .dev = &s->device,
                           .host = &s->host,
                           .step = &s->step,
                           .recording = true,
                           .training = true };
    s->ctx.rng = batch_i32(&s->ctx, rng, 4);
}

void test_step_close(struct test_step *s)
{
    device_arena_release(&s->device, &s->step);
    arena_release(&s->host);
}

struct tensor *test_input(struct test_step *s, const float *values, int64_t rows, int64_t cols, bool param)
{
    struct ctx *c = &s->ctx;
    struct tensor *t = batch_f32(c, values, rows, cols, F32);

    t->needs_grad = true;
    t->is_param = param;
    if (param) {
        t->grad = tensor_like(c, t);
        RUN(c, fill, t->grad, 0.0f);
    }
    return t;
}

float *test_values(struct test_step *s, const struct tensor *t)
{
    float *out = xmalloc(tensor_bytes(t));
    device_download(&s->device, out, t);
    return out;
}

int test_devices(const struct CMUnitTest *tests, size_t n)
{
    static const char *const names[] = { "cpu", "simt", "cuda" };
    const char *only = getenv("AMBIT_TEST_DEVICE");
    int failed = 0;

    test_choose_seed();
    for (int i = 0; i < (only ? 1 : ARRAY_LEN(names)); i++) {
        struct error err;
        device_name = only ? only : names[i];
        if (device_open(&shared, device_name, &err)) {
            printf("%s: left out: %s\n", device_name, err.text);
            failed += only != NULL;
            continue;
        }
        printf("%s: %s\n", device_name, shared.description);
        failed += _cmocka_run_group_tests(device_name, tests, n, NULL, NULL);
        device_close(&shared);
    }
    return failed;
}
