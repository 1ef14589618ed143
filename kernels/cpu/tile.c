/*
 * Products and transposes of small tiles in f32.
 */
#include "kernels/cpu/tile.h"

/* The vectors of the product are as wide as the machine's registers: gcc splits wider
 * vectors into single numbers, which was twenty times as slow with AVX2. A row's numbers do not depend on the width. */
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

typedef float lanes __attribute__((vector_size(LANES * sizeof(float)), aligned(4)));

#define INTERLEAVE_LOW 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define INTERLEAVE_HIGH 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31

/* Interleaving row i with row i + 8 turns the bits of (row, column) by one place; four turns exchange the two. */
static inline __attribute__((always_inline)) void interleave(lanes *restrict out, const lanes *restrict in)
{
    for (int i = 0; i < LANES / 2; i++) {
        out[2 * i] = __builtin_shufflevector(in[i], in[i + LANES / 2], INTERLEAVE_LOW);
        out[2 * i + 1] = __builtin_shufflevector(in[i], in[i + LANES / 2], INTERLEAVE_HIGH);
    }
}

CPU_CLONES static void turn(float *restrict y, int64_t ldy, const float *restrict x, int64_t ldx, int64_t n,
                            int64_t dim)
{
    lanes tile[LANES], turned[LANES];

    for (int64_t t = 0; t < n; t += LANES)
        for (int64_t d = 0; d < dim; d += LANES) {
            for (int64_t l = 0; l < LANES; l++)
                /* Missing rows are zeros, so that y has whole vectors. */
                tile[l] = t + l < n ? *(const lanes *)(x + (t + l) * ldx + d) : (lanes){ 0 };
            interleave(turned, tile);
            interleave(tile, turned);
            interleave(turned, tile);
            interleave(tile, turned);
            for (int64_t l = 0; l < LANES; l++)
                *(lanes *)(y + (d + l) * ldy + t) = tile[l];
        }
}

void transpose(float *y, int64_t ldy, const float *x, int64_t ldx, int64_t n, int64_t dim)
{
    turn(y, ldy, x, ldx, n, dim);
}

void tile_load(float *dst, int64_t ld, const struct tensor *x, int64_t at, int64_t stride, int64_t n, int64_t dim)
{
    size_t bytes = (size_t)dim * dtype_size(x->dtype);

    for (int64_t t = 0; t < n; t++, at += stride) {
        /* The rows of a head are a stride apart, where the processor does not prefetch by itself. */
        const char *next = (const char *)x->data + (size_t)at * dtype_size(x->dtype) + bytes;
        for (size_t line = 0; line < bytes; line += 64)
            __builtin_prefetch(next + line);
        row_load(dst + t * ld, x, at, dim);
    }
}

void tile_store(struct destination y, int64_t at, int64_t stride, const float *src, int64_t ld, int64_t n, int64_t dim)
{
    for (int64_t t = 0; t < n; t++)
        row_store(y, at + t * stride, src + t * ld, dim);
}
