/* The cuda driver and its library products over a fake CUDA (tests/fake_cuda): code that otherwise runs only on a GPU,
 * and errors that a GPU seldom reports. */
#include "kernels/batch.h"
#include "kernels/workspace.h"
#include "tests/fake_cuda/fake_cuda.h"
#include "tests/support/digest.h"
#include "tests/support/reference.h"
#include "tests/support/step.h"

#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HOST_BYTES = 1 << 20 };
static const struct fake_cuda plain = { .devices = 2, .driver = 13000, .memory = (size_t)1 << 30 };

static struct fake_cuda *fake;
static char warning[512]; /* the newest */
static int warnings;

static void __attribute__((format(printf, 1, 2))) note_warning(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(warning, sizeof warning, fmt, ap);
    va_end(ap);
    warnings++;
}

/* Each test begins with two GPUs and ends with nothing left on them. */
static int reset(void **state)
{
    (void)state;
    *fake = plain;
    warnings = 0;
    return 0;
}

static int check_given_back(void **state)
{
    (void)state;
    assert_int_equal(fake->live, 0);
    return 0;
}

static void open_device(struct device *d, const char *spec)
{
    struct error err;

    if (device_open(d, spec, &err))
        fail_msg("%s", err.text);
}

static void check_refused(const char *spec, enum exit_code code, const char *word, const char *word_too)
{
    struct device d;
    struct error err;

    assert_int_equal(device_open(&d, spec, &err), -1);
    assert_int_equal(err.code, code);
    assert_error(err, word, word_too);
}

/* auto selects the cpu, with a warning that contains the word, or (NULL) without one. */
static void check_auto(const char *word)
{
    struct device d;

    warnings = 0;
    open_device(&d, "auto");
    assert_string_equal(d.driver->name, "cpu");
    device_close(&d);
    assert_int_equal(warnings, word != NULL);
    if (word && !strstr(warning, word))
        fail_msg("'%s' does not say '%s'", warning, word);
}

static void test_refused(void **state)
{
    struct device d;

    (void)state;
    setenv("CUDA_VISIBLE_DEVICES", "", 1); /* or a driver of this machine would be expected to have some */
    check_refused("cuda:2", EXIT_CODE_DEVICE, "cuda:2", "2 CUDA devices");
    fake->driver = 12020;
    check_refused("cuda", EXIT_CODE_DEVICE, "CUDA 13.0 needs 580 or newer", "too old");
    check_auto("too old");
    fake->driver = 0;
    check_refused("cuda", EXIT_CODE_DEVICE, "no NVIDIA GPU", "no driver");
    check_auto(NULL);
    *fake = plain;
    fake->devices = 0;
    check_refused("cuda:0", EXIT_CODE_DEVICE, "no NVIDIA GPU", "cuda:0");
    check_auto(NULL);
    unsetenv("CUDA_VISIBLE_DEVICES");
    *fake = plain;
    open_device(&d, "auto");
    assert_string_equal(d.driver->name, "cuda");
    device_close(&d);
}

/* If a call fails while a device opens, its earlier resources are released. */
static void test_open_fails(void **state)
{
    static const struct {
        const char *call;
        int calls;
        enum exit_code code;
    } steps[] = { { "cudaSetDevice", 1, EXIT_CODE_DEVICE },  { "cudaGetDeviceProperties", 1, EXIT_CODE_DEVICE },
                  { "cudaMemGetInfo", 1, EXIT_CODE_DEVICE }, { "cudaStreamCreateWithFlags", 1, EXIT_CODE_DEVICE },
                  { "cudaMallocHost", 2, EXIT_CODE_MEMORY }, { "cudaEventCreateWithFlags", 2, EXIT_CODE_DEVICE },
                  { "cudaMalloc", 2, EXIT_CODE_MEMORY },     { "cublasLtCreate", 1, EXIT_CODE_DEVICE } };

    (void)state;
    for (int i = 0; i < ARRAY_LEN(steps); i++)
        for (int k = 0; k < steps[i].calls; k++) {
            fake->fail = steps[i].call;
            fake->fail_after = k;
            check_refused("cuda:1", steps[i].code, "cuda:1", "");
            assert_null(fake->fail);
            assert_int_equal(fake->live, 0);
        }
}

/* More than there is: an error, after which the device goes on. */
static void test_memory(void **state)
{
    float in = 3, out;
    struct device d;
    struct arena a;
    struct error err;

    (void)state;
    open_device(&d, "cuda");
    assert_int_equal(d.total_memory, plain.memory);
    assert_int_equal(device_arena(&d, &a, plain.memory, &err), -1);
    assert_int_equal(err.code, EXIT_CODE_MEMORY);
    assert_error(err, "1024 MiB");
    assert_int_equal(device_arena(&d, &a, 100, &err), 0);
    struct tensor t = { .data = a.base, .dtype = F32, .ndim = 1, .shape = { 1 } };
    struct ctx c = { .dev = &d, .k = d.driver->kernels };
    device_upload(&d, &t, &in);
    RUN(&c, add, &t, &t, &t);
    device_download(&d, &out, &t);
    assert_true(out == 2 * in);
    device_arena_release(&d, &a);
    device_close(&d);
}

/* Many times the size of the pinned buffers, in pieces of odd sizes, while the GPU is far behind. */
static void test_copies(void **state)
{
    enum { BYTES = 27 << 20 };
    char *in = xmalloc(BYTES), *out = xmalloc(BYTES);
    struct device d;
    struct arena a;
    struct error err;

    (void)state;
    for (int64_t i = 0; i < BYTES; i++)
        in[i] = (char)(i * 2654435761 >> 13);
    open_device(&d, "cuda");
    assert_int_equal(device_arena(&d, &a, BYTES, &err), 0);
    for (size_t at = 0, n; at < BYTES; at += n) {
        n = at % 3 ? 1234567 : 6543210;
        n = n < BYTES - at ? n : BYTES - at;
        d.driver->upload(&d, a.base + at, in + at, n);
    }
    d.driver->download(&d, out, a.base, BYTES);
    assert_memory_equal(in, out, BYTES);
    assert_int_equal(d.counts.upload_bytes, BYTES);
    assert_true(d.counts.syncs > 1); /* a stage was waited for, and the download */
    device_arena_release(&d, &a);
    device_close(&d);
    free(in);
    free(out);
}

/* More started downloads than the driver keeps, of growing size, each from memory that the next step overwrites. */
static void test_late_downloads(void **state)
{
    enum { ROUNDS = 11, BYTES = 1 << 20 };
    char *in = xmalloc(BYTES), *out = xcalloc(ROUNDS, BYTES);
    struct device d;
    struct arena a;
    struct error err;

    (void)state;
    open_device(&d, "cuda");
    assert_int_equal(device_arena(&d, &a, BYTES, &err), 0);
    for (int round = 0; round < ROUNDS; round++) {
        memset(in, round + 1, BYTES);
        d.driver->upload(&d, a.base, in, BYTES);
        d.driver->download_start(&d, out + (size_t)round * BYTES, a.base, (size_t)(BYTES >> (ROUNDS - 1 - round)));
        d.driver->download_finish(&d, 2);
        assert_true(round < 2 || out[(size_t)(round - 2) * BYTES] == round - 1);
    }
    assert_int_equal(d.counts.downloads, ROUNDS);
    d.driver->download_finish(&d, 0);
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < BYTES; i++)
            assert_int_equal(out[(size_t)round * BYTES + (size_t)i], i < BYTES >> (ROUNDS - 1 - round) ? round + 1 : 0);
    device_arena_release(&d, &a);
    device_close(&d);
    free(in);
    free(out);
}

/* One product y[M,N] (+)= act(op(a) op(b) + bias).  Each matrix ends with its memory, at which the fake looks. */
struct product {
    int64_t m, n, k;
    bool ta, tb, add, bias, rounded; /* rounded: the bias has a copy in BF16 */
    enum activation act;             /* with a bias only */
    enum dtype dtype, y_dtype;
    int shift, bias_shift; /* elements that a and the bias lie behind the begin of their memory */
    enum rows_mode rows;
};

struct matrix {
    struct arena arena;
    struct tensor t;
    float *values;
};

static void matrix_open(struct matrix *x, struct device *d, const char *name, enum dtype dtype, int64_t rows,
                        int64_t cols, int shift)
{
    size_t n = (size_t)(rows * cols), size = dtype == F32 ? 4 : 2;
    struct error err;

    assert_int_equal(device_arena(d, &x->arena, (n + (size_t)shift) * size, &err), 0);
    x->t = (struct tensor){
        .data = x->arena.base + (size_t)shift * size, .dtype = dtype, .ndim = 2, .shape = { rows, cols }
    };
    x->values = xmalloc(n * sizeof *x->values);
    uint16_t *halves = xmalloc(n * sizeof *halves);
    for (size_t i = 0; i < n; i++) { /* eighths, which bf16 has as well */
        x->values[i] = (float)(formula_word(name, (int64_t)i) % 17) / 8 - 1;
        uint32_t bits;
        memcpy(&bits, &x->values[i], sizeof bits);
        halves[i] = (uint16_t)(bits >> 16);
    }
    device_upload(d, &x->t, dtype == F32 ? (void *)x->values : (void *)halves);
    free(halves);
}

static void matrix_close(struct matrix *x, struct device *d)
{
    device_arena_release(d, &x->arena);
    free(x->values);
}

static double want(const struct product *p, const struct matrix *a, const struct matrix *b, const struct matrix *bias,
                   const struct matrix *y, int64_t i, int64_t j)
{
    double sum = p->bias ? (double)bias->values[j] : p->add ? (double)y->values[i * p->n + j] : 0;

    for (int64_t k = 0; k < p->k; k++)
        sum += (double)a->values[p->ta ? k * p->m + i : i * p->k + k] *
               (double)b->values[p->tb ? j * p->k + k : k * p->n + j];
    return reference_activation(sum, p->act);
}

static float value_at(const void *data, enum dtype dtype, int64_t i)
{
    if (dtype == F32)
        return ((const float *)data)[i];
    uint32_t bits = (uint32_t)((const uint16_t *)data)[i] << 16;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static void check_product(struct device *d, const struct product *p)
{
    struct ctx c = { .dev = d, .k = d->driver->kernels, .rows = p->rows };
    struct matrix a, b, bias, rounded, y;

    matrix_open(&a, d, "a", p->dtype, p->ta ? p->k : p->m, p->ta ? p->m : p->k, p->shift);
    matrix_open(&b, d, "b", p->dtype, p->tb ? p->n : p->k, p->tb ? p->k : p->n, 0);
    matrix_open(&bias, d, "bias", F32, 1, p->n, p->bias_shift);
    matrix_open(&rounded, d, "bias", BF16, 1, p->n, p->bias_shift);
    bias.t.rounded = p->rounded ? &rounded.t : NULL;
    matrix_open(&y, d, "y", p->y_dtype, p->m, p->n, 0);
    struct tensor *out = &y.t;
    struct destination to = { out, p->add };
    int64_t before = d->counts.launches;
    if (p->bias)
        RUN(&c, linear, out, NULL, &a.t, &b.t, &bias.t, p->act);
    else
        RUN(&c, matmul, to, &a.t, p->ta, &b.t, p->tb);
    if (p->rounded)
        assert_int_equal(d->counts.launches - before, 1);
    float *got = xmalloc(tensor_bytes(out));
    device_download(d, got, out);
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < p->n; j++) {
            double x = want(p, &a, &b, &bias, &y, i, j), unit = p->y_dtype == F32 ? 0x1p-20 : 0x1p-8;
            unit *= p->act ? 2 : 1; /* its argument is rounded as well */
            if (!(fabs((double)value_at(got, p->y_dtype, i * p->n + j) - x) <= unit * (1 + fabs(x))))
                fail_msg("[%lld, %lld] is %g, expected %g", (long long)i, (long long)j,
                         (double)value_at(got, p->y_dtype, i * p->n + j), x);
        }
    free(got);
    matrix_close(&a, d);
    matrix_close(&b, d);
    matrix_close(&bias, d);
    matrix_close(&rounded, d);
    matrix_close(&y, d);
}

static const struct product large = { .m = 65, .n = 72, .k = 129, .dtype = BF16, .y_dtype = BF16 };

/* Every transposition, type and ending, through the library. */
static void test_products(void **state)
{
    struct device d;
    int64_t n = 0;

    (void)state;
    open_device(&d, "cuda");
    for (int i = 0; i < 4 * 3 * 2; i++, n++) {
        struct product p = large;
        p.ta = i & 1, p.tb = i & 2, p.add = i & 4;
        p.dtype = i / 8 ? BF16 : F32, p.y_dtype = i / 8 == 2 ? BF16 : F32;
        check_product(&d, &p);
    }
    for (int i = 0; i < 4; i++, n++) { /* the bias of the second is not where the plan has seen it */
        struct product p = large;
        p.tb = p.bias = true, p.bias_shift = i % 2 ? 16 : 0;
        p.dtype = p.y_dtype = i / 2 ? BF16 : F32;
        check_product(&d, &p);
        p.rounded = true; /* no kernel rounds the bias first */
        check_product(&d, &p);
    }
    n += 4;
    for (int i = 0; i < 4; i++, n++) { /* few rows and many, by the algorithm of one number of them */
        struct product p = large;
        p.tb = p.bias = true, p.m = 1 + 213 * i, p.rows = ROWS_MANY;
        check_product(&d, &p);
    }
    assert_int_equal(fake->products, n);
    assert_int_equal(warnings, 0);
    device_close(&d);
}

/* Threads behind the last row read no row: y fills whole multiples of 256 bytes, and a closed page follows it.  The
 * number of rows is odd and even, since a thread has two. */
static void test_last_rows(void **state)
{
    struct device d;

    (void)state;
    open_device(&d, "cuda");
    for (int i = 0; i < 4; i++) {
        struct product p = large;
        p.m = 65 + i % 2, p.n = 128, p.tb = p.bias = true, p.act = ACT_GELU;
        p.dtype = p.y_dtype = i / 2 ? BF16 : F32;
        check_product(&d, &p);
    }
    assert_int_equal(fake->products, 4);
    device_close(&d);
}

/* The library is asked once for each set of properties that decide its choice, and again when one of them changes. */
static void test_plans(void **state)
{
    struct product p = large;
    struct device d;

    (void)state;
    open_device(&d, "cuda");
    for (int repeat = 0; repeat < 3; repeat++)
        check_product(&d, &p);
    assert_int_equal(fake->searches, 1);
    p.add = true; /* a factor of the same algorithm */
    check_product(&d, &p);
    assert_int_equal(fake->searches, 1);
    p.shift = 1;
    check_product(&d, &p);
    assert_int_equal(fake->searches, 2);
    p.shift = 4;
    check_product(&d, &p);
    assert_int_equal(fake->searches, 3);
    p = large;
    for (p.m = 33; p.m < 133; p.m++) /* more than the table holds at first */
        check_product(&d, &p);
    int64_t searches = fake->searches, products = fake->products;
    for (p.m = 33; p.m < 133; p.m++)
        check_product(&d, &p);
    assert_int_equal(fake->searches, searches);
    assert_int_equal(fake->products, products + 100);
    p.m = 3; /* too few multiplications to ask at all */
    check_product(&d, &p);
    assert_int_equal(fake->products, products + 100);
    device_close(&d);
}

/* If any library call fails, ambit's own kernels give the result, with one warning. */
static void test_library_fails(void **state)
{
    static const char *const calls[] = { "cublasLtMatmulDescCreate",
                                         "cublasLtMatmulDescSetAttribute",
                                         "cublasLtMatrixLayoutCreate",
                                         "cublasLtMatmulPreferenceCreate",
                                         "cublasLtMatmulAlgoGetHeuristic",
                                         "cublasLtMatmulPreferenceSetAttribute",
                                         "cublasLtMatmul" };

    (void)state;
    for (int i = 0; i < ARRAY_LEN(calls); i++) {
        struct product p = large;
        struct device d;
        warnings = 0;
        open_device(&d, "cuda");
        fake->fail = calls[i];
        check_product(&d, &p);
        assert_null(fake->fail);
        assert_int_equal(warnings, 1);
        int64_t products = fake->products;
        check_product(&d, &p); /* not asked again */
        assert_int_equal(fake->products, products);
        fake->fail = calls[i];
        p.n++;
        check_product(&d, &p);
        assert_int_equal(warnings, 1); /* another of the same kind */
        fake->fail = calls[i];
        p.y_dtype = F32;
        check_product(&d, &p);
        assert_int_equal(warnings, 2);
        assert_non_null(strstr(warning, "bf16 into f32"));
        device_close(&d);
    }
}

/* Launches alone, with nothing before them that would choose the device. */
static void check_launches_by_turns(struct device d[2])
{
    struct arena a[2];
    struct error err;
    float y[2];

    for (int i = 0; i < 2; i++)
        assert_int_equal(device_arena(&d[i], &a[i], sizeof *y, &err), 0);
    struct tensor t[2] = { { .data = a[0].base, .dtype = F32, .ndim = 1, .shape = { 1 } },
                           { .data = a[1].base, .dtype = F32, .ndim = 1, .shape = { 1 } } };
    for (int i = 0; i < 2; i++) {
        struct ctx c = { .dev = &d[i], .k = d[i].driver->kernels };
        struct tensor *to = &t[i];
        RUN(&c, fill, to, (float)(i + 5));
    }
    for (int i = 0; i < 2; i++) {
        device_download(&d[i], &y[i], &t[i]);
        assert_true(y[i] == (float)(i + 5));
        device_arena_release(&d[i], &a[i]);
    }
}

static void *work_elsewhere(void *device)
{
    struct product p = large;

    p.y_dtype = F32;
    check_product(device, &large);
    check_product(device, &p);
    return NULL;
}

/* Two GPUs by turns, and each from a thread that has never seen it. */
static void test_devices_and_threads(void **state)
{
    struct device d[2];
    pthread_t thread;

    (void)state;
    open_device(&d[0], "cuda:0");
    open_device(&d[1], "cuda:1");
    check_launches_by_turns(d);
    for (int i = 0; i < 4; i++)
        check_product(&d[i % 2], &large);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&thread, NULL, work_elsewhere, &d[1 - i]), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
        check_product(&d[i], &large);
    }
    device_close(&d[0]);
    check_product(&d[1], &large);
    device_close(&d[1]);
}

/* y = x w^T + b, in bf16, with numbers that change from call to call. */
enum { ROWS = 64, COLS = 80 };
struct replayed {
    int round;
    struct tensor *y;
};

static void step(struct ctx *c, void *arg)
{
    static float x[ROWS * COLS], w[COLS * COLS];
    struct replayed *r = arg;

    for (int i = 0; i < ROWS * COLS; i++)
        x[i] = (float)(r->round + i % 7);
    for (int i = 0; i < COLS * COLS; i++)
        w[i] = (float)(i % COLS == i / COLS);
    struct tensor *in = batch_f32(c, x, ROWS, COLS, BF16), *by = batch_f32(c, w, COLS, COLS, BF16);
    r->y = op_cast(c, op_linear(c, in, by, batch_f32(c, x, 1, COLS, F32), ACT_NONE), F32);
}

/* A replay runs the recorded kernels on the numbers that were uploaded since. */
static void test_replay(void **state)
{
    struct replayed r = { .round = 1 };
    struct workspace w;
    struct device d;
    struct error err;
    float y[COLS];

    (void)state;
    open_device(&d, "cuda");
    assert_int_equal(workspace_init(&w, &d, HOST_BYTES, &err), 0);
    assert_int_equal(workspace_step(&w, step, &r, &err), 0);
    int64_t launches = d.counts.launches, products = fake->products;
    for (r.round = 2; r.round < 5; r.round++) {
        assert_int_equal(workspace_step(&w, step, &r, &err), 0);
        struct tensor row = tensor_view(r.y, 0, 1);
        device_download(&d, y, &row);
        assert_true(y[0] == (float)(2 * r.round) && y[1] == (float)(2 * r.round + 2));
    }
    assert_true(d.counts.launches == launches && d.counts.replays == 3 && fake->products == products);
    workspace_release(&w);
    device_close(&d);
}

/* usage: test_cuda_driver [FOLDER], where another libambit_cuda.so over the fake lies; default: AMBIT_MODULE_PATH */
int main(int argc, char **argv)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, reset, check_given_back)
    const struct CMUnitTest tests[] = { TEST(test_refused),        TEST(test_open_fails),
                                        TEST(test_memory),         TEST(test_copies),
                                        TEST(test_late_downloads), TEST(test_products),
                                        TEST(test_last_rows),      TEST(test_plans),
                                        TEST(test_library_fails),  TEST(test_devices_and_threads),
                                        TEST(test_replay) };
    const char *folder = argc > 1 ? argv[1] : getenv("AMBIT_MODULE_PATH");
    if (!folder)
        folder = FAKE_CUDA_DIR "/fake_cuda";
    char *path = path_in(folder, "libambit_cuda.so");
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);

    free(path);
    CHECK(module && (fake = dlsym(module, "fake_cuda")), "%s", dlerror());
    base_warn = note_warning;
    setenv("AMBIT_MODULE_PATH", folder, 1);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    dlclose(module);
    return failed;
}
