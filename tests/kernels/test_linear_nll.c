/* A head so long that its logits come in chunks: the numbers are those of the chunks by themselves, the room is theirs.
 */
#include "kernels/batch.h"
#include "kernels/rng.h"
#include "kernels/workspace.h"
#include "tests/support/support.h"

#include <math.h>
#include <stdlib.h>

enum { CHUNK = 64, ROWS = CHUNK + 6, COLS = 2, CLASSES = 1000003, HOST_BYTES = 1 << 20 };
enum { HEAD, A, B, WEIGHTS };

struct run {
    int64_t parts; /* 1: all rows at once; 2: two calls of the op on one tape */
    struct tensor *x[2], *y[2], *weight[WEIGHTS];
};

static struct tensor *random_matrix(struct ctx *c, struct rng *r, int64_t rows, int64_t cols)
{
    float *values = xmalloc((size_t)(rows * cols) * sizeof *values);

    for (int64_t i = 0; i < rows * cols; i++)
        values[i] = 2 * rng_uniform(r) - 1;
    struct tensor *t = batch_f32(c, values, rows, cols, F32);
    free(values);
    t->needs_grad = true;
    return t;
}

static struct tensor *random_weight(struct ctx *c, struct rng *r, int64_t rows, int64_t cols)
{
    struct tensor *t = random_matrix(c, r, rows, cols);

    t->is_param = true;
    t->grad = tensor_like(c, t);
    RUN(c, fill, t->grad, 0.0f);
    return t;
}

static struct tensor *targets(struct ctx *c, int64_t from, int64_t n)
{
    int32_t ids[ROWS];

    for (int64_t i = 0; i < n; i++)
        ids[i] = (from + i) % 9 == 4 ? -1 : (int32_t)((from + i) * 14286 + 5) % CLASSES;
    return batch_i32(c, ids, n);
}

static void head_step(struct ctx *c, void *arg)
{
    struct run *run = arg;
    struct rng weights = { 5, 0 }, rows = { 6, 0 };

    run->weight[HEAD] = random_weight(c, &weights, CLASSES, COLS);
    run->weight[A] = random_weight(c, &weights, 1, COLS);
    run->weight[B] = random_weight(c, &weights, CLASSES, 1);
    struct lora l = { .a = run->weight[A], .b = run->weight[B], .scale = 0.5f };
    for (int64_t i = 0; i < run->parts; i++) {
        int64_t from = i * CHUNK, n = run->parts == 1 ? ROWS : i ? ROWS - CHUNK : CHUNK;
        run->x[i] = random_matrix(c, &rows, n, COLS);
        run->y[i] = op_linear_nll(c, run->x[i], run->weight[HEAD], &l, targets(c, from, n), 0);
        run->y[i]->grad = tensor_like(c, run->y[i]);
        RUN(c, fill, run->y[i]->grad, 0.25f);
    }
    tape_backward_from(c, run->y[0], run->y[0]->grad);
}

static float *numbers(struct device *d, const struct tensor *t)
{
    float *out = xmalloc(tensor_bytes(t));
    device_download(d, out, t);
    return out;
}

static void assert_close(struct device *d, const struct tensor *whole, int64_t from, const struct tensor *part)
{
    float *a = numbers(d, whole), *b = numbers(d, part);
    int64_t offset = from * (tensor_size(whole) / whole->shape[0]), n = tensor_size(part);
    double square = 0;

    for (int64_t i = 0; i < n; i++)
        square += (double)b[i] * b[i] / (double)n;
    assert_true(square > 0);
    for (int64_t i = 0; i < n; i++)
        if (!(fabsf(a[offset + i] - b[i]) <= 0x1p-19 * (fabs(b[i]) + sqrt(square))))
            fail_msg("number %lld of part %lld: %.9g, by itself %.9g", (long long)i, (long long)from,
                     (double)a[offset + i], (double)b[i]);
    free(a);
    free(b);
}

static void test_chunks(void **state)
{
    struct device d;
    struct workspace one, two;
    struct run whole = { .parts = 1 }, parts = { .parts = 2 };
    struct error err;

    (void)state;
    assert_int_equal(device_open(&d, "cpu", &err), 0);
    assert_int_equal(workspace_init(&one, &d, HOST_BYTES, &err), 0);
    assert_int_equal(workspace_init(&two, &d, HOST_BYTES, &err), 0);
    one.ctx.recording = two.ctx.recording = true;
    assert_int_equal(workspace_run(&one, head_step, &whole, &err), 0);
    assert_int_equal(workspace_run(&two, head_step, &parts, &err), 0);
    for (int i = 0; i < 2; i++) {
        assert_close(&d, whole.y[0], i * CHUNK, parts.y[i]);
        assert_close(&d, whole.x[0]->grad, i * CHUNK, parts.x[i]->grad);
    }
    for (int i = 0; i < WEIGHTS; i++)
        assert_close(&d, whole.weight[i]->grad, 0, parts.weight[i]->grad);
    workspace_release(&two);
    workspace_release(&one);
    device_close(&d);
}

/* Of Llama-3.1-8B: 4,096 rows of 4,096 columns before 128,256 classes, bf16, with an adapter of rank 16. */
enum { LONG = 4096, WIDE = 4096, VOCABULARY = 128256, RANK = 16 };

static void real_step(struct ctx *c, void *arg)
{
    struct tensor *x = tensor_new2(c, BF16, LONG, WIDE), *w = tensor_new2(c, BF16, VOCABULARY, WIDE);
    struct lora l = { .a = tensor_new2(c, BF16, RANK, WIDE), .b = tensor_new2(c, BF16, VOCABULARY, RANK), .scale = 1 };
    struct tensor *target = tensor_new1(c, I32, LONG);

    x->needs_grad = true;
    *(size_t *)arg = arena_mark(c->step);
    struct tensor *y = op_linear_nll(c, x, w, &l, target, 0);
    tape_backward_from(c, y, tensor_like(c, y));
}

static void test_room(void **state)
{
    struct device d;
    struct workspace w;
    struct error err;
    size_t inputs = 0, logits = (size_t)LONG * VOCABULARY * sizeof(float);

    (void)state;
    assert_int_equal(device_open(&d, "cpu", &err), 0);
    assert_int_equal(workspace_init(&w, &d, HOST_BYTES, &err), 0);
    w.ctx.recording = true;
    size_t peak = workspace_measure(&w, real_step, &inputs).step - inputs;
    size_t gradient = (size_t)LONG * WIDE * sizeof(uint16_t), chunk = (size_t)LOGITS_MAX * 6; /* f32 and bf16 */
    assert_true(peak > gradient && peak < gradient + chunk + (1 << 20) && peak < logits / 4);
    workspace_release(&w);
    device_close(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_chunks), cmocka_unit_test(test_room) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
