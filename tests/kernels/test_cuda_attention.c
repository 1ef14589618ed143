/* Causal attention through cuDNN, over the fake of tests/fake_cuda: the same numbers as on the CPU, where its table has
 * the shape, and ambit's own kernels where anything is amiss. */
#include "kernels/batch.h"
#include "kernels/workspace.h"
#include "tests/fake_cuda/fake_cuda.h"
#include "tests/support/digest.h"
#include "tests/support/support.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { HOST_BYTES = 1 << 24, HEADS = 2, GROUPS = 1, DIM = 16, SEQUENCES = 3, MOST = 512, KEYS = 592 };
static const struct fake_cuda plain = { .devices = 2, .driver = 13000, .memory = (size_t)1 << 30, .cudnn = true };

static struct fake_cuda *fake;
static int warnings;

static void note_warning(const char *fmt, ...)
{
    (void)fmt;
    warnings++;
}

/* Sequences whose keys lie in another order than their queries, and begin before them. */
struct problem {
    int32_t queries[SEQUENCES], key_start[SEQUENCES], key_len[SEQUENCES];
    int64_t more_keys; /* than any sequence has, for which there would be room */
    enum dtype dtype;
    bool bias;
    float sign; /* of the queries: inputs that change */
    struct tensor *y, *lse;
};

static const struct problem large = {
    .queries = { MOST, 3, 0 }, .key_start = { 53, 0, 573 }, .key_len = { 520, 40, 7 }, .dtype = BF16, .sign = 1
};

static int64_t rows_of(const struct problem *p)
{
    int64_t rows = 0;

    for (int i = 0; i < SEQUENCES; i++)
        rows += p->queries[i];
    return rows;
}

/* Eighths, which bf16 has as well. */
static struct tensor *input(struct ctx *c, const char *name, int64_t rows, int64_t cols, enum dtype dtype, float sign)
{
    float *x = xmalloc((size_t)(rows * cols) * sizeof *x);

    for (int64_t i = 0; i < rows * cols; i++)
        x[i] = sign * ((float)(formula_word(name, i) % 17) / 8 - 1);
    struct tensor *t = batch_f32(c, x, rows, cols, dtype);
    free(x);
    return t;
}

static void step(struct ctx *c, void *arg)
{
    struct problem *p = arg;
    int64_t rows = rows_of(p);
    struct causal s = { .qs = batch_seqs(c, p->queries, SEQUENCES),
                        .max_keys = batch_bound(c, MOST + 8 + p->more_keys, 8) };
    struct attention_form form = { .heads = HEADS, .groups = GROUPS, .scale = 0.3f };

    s.key_start = batch_i32(c, p->key_start, SEQUENCES);
    s.key_len = batch_i32(c, p->key_len, SEQUENCES);
    struct tensor *q = input(c, "q", rows, HEADS * DIM, p->dtype, p->sign);
    struct tensor *k = input(c, "k", KEYS, GROUPS * DIM, p->dtype, 1);
    struct tensor *v = input(c, "v", KEYS, GROUPS * DIM, p->dtype, 1);
    form.bias = p->bias ? input(c, "bias", HEADS, 5, F32, 1) : NULL;
    struct tensor *y = tensor_like(c, q), *lse = tensor_new2(c, F32, rows, HEADS);
    const struct causal *causal = &s;
    const struct attention_form *how = &form;
    RUN(c, causal_attention, y, lse, q, k, v, causal, how);
    p->y = tensor_new2(c, F32, rows, HEADS * DIM);
    p->lse = lse;
    struct tensor *wide = p->y;
    RUN(c, cast, wide, y);
}

static float *numbers(struct device *d, const struct tensor *t)
{
    float *x = xmalloc(tensor_bytes(t));

    device_download(d, x, t);
    return x;
}

static void compare(struct device *d, const struct tensor *t, const float *want, float unit)
{
    float *got = numbers(d, t);

    for (int64_t i = 0; i < tensor_size(t); i++)
        if (!(fabsf(got[i] - want[i]) <= unit * (1 + fabsf(want[i]))))
            fail_msg("number %lld of %lld is %g, expected %g", (long long)i, (long long)tensor_cols(t), (double)got[i],
                     (double)want[i]);
    free(got);
}

static void open_device(struct device *d, struct workspace *w, const char *spec)
{
    struct error err;

    if (device_open(d, spec, &err) || workspace_init(w, d, HOST_BYTES, &err))
        fail_msg("%s", err.text);
}

static void close_device(struct device *d, struct workspace *w)
{
    workspace_release(w);
    device_close(d);
}

static void run(struct workspace *w, struct problem *p)
{
    struct error err;

    if (workspace_step(w, step, p, &err))
        fail_msg("%s", err.text);
}

/* The result of the CPU, which the caller frees. */
static void wanted(struct problem p, float **y, float **lse)
{
    struct workspace w;
    struct device d;

    open_device(&d, &w, "cpu");
    run(&w, &p);
    *y = numbers(&d, p.y);
    *lse = numbers(&d, p.lse);
    close_device(&d, &w);
}

static void check(struct device *d, struct workspace *w, struct problem p)
{
    float *y, *lse;

    wanted(p, &y, &lse);
    run(w, &p);
    compare(d, p.y, y, 0x1p-7f);
    compare(d, p.lse, lse, 0x1p-10f);
    free(y);
    free(lse);
}

static int reset(void **state)
{
    (void)state;
    *fake = plain;
    warnings = 0;
    setenv("AMBIT_CUDNN", "1", 1);
    return 0;
}

static int check_given_back(void **state)
{
    (void)state;
    assert_int_equal(fake->live, 0);
    return 0;
}

/* Run, captured, and replayed with other inputs; with other lengths and as much room, and with more room. */
static void test_same_numbers(void **state)
{
    struct problem p = large;
    struct workspace w;
    struct device d;

    (void)state;
    open_device(&d, &w, "cuda");
    for (int i = 0; i < 2; i++, p.sign = -p.sign / 2)
        check(&d, &w, p);
    assert_true(fake->attentions == 2 && fake->searches == 1 && d.counts.replays == 1);
    p.key_len[1] = 3;
    p.key_start[0] = 70;
    check(&d, &w, p);
    assert_true(fake->searches == 1 && warnings == 0);
    p.more_keys = 64;
    check(&d, &w, p);
    assert_int_equal(fake->searches, 2);
    close_device(&d, &w);
}

/* Unasked for, and where the table does not have it. */
static void test_own_kernels(void **state)
{
    struct problem p = large;
    struct workspace w;
    struct device d;

    (void)state;
    open_device(&d, &w, "cuda");
    p.dtype = F32;
    check(&d, &w, p);
    p = large;
    p.bias = true;
    check(&d, &w, p);
    p = large;
    p.queries[0] = MOST / 2; /* lengths go into buckets */
    check(&d, &w, p);
    close_device(&d, &w);
    setenv("AMBIT_CUDNN", "0", 1);
    open_device(&d, &w, "cuda");
    check(&d, &w, large);
    close_device(&d, &w);
    assert_true(fake->attentions == 0 && warnings == 0);
    setenv("AMBIT_CUDNN", "1", 1);
    fake->cudnn = false;
    open_device(&d, &w, "cuda");
    check(&d, &w, large);
    p.key_len[1] = 3;
    check(&d, &w, p);
    close_device(&d, &w);
    assert_true(fake->attentions == 0 && warnings == 1);
}

/* If any call fails, ambit's own kernel gives the result, with one warning. */
static void test_library_fails(void **state)
{
    static const char *const calls[] = {
        "cudnnCreate",          "cudnnSetStream",           "cudnnBackendCreateDescriptor", "cudnnBackendSetAttribute",
        "cudnnBackendFinalize", "cudnnBackendGetAttribute", "cudnnBackendExecute"
    };

    (void)state;
    for (int i = 0; i < ARRAY_LEN(calls); i++) {
        struct problem p = large;
        struct workspace w;
        struct device d;
        warnings = 0;
        open_device(&d, &w, "cuda");
        fake->fail = calls[i];
        check(&d, &w, p);
        assert_null(fake->fail);
        p.key_len[1] = 3;
        run(&w, &p); /* not asked again */
        assert_true(warnings == 1 && fake->attentions == 0);
        close_device(&d, &w);
    }
}

/* usage: test_cuda_attention [FOLDER [TEST]]: where another libambit_cuda.so over the fake lies, the one test to run */
int main(int argc, char **argv)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, reset, check_given_back)
    const struct CMUnitTest tests[] = { TEST(test_same_numbers), TEST(test_own_kernels), TEST(test_library_fails) };
    const char *folder = argc > 1 ? argv[1] : FAKE_CUDA_DIR "/fake_cuda";
    char *path = path_in(folder, "libambit_cuda.so");
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);

    free(path);
    CHECK(module && (fake = dlsym(module, "fake_cuda")), "%s", dlerror());
    base_warn = note_warning;
    setenv("AMBIT_MODULE_PATH", folder, 1);
    if (argc > 2)
        cmocka_set_test_filter(argv[2]);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    dlclose(module);
    return failed;
}
