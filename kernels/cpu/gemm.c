/*
 * Products of matrices: the choice of a library, and the cut of the rows.
 *
 * Libraries sum in an order that depends on the shape. Two rules make bits reproducible all the same. Where the caller
 * asks for rows that do not depend on their number, rows are computed in blocks of one size, the last one padded.
 * Other products are cut into a few lengths, so that few compiled products serve all batches. AMX serves products of
 * few rows in bf16, oneDNN the other ones, and OpenBLAS those that oneDNN does not have.
 */
#include "kernels/cpu/gemm.h"

#include "kernels/cpu/activation.h"
#include "kernels/cpu/row.h"

#include <cblas.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE_MAX = 2048, PIECE_STEP = 64 };
/* Rows of a block in products whose rows need reproducible bits.  For f32, which only AVX2 requests, 32 would be wrong:
 * its kernels sum the remainder of a block differently. */
enum { BLOCK_FEW = 32, BLOCK_FEW_F32 = 16, BLOCK_MANY = 128, BLOCK_TILED = 96 };

/* A borrowed view, so that the row helpers convert plain memory. */
static struct tensor view(const void *data, enum dtype dtype, int64_t n)
{
    return (struct tensor){ .data = (void *)(uintptr_t)data, .dtype = dtype, .ndim = 1, .shape = { n } };
}

/* Returns an operand as f32: in place, or a converted copy stored in *owned. */
static const float *as_f32(const void *data, enum dtype dtype, int64_t n, float **owned)
{
    struct tensor t = view(data, dtype, n);

    *owned = NULL;
    if (dtype == F32)
        return data;
    *owned = xmalloc((size_t)n * sizeof **owned);
    row_load(*owned, &t, 0, n);
    return *owned;
}

/* y (+)= act(product + bias), row by row; product may be y's own memory */
static void finish(const struct gemm *g, float *product)
{
    struct tensor y = view(g->y, g->y_dtype, g->m * g->n);
#pragma omp parallel for schedule(static) if (g->m * g->n > PARALLEL_MIN)
    for (int64_t r = 0; r < g->m; r++) {
        float *row = product + r * g->n;
        if (g->bias)
            row_add(row, g->bias, g->n);
        if (g->act)
            activation_run(row, row, g->n, g->act);
        row_store((struct destination){ &y, g->add }, r * g->n, row, g->n);
    }
}

void gemm_blas(const struct gemm *g)
{
    float *own_a, *own_b, *own_y = NULL;
    const float *a = as_f32(g->a, g->dtype, g->m * g->k, &own_a), *b = as_f32(g->b, g->dtype, g->k * g->n, &own_b);
    /* f32 results are written in place. bf16 results go through a buffer, which is rounded once at the end. */
    bool direct = g->y_dtype == F32;
    float *y = direct ? g->y : (own_y = xmalloc((size_t)(g->m * g->n) * sizeof *y));
    int m = (int)g->m, n = (int)g->n, k = (int)g->k;

    if (gemm_tiled())
        gemm_tiles(g, a, b, y, direct && g->add);
    else
        cblas_sgemm(CblasRowMajor, g->ta ? CblasTrans : CblasNoTrans, g->tb ? CblasTrans : CblasNoTrans, m, n, k, 1.0f,
                    a, g->ta ? m : k, b, g->tb ? k : n, direct && g->add ? 1.0f : 0.0f, y, n);
    if (!direct || g->bias || g->act)
        finish(g, y);
    free(own_a);
    free(own_b);
    free(own_y);
}

static void gemm_piece(struct gemm_cache *cache, const struct gemm *g)
{
    if (gemm_widens(g->dtype))
        gemm_wide(cache, g);
    else if (gemm_tiled() || !gemm_dnnl(cache, g))
        gemm_blas(g);
}

/* Returns the length of the next piece of `left` rows.  There are few distinct lengths, so compiled products are
 * reused. */
static int64_t piece_length(int64_t left)
{
    if (left >= PIECE_MAX)
        return PIECE_MAX;
    return left >= PIECE_STEP ? left / PIECE_STEP * PIECE_STEP : left;
}

/* Splits the rows of y and a. */
static void gemm_by_rows(struct gemm_cache *cache, const struct gemm *g)
{
    struct gemm part = *g;

    for (int64_t at = 0; at < g->m; at += part.m) {
        part.m = piece_length(g->m - at);
        part.a = (const char *)g->a + (size_t)(at * g->k) * dtype_size(g->dtype);
        part.y = (char *)g->y + (size_t)(at * g->n) * dtype_size(g->y_dtype);
        gemm_piece(cache, &part);
    }
}

/* Computes rows [at, at + n) as a block padded with zero rows. */
static void gemm_padded(struct gemm_cache *cache, const struct gemm *g, int64_t at, int64_t n, int64_t block)
{
    size_t a_row = (size_t)g->k * dtype_size(g->dtype), y_row = (size_t)g->n * dtype_size(g->y_dtype);
    char *a = xcalloc((size_t)block, a_row), *y = xcalloc((size_t)block, y_row),
         *out = (char *)g->y + (size_t)at * y_row;
    struct gemm part = *g;

    memcpy(a, (const char *)g->a + (size_t)at * a_row, (size_t)n * a_row);
    if (g->add)
        memcpy(y, out, (size_t)n * y_row);
    part.m = block;
    part.a = a;
    part.y = y;
    gemm_piece(cache, &part);
    memcpy(out, y, (size_t)n * y_row);
    free(a);
    free(y);
}

/* Splits the rows of y and a into blocks of one size, so that one compiled product serves all numbers of rows. */
static void gemm_by_blocks(struct gemm_cache *cache, const struct gemm *g)
{
    struct gemm part = *g;

    part.m = g->rows == ROWS_MANY              ? (gemm_tiled() ? BLOCK_TILED : BLOCK_MANY)
             : g->dtype == F32 || gemm_tiled() ? BLOCK_FEW_F32
                                               : BLOCK_FEW;
    for (int64_t at = 0; at < g->m; at += part.m) {
        part.a = (const char *)g->a + (size_t)(at * g->k) * dtype_size(g->dtype);
        part.y = (char *)g->y + (size_t)(at * g->n) * dtype_size(g->y_dtype);
        if (g->m - at < part.m)
            gemm_padded(cache, g, at, g->m - at, part.m);
        else
            gemm_piece(cache, &part);
    }
}

/* Splits the inner dimension, which is the row count of both a and b; later pieces add. */
static void gemm_by_inner(struct gemm_cache *cache, const struct gemm *g)
{
    struct gemm part = *g;

    for (int64_t at = 0; at < g->k; at += part.k) {
        part.k = piece_length(g->k - at);
        part.a = (const char *)g->a + (size_t)(at * g->m) * dtype_size(g->dtype);
        part.b = (const char *)g->b + (size_t)(at * g->n) * dtype_size(g->dtype);
        /* The first piece stores, unless y is added to anyway. */
        part.add = g->add || at > 0;
        gemm_piece(cache, &part);
    }
}

/* Handles an empty inner dimension: the product is zero. */
static void gemm_nothing(const struct gemm *g)
{
    float *zero = xcalloc((size_t)(g->m * g->n), sizeof *zero);

    finish(g, zero);
    free(zero);
}

static bool on_amx(const struct gemm *g)
{
    return g->rows == ROWS_FEW && !gemm_rows_alone(g->dtype) && gemm_amx_serves(g);
}

void gemm(struct gemm_cache *cache, const struct gemm *g)
{
    CHECK(g->m <= INT32_MAX && g->n <= INT32_MAX && g->k <= INT32_MAX, "product %lld x %lld x %lld", (long long)g->m,
          (long long)g->n, (long long)g->k);
    if (g->m == 0 || g->n == 0)
        return;
    /* AMX comes first: its rows do not depend on their number without blocks of one size. */
    if (g->k == 0)
        gemm_nothing(g);
    else if (on_amx(g))
        gemm_amx(g, 1);
    else if (!g->ta && g->rows != ROWS_BY_NUMBER && !gemm_rows_alone(g->dtype))
        gemm_by_blocks(cache, g);
    else if (!g->ta)
        gemm_by_rows(cache, g);
    else if (!g->tb && g->y_dtype == F32)
        gemm_by_inner(cache, g);
    else
        gemm_piece(cache, g);
}

void gemm_group(struct gemm_cache *cache, const struct gemm *list, int n)
{
    /* One launch serves the products of one input, which is packed only once. */
    bool together = n > 1 && list->m > 0 && list->k > 0;

    for (int i = 0; i < n; i++)
        together = together && list[i].a == list->a && list[i].k == list->k && on_amx(&list[i]);
    if (together)
        gemm_amx(list, n);
    for (int i = 0; i < n && !together; i++)
        gemm(cache, &list[i]);
}
