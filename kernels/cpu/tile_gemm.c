/*
 * Part of tile.h: the product.  Its vectors are as wide as the machine's registers: gcc takes vectors that are wider to
 * pieces of one number, which was twenty times as slow with AVX2.  A row's numbers do not depend on the width.
 */
#include "kernels/cpu/tile.h"

enum { TILE_ROWS = 4, TILE_VECTORS = 2 };

#define INLINE static inline __attribute__((always_inline))
typedef void tile_function(const struct tile_gemm *p, int64_t i, int64_t j, int rows, int vectors, bool add);

/* `rows` x `vectors` vectors of y from (i, j), summed up in registers: sums of many tiles are so sums of sums, whose
 * roundings are fewer. */
#define DEFINE_TILE(name, width)                                                                                       \
    INLINE void name(const struct tile_gemm *p, int64_t i, int64_t j, int rows, int vectors, bool add)                 \
    {                                                                                                                  \
        typedef float lanes __attribute__((vector_size((width) * sizeof(float)), aligned(4)));                         \
        const float *a = p->a + i * p->row, *b = p->b + j;                                                             \
        int64_t row = p->row, col = p->col, ldb = p->ldb;                                                              \
        lanes sum[TILE_ROWS][TILE_VECTORS];                                                                            \
                                                                                                                       \
        for (int r = 0; r < rows; r++)                                                                                 \
            for (int v = 0; v < vectors; v++)                                                                          \
                sum[r][v] = (lanes){ 0 };                                                                              \
        for (int64_t l = 0; l < p->k; l++, a += col, b += ldb)                                                         \
            for (int r = 0; r < rows; r++)                                                                             \
                for (int v = 0; v < vectors; v++)                                                                      \
                    sum[r][v] += a[r * row] * *(const lanes *)(b + v * (width));                                       \
        for (int r = 0; r < rows; r++)                                                                                 \
            for (int v = 0; v < vectors; v++) {                                                                        \
                lanes *y = (lanes *)(p->y + (i + r) * p->ldy + j + v * (width));                                       \
                *y = add ? *y + sum[r][v] : sum[r][v];                                                                 \
            }                                                                                                          \
    }

INLINE void gemm_columns(const struct tile_gemm *p, tile_function *tile, int64_t j, int vectors, bool add)
{
    /* All rows of a strip of columns are computed before the next strip, whose part of b stays in the cache. */
    int64_t i = 0;

    for (; i + TILE_ROWS <= p->m; i += TILE_ROWS)
        tile(p, i, j, TILE_ROWS, vectors, add);
    switch (p->m - i) {
    case 3:
        tile(p, i, j, 3, vectors, add);
        break;
    case 2:
        tile(p, i, j, 2, vectors, add);
        break;
    case 1:
        tile(p, i, j, 1, vectors, add);
    }
}

INLINE void gemm_all(const struct tile_gemm *p, tile_function *tile, int width, bool add)
{
    int64_t j = 0;

    for (; j + TILE_VECTORS * width <= p->n; j += TILE_VECTORS * width)
        gemm_columns(p, tile, j, TILE_VECTORS, add);
    for (; j < p->n; j += width)
        gemm_columns(p, tile, j, 1, add);
}

/* `add` and the numbers of rows and vectors are constants of each copy of the tile, so that its sums stay in registers.
 * DEFINE_GEMM makes the copies of one instruction set. */
#define DEFINE_GEMM(name, tile, width)                                                                                 \
    DEFINE_TILE(tile, width)                                                                                           \
    ON_##name static void name(const struct tile_gemm *p, bool add)                                                    \
    {                                                                                                                  \
        if (add)                                                                                                       \
            gemm_all(p, tile, width, true);                                                                            \
        else                                                                                                           \
            gemm_all(p, tile, width, false);                                                                           \
    }

#define ON_gemm_baseline
DEFINE_GEMM(gemm_baseline, tile_baseline, 4)

#if defined(__x86_64__)
#define ON_gemm_avx2 __attribute__((target("arch=x86-64-v3")))
#define ON_gemm_avx512 __attribute__((target("arch=x86-64-v4")))
DEFINE_GEMM(gemm_avx2, tile_avx2, 8)
DEFINE_GEMM(gemm_avx512, tile_avx512, 16)

static void gemm_tiles(const struct tile_gemm *p, bool add)
{
    if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        gemm_avx512(p, add);
    else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        gemm_avx2(p, add);
    else
        gemm_baseline(p, add);
}
#else
static void gemm_tiles(const struct tile_gemm *p, bool add)
{
    gemm_baseline(p, add);
}
#endif

void tile_gemm_run(const struct tile_gemm *p)
{
    gemm_tiles(p, false);
}

void tile_gemm_add(const struct tile_gemm *p)
{
    gemm_tiles(p, true);
}
