/* The counts of a device: launches, replays, copies and waits; none while a step is captured. */
#include "kernels/workspace.h"
#include "tests/support/step.h"

#include <string.h>

enum { N = 8, HOST_BYTES = 1 << 16 };

/* Inputs that go up in one copy, and two launches. */
static void step(struct ctx *c, void *arg)
{
    static const float values[N] = { 1 };
    struct tensor *x = batch_f32(c, values, 1, N, F32), *y = tensor_new1(c, F32, N);

    batch_i32(c, (const int32_t[]){ 1, 2, 3 }, 3);

    (void)arg;
    RUN(c, fill, y, 2.0f);
    op_add(c, x, x);
}

static struct device_counts since(const struct device *d, struct device_counts before)
{
    struct device_counts n = d->counts;

    return (struct device_counts){ .launches = n.launches - before.launches,
                                   .replays = n.replays - before.replays,
                                   .uploads = n.uploads - before.uploads,
                                   .upload_bytes = n.upload_bytes - before.upload_bytes,
                                   .downloads = n.downloads - before.downloads,
                                   .download_bytes = n.download_bytes - before.download_bytes,
                                   .syncs = n.syncs - before.syncs };
}

static void check(struct workspace *w, struct device_counts before, struct device_counts want)
{
    struct device_counts got = since(w->device, before);

    if (!strcmp(w->device->driver->name, "cpu"))
        want = (struct device_counts){ 0 };
    assert_memory_equal(&got, &want, sizeof want);
}

static void test_counts(void **state)
{
    const struct device_counts eager = { .launches = 2, .uploads = 1, .upload_bytes = 2 * ARENA_ALIGN };
    struct device_counts before;
    struct workspace w;
    struct device d;
    struct error err;
    int32_t rng[4];

    (void)state;
    test_device_open(&d);
    assert_int_equal(workspace_init(&w, &d, HOST_BYTES, &err), 0);
    before = d.counts;
    assert_int_equal(workspace_run(&w, step, NULL, &err), 0);
    check(&w, before, eager);
    before = d.counts;
    assert_int_equal(workspace_step(&w, step, NULL, &err), 0); /* runs, and is captured */
    check(&w, before, eager);
    before = d.counts;
    assert_int_equal(workspace_step(&w, step, NULL, &err), 0);
    check(&w, before, (struct device_counts){ .replays = 1, .uploads = 1, .upload_bytes = 2 * ARENA_ALIGN });
    before = d.counts;
    workspace_rng(&w, rng);
    d.driver->sync(&d);
    check(&w, before, (struct device_counts){ .downloads = 1, .download_bytes = sizeof rng, .syncs = 2 });
    workspace_release(&w);
    device_close(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_counts) };

    return test_devices(tests, ARRAY_LEN(tests));
}
