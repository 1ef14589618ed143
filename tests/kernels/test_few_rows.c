/* A row's bits do not depend on the rows beside it: what a token is answered with does not depend on the batch. */
#include "tests/support/support.h"

#include "kernels/batch.h"
#include "kernels/rng.h"
#include "kernels/workspace.h"
#include "tests/support/step.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS = 18, OUTPUTS = 21, RANK = 4, HOST_BYTES = 1 << 16 };

struct few {
    int64_t cols, from, rows; /* the rows of x that are run */
    enum dtype dtype;
    struct tensor *y;
};

static struct tensor *noise(struct ctx *c, struct rng *r, int64_t rows, int64_t cols, enum dtype dtype)
{
    float *values = xmalloc((size_t)(rows * cols) * sizeof *values);

    for (int64_t i = 0; i < rows * cols; i++)
        values[i] = 2 * rng_uniform(r) - 1;
    struct tensor *t = batch_f32(c, values, rows, cols, dtype);
    free(values);
    return t;
}

/* Gate and up with adapters and the norm before them: both launches, and every sum of theirs. */
static void few_step(struct ctx *c, void *arg)
{
    struct few *few = arg;
    struct rng r = { 11, 0 };
    struct tensor *x = noise(c, &r, ROWS, few->cols, few->dtype);
    struct rms_norm norm = { noise(c, &r, 1, few->cols, F32), 1e-5f };
    struct linear_map maps[2] = { 0 };

    for (int i = 0; i < 2; i++) {
        maps[i].w = noise(c, &r, OUTPUTS, few->cols, few->dtype);
        maps[i].lora = (struct lora){ .a = noise(c, &r, RANK, few->cols, few->dtype),
                                      .b = noise(c, &r, OUTPUTS, RANK, few->dtype),
                                      .scale = 0.5f };
    }
    struct tensor view = tensor_view(x, few->from, few->rows);
    few->y = op_linear_swiglu(c, &view, norm, &maps[0], &maps[1]);
}

static void *run(struct workspace *w, struct few *few)
{
    struct error err;

    assert_int_equal(workspace_run(w, few_step, few, &err), 0);
    void *bits = xmalloc(tensor_bytes(few->y));
    device_download(w->device, bits, few->y);
    return bits;
}

static void check_rows(struct workspace *w, int64_t cols, enum dtype dtype)
{
    static const struct {
        int64_t from, rows;
    } parts[] = { { 0, 1 }, { 1, 2 }, { 17, 1 }, { 3, 15 }, { 2, 16 } };
    struct few all = { .cols = cols, .rows = ROWS, .dtype = dtype };
    char *whole = run(w, &all);
    size_t row = OUTPUTS * dtype_size(dtype);

    for (int i = 0; i < ARRAY_LEN(parts); i++) {
        struct few part = { .cols = cols, .from = parts[i].from, .rows = parts[i].rows, .dtype = dtype };
        char *bits = run(w, &part);
        assert_memory_equal(bits, whole + (size_t)part.from * row, (size_t)part.rows * row);
        free(bits);
    }
    free(whole);
}

static void test_rows(void **state)
{
    static const int64_t cols[] = { 1, 31, 127, 1032 };
    struct device device;
    struct workspace w;
    struct error err;

    (void)state;
    test_device_open(&device);
    assert_int_equal(workspace_init(&w, &device, HOST_BYTES, &err), 0);
    for (int i = 0; i < ARRAY_LEN(cols) && strcmp(device.driver->name, "cpu"); i++)
        for (enum dtype dtype = F32; dtype <= BF16; dtype++)
            check_rows(&w, cols[i], dtype);
    workspace_release(&w);
    device_close(&device);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_rows) };
    return test_devices(tests, ARRAY_LEN(tests));
}
