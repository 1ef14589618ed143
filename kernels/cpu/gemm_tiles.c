/*
 * Part of gemm.h: products of f32 without AVX-512.  oneDNN cuts their sums there by how many threads there are, so the
 * product is cut here, at places that depend on its shape alone, and one thread makes each tile.
 */
#include "kernels/cpu/gemm.h"

#ifdef AMBIT_DNNL

#include "kernels/cpu/dnnl_compat.h"

#include <omp.h>

enum { ROWS = 192, COLUMNS = 384 };

bool gemm_tiled(void)
{
    return !gemm_rows_alone(F32);
}

static int64_t part(int64_t from, int64_t end, int64_t most)
{
    return end - from < most ? end - from : most;
}

/* The tile of y at (i, j), by the thread that calls. */
static void make_tile(const struct gemm *g, const float *a, const float *b, float *y, bool add, int64_t i, int64_t j)
{
    const float *from_a = a + (g->ta ? i : i * g->k), *from_b = b + (g->tb ? j * g->k : j);
    int threads = omp_get_max_threads();

    omp_set_num_threads(1);
    dnnl_status_t status =
        dnnl_sgemm(g->ta ? 'T' : 'N', g->tb ? 'T' : 'N', part(i, g->m, ROWS), part(j, g->n, COLUMNS), g->k, 1.0f,
                   from_a, g->ta ? g->m : g->k, from_b, g->tb ? g->k : g->n, add ? 1.0f : 0.0f, y + i * g->n + j, g->n);
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
