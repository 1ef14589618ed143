#include "kernels/cpu/gemm.h"

#include "kernels/rng.h"
#include "kernels/tensor.h"
#include "tests/support/reference.h"
#include "tests/support/support.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

static struct rng rng;

/* n numbers in [-1, 1) as the type wants them, and as doubles */
static void *numbers(int64_t n, enum dtype dtype, double **exact)
{
    float *f = xmalloc((size_t)n * sizeof *f);
    uint16_t *h = xmalloc((size_t)n * sizeof *h);

    *exact = xmalloc((size_t)n * sizeof **exact);
    for (int64_t i = 0; i < n; i++) {
        f[i] = 2 * rng_uniform(&rng) - 1;
        h[i] = bf16_from_f32(f[i]);
        (*exact)[i] = (double)(dtype == BF16 ? f32_from_bf16(h[i]) : f[i]);
    }
    free(dtype == BF16 ? (void *)f : h);
    return dtype == BF16 ? (void *)h : f;
}

static double number(const void *data, enum dtype dtype, int64_t i)
{
    return (double)(dtype == BF16 ? f32_from_bf16(((const uint16_t *)data)[i]) : ((const float *)data)[i]);
}

/* One product both ways against plain loops: through the cache, and through OpenBLAS alone. */
static void check_product(struct gemm_cache *cache, struct gemm g)
{
    int64_t n = g.m * g.n;
    double *a, *b, *bias, *want = calloc((size_t)n, sizeof *want), square = 0;
    void *own_a = numbers(g.m * g.k, g.dtype, &a), *own_b = numbers(g.k * g.n, g.dtype, &b);
    void *own_bias = numbers(g.n, F32, &bias), *y = xcalloc((size_t)n, sizeof(float));
    double unit = g.dtype == BF16 || g.y_dtype == BF16 ? 0x1p-8 : 0x1p-24 * 32;

    g.a = own_a;
    g.b = own_b;
    g.y = y;
    g.bias = g.act ? own_bias : NULL;
    for (int64_t i = 0; i < n; i++)
        want[i] = g.bias ? bias[i % g.n] : 0;
    reference_matmul(want, a, g.ta, b, g.tb, g.m, g.n, g.k);
    for (int64_t i = 0; i < n; i++) {
        want[i] = reference_activation(want[i], g.act);
        square += want[i] * want[i] / (double)n;
    }
    for (int way = 0; way < 2; way++) {
        memset(y, 0, (size_t)n * dtype_size(g.y_dtype));
        (way ? gemm_blas(&g) : gemm(cache, &g));
        for (int64_t i = 0; i < n; i++)
            if (!(fabs(number(y, g.y_dtype, i) - want[i]) <= unit * (fabs(want[i]) + sqrt(square))))
                fail_msg("%s: [%lld, %lld, %lld] of %s into %s: y[%lld] is %g, expected %g", way ? "OpenBLAS" : "gemm",
                         (long long)g.m, (long long)g.n, (long long)g.k, dtype_name(g.dtype), dtype_name(g.y_dtype),
                         (long long)i, number(y, g.y_dtype, i), want[i]);
    }
    gemm_cache_forget(cache, own_b, (size_t)(g.k * g.n) * dtype_size(g.dtype));
    free(own_a), free(own_b), free(own_bias), free(y);
    free(a), free(b), free(bias), free(want);
}

/* Lengths below, at and above one piece, and above the longest piece. */
static void test_products(void **state)
{
    static const int64_t lengths[] = { 1, 63, 64, 65, 200, 2048, 2119 };
    struct gemm_cache *cache = gemm_cache_new();

    (void)state;
    for (int i = 0; i < ARRAY_LEN(lengths); i++)
        for (enum dtype dtype = F32; dtype <= BF16; dtype++) {
            int64_t m = lengths[i];
            check_product(cache, (struct gemm){ .m = m, .n = 33, .k = 31, .dtype = dtype, .y_dtype = dtype });
            check_product(cache, (struct gemm){ .m = m,
                                                .n = 48,
                                                .k = 64,
                                                .dtype = dtype,
                                                .tb = true,
                                                .b_frozen = true,
                                                .y_dtype = dtype,
                                                .act = ACT_GELU });
            check_product(
                cache,
                (struct gemm){ .m = 31, .n = 17, .k = m, .dtype = dtype, .ta = true, .y_dtype = F32, .add = true });
            check_product(
                cache,
                (struct gemm){
                    .m = 31, .n = 17, .k = m, .dtype = dtype, .ta = true, .tb = true, .y_dtype = dtype, .add = true });
        }
    gemm_cache_free(cache);
}

/* Row counts below, at and above the size of a tile, in every direction. */
static void test_few(void **state)
{
    static const int64_t rows[] = { 1, 2, 16, 17, 33, 64, 70 }, outputs[] = { 1, 16, 31, 33, 96 },
                         sums[] = { 1, 31, 32, 33, 64, 127 };
    struct gemm_cache *cache = gemm_cache_new();

    (void)state;
    for (int i = 0; i < ARRAY_LEN(rows); i++)
        for (int j = 0; j < ARRAY_LEN(outputs); j++)
            for (int l = 0; l < ARRAY_LEN(sums); l++) {
                struct gemm g = { .m = rows[i],
                                  .n = outputs[j],
                                  .k = sums[l],
                                  .dtype = BF16,
                                  .tb = true,
                                  .rows = ROWS_FEW,
                                  .y_dtype = (i + j) % 2 ? F32 : BF16,
                                  .add = (j + l) % 2,
                                  .act = (j + l) % 2 || i % 2 ? ACT_NONE : ACT_GELU };
                check_product(cache, g);
            }
    gemm_cache_free(cache);
}

/* Inner lengths that leave 31 of a block of 32 over, beside left over rows: oneDNN before 3.1 fails on AMX.  Which rows
 * are left over depends on the number of threads. */
static void test_inner_left_over(void **state)
{
    struct gemm_cache *cache = gemm_cache_new();

    (void)state;
    for (int64_t k = 63; k <= 127; k += 32)
        for (int64_t m = 33; m <= 80; m++)
            for (int ways = 0; ways < 4; ways++)
                check_product(
                    cache,
                    (struct gemm){
                        .m = m, .n = 17, .k = k, .dtype = BF16, .ta = ways & 1, .tb = ways & 2, .y_dtype = F32 });
    gemm_cache_free(cache);
}

/* A row's numbers do not depend on how many rows stand beside it: pieces of every kind give the same bits. */
static void check_rows_alone(struct gemm_cache *cache, enum dtype dtype, int64_t k, int64_t n)
{
    enum { ROWS = 2300 };
    static const int64_t alone[] = { 1, 7, 64, 70, 333 };
    size_t size = dtype_size(dtype);
    double *exact_a, *exact_b;
    char *a = numbers(ROWS * k, dtype, &exact_a), *b = numbers(k * n, dtype, &exact_b);
    char *all = xmalloc((size_t)(ROWS * n) * size), *some = xmalloc((size_t)(ROWS * n) * size);
    struct gemm g = { .m = ROWS,
                      .n = n,
                      .k = k,
                      .a = a,
                      .b = b,
                      .dtype = dtype,
                      .tb = true,
                      .b_frozen = true,
                      .y = all,
                      .y_dtype = dtype };

    gemm(cache, &g);
    for (int i = 0; i < ARRAY_LEN(alone); i++) {
        int64_t from = ROWS - alone[i];
        g.m = alone[i];
        g.a = a + (size_t)(from * k) * size;
        g.y = some;
        gemm(cache, &g);
        assert_memory_equal(some, all + (size_t)(from * n) * size, (size_t)(g.m * n) * size);
    }
    gemm_cache_forget(cache, b, (size_t)(k * n) * size);
    free(a), free(b), free(all), free(some), free(exact_a), free(exact_b);
}

/* OpenBLAS has other code for few rows, and so has oneDNN where it uses no AVX-512. */
static void test_rows_alone(void **state)
{
    (void)state;
    if (strcmp(gemm_library(), "oneDNN") != 0 || !gemm_rows_alone(F32))
        skip();
    struct gemm_cache *cache = gemm_cache_new();
    for (enum dtype dtype = F32; dtype <= BF16; dtype++) {
        check_rows_alone(cache, dtype, 96, 80);
        check_rows_alone(cache, dtype, 3072, 768);
        check_rows_alone(cache, dtype, 384, 1);
    }
    gemm_cache_free(cache);
}

/* The bits of `rows` rows from `from` on, by so many threads, are those among all. */
static void check_few_bits(struct gemm_cache *cache, struct gemm g, const char *all, int64_t from, int threads)
{
    size_t row = (size_t)g.n * dtype_size(g.y_dtype);
    char *some = xcalloc((size_t)g.m, row);

    g.a = (const uint16_t *)g.a + from * g.k;
    g.y = some;
    omp_set_num_threads(threads);
    gemm(cache, &g);
    assert_memory_equal(some, all + (size_t)from * row, (size_t)g.m * row);
    free(some);
}

static void test_few_rows_bits(void **state)
{
    enum { ROWS = 70, N = 333, K = 607 };
    struct gemm_cache *cache = gemm_cache_new();
    double *exact_a, *exact_b;
    void *a = numbers(ROWS * K, BF16, &exact_a), *b = numbers(N * K, BF16, &exact_b);
    char *all = xcalloc(ROWS * N, sizeof(float));
    struct gemm g = {
        .m = ROWS, .n = N, .k = K, .a = a, .b = b, .dtype = BF16, .tb = true, .y = all, .rows = ROWS_FEW
    };
    int most = omp_get_max_threads();

    (void)state;
    gemm(cache, &g);
    for (g.m = 1; g.m <= 33; g.m++)
        for (int threads = 1; threads <= 3; threads++)
            check_few_bits(cache, g, all, (7 * g.m) % (ROWS - g.m), threads);
    omp_set_num_threads(most);
    gemm_cache_free(cache);
    free(a), free(b), free(exact_a), free(exact_b), free(all);
}

/* A weight that was forgotten is read again. */
static void test_forget(void **state)
{
    struct gemm_cache *cache = gemm_cache_new();
    float a[32], b[32], y;
    struct gemm g = {
        .m = 1, .n = 1, .k = 32, .a = a, .b = b, .dtype = F32, .tb = true, .b_frozen = true, .y = &y, .y_dtype = F32
    };

    (void)state;
    for (int i = 0; i < 32; i++)
        a[i] = b[i] = 1;
    gemm(cache, &g);
    assert_float_equal(y, 32, 0);
    b[31] = 2;
    gemm_cache_forget(cache, b + 31, sizeof *b);
    gemm(cache, &g);
    assert_float_equal(y, 33, 0);
    gemm_cache_free(cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_products),        cmocka_unit_test(test_few),
                                        cmocka_unit_test(test_inner_left_over), cmocka_unit_test(test_rows_alone),
                                        cmocka_unit_test(test_few_rows_bits),   cmocka_unit_test(test_forget) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
