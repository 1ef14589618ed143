/*
 * Products of bf16 on a machine without an instruction for them, as products of f32.
 */
#include "kernels/cpu/activation.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/row.h"

#include <stdlib.h>

/* Elements of y and of the sum that are computed at a time, so that what they are made of stays in the caches. */
enum { WIDE_M = 2048, WIDE_N = 256, WIDE_K = 2048 };

/* A block of a product, [m0, m0 + m) x [n0, n0 + n), and the stretch of its sum that is added. */
struct wide {
    const struct gemm *g;
    float *a, *b, *y; /* dense: of the block, in g's order of rows and columns */
    int64_t m0, m, n0, n, k0, k;
};

/* dst [rows, cols], dense: of a matrix of ld columns in bf16, from (row, col) on. */
static void widen_block(float *dst, const void *src, int64_t ld, int64_t row, int64_t rows, int64_t col, int64_t cols)
{
    const struct tensor t = {
        .data = (void *)(uintptr_t)src, .dtype = BF16, .ndim = 1, .shape = { (row + rows) * ld }
    };

#pragma omp parallel for schedule(static) if (rows * cols > PARALLEL_MIN)
    for (int64_t r = 0; r < rows; r++)
        row_load(dst + r * cols, &t, (row + r) * ld + col, cols);
}

static void widen_a(const struct wide *w)
{
    const struct gemm *g = w->g;

    if (g->ta)
        widen_block(w->a, g->a, g->m, w->k0, w->k, w->m0, w->m);
    else
        widen_block(w->a, g->a, g->k, w->m0, w->m, w->k0, w->k);
}

static void widen_b(const struct wide *w)
{
    const struct gemm *g = w->g;

    if (g->tb)
        widen_block(w->b, g->b, g->k, w->n0, w->n, w->k0, w->k);
    else
        widen_block(w->b, g->b, g->n, w->k0, w->k, w->n0, w->n);
}

static void multiply_wide(struct gemm_cache *cache, const struct wide *w)
{
    struct gemm part = { .m = w->m,
                         .n = w->n,
                         .k = w->k,
                         .a = w->a,
                         .b = w->b,
                         .dtype = F32,
                         .ta = w->g->ta,
                         .tb = w->g->tb,
                         .y = w->y,
                         .y_dtype = F32,
                         .add = w->k0 > 0 };

    if (!gemm_dnnl(cache, &part))
        gemm_blas(&part);
}

/* g's y (+)= act(the block + bias) */
static void put_block(const struct wide *w)
{
    const struct gemm *g = w->g;
    struct tensor y = { .data = g->y, .dtype = g->y_dtype, .ndim = 1, .shape = { g->m * g->n } };

#pragma omp parallel for schedule(static) if (w->m * w->n > PARALLEL_MIN)
    for (int64_t r = 0; r < w->m; r++) {
        float *row = w->y + r * w->n;
        if (g->bias)
            row_add(row, g->bias + w->n0, w->n);
        if (g->act)
            activation_run(row, row, w->n, g->act);
        row_store((struct destination){ &y, g->add }, (w->m0 + r) * g->n + w->n0, row, w->n);
    }
}

static int64_t lesser(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* All of the sum for a block; a that is not cut along it is widened with the first block of columns. */
static void sum_block(struct gemm_cache *cache, struct wide *w)
{
    for (w->k0 = 0; w->k0 < w->g->k; w->k0 += w->k) {
        w->k = lesser(WIDE_K, w->g->k - w->k0);
        /* An a of one stretch stays in its buffer for all blocks of columns. */
        if (w->n0 == 0 || w->k < w->g->k)
            widen_a(w);
        widen_b(w);
        multiply_wide(cache, w);
    }
    put_block(w);
}

void gemm_wide(struct gemm_cache *cache, const struct gemm *g)
{
    int64_t m = lesser(WIDE_M, g->m), n = lesser(WIDE_N, g->n), k = lesser(WIDE_K, g->k);
    struct wide w = { .g = g, .a = floats_new(m * k), .b = floats_new(k * n), .y = floats_new(m * n) };

    for (w.m0 = 0; w.m0 < g->m; w.m0 += w.m) {
        w.m = lesser(m, g->m - w.m0);
        for (w.n0 = 0; w.n0 < g->n; w.n0 += w.n) {
            w.n = lesser(n, g->n - w.n0);
            sum_block(cache, &w);
        }
    }
    free(w.a);
    free(w.b);
    free(w.y);
}
