/*
 * Part of gemm.h: products of f32 without AVX-512.  There oneDNN splits sums by the number of threads.  This file
 * splits the product by its shape alone, and one thread computes each tile.
 */
#include "kernels/cpu/gemm.h"

#ifdef AMBIT_DNNL

#include "kernels/cpu/dnnl_compat.h"

#include <omp.h>

enum { ROWS = 192, COLUMNS = 384, DEPTH = 128 };

bool gemm_tiled(void)
{
    return !gemm_rows_alone(F32);
}

static int64_t part(int64_t from, int64_t end, int64_t most)
{
    return end - from < most ? end - from : most;
}

/* The tile of y at (i, j), by the thread that calls.  Sums over rows of a batch, which may be long, are sums of sums.
 */
static void make_tile(const struct gemm *g, const float *a, const float *b, float *y, bool add, int64_t i, int64_t j)
{
    /* Steps from row to row and from column to column of a and b as the product sees them. */
    int64_t row = g->ta ? 1 : g->k, col = g->ta ? g->m : 1, down = g->tb ? 1 : g->n, across = g->tb ? g->k : 1;
    int64_t m = part(i, g->m, ROWS), n = part(j, g->n, COLUMNS), depth = g->ta ? DEPTH : g->k;
    int threads = omp_get_max_threads();
    dnnl_status_t status = dnnl_success;

    /* Inside a parallel region the setting is the thread's own. oneDNN then sums in one order. */
    omp_set_num_threads(1);
    for (int64_t l = 0; l < g->k && status == dnnl_success; l += depth)
        status = dnnl_sgemm(g->ta ? 'T' : 'N', g->tb ? 'T' : 'N', m, n, part(l, g->k, depth), 1.0f,
                            a + i * row + l * col, g->ta ? g->m : g->k, b + l * down + j * across, g->tb ? g->k : g->n,
                            add || l > 0 ? 1.0f : 0.0f, y + i * g->n + j, g->n);
    omp_set_num_threads(threads);
    CHECK(status == dnnl_success, "oneDNN: sgemm: status %d", (int)status);
}

void gemm_tiles(const struct gemm *g, const float *a, const float *b, float *y, bool add)
{
    int64_t across = (g->n + COLUMNS - 1) / COLUMNS, tiles = across * ((g->m + ROWS - 1) / ROWS);
#pragma omp parallel for schedule(static) if (tiles > 1)
    for (int64_t t = 0; t < tiles; t++)
        make_tile(g, a, b, y, add, t / across * ROWS, t % across * COLUMNS);
}

#else

bool gemm_tiled(void)
{
    return false;
}

void gemm_tiles(const struct gemm *g, const float *a, const float *b, float *y, bool add)
{
    (void)g, (void)a, (void)b, (void)y, (void)add;
}

#endif
