#include "kernels/cpu/tile.h"

enum { WIDE = 2 * LANES, TILE_ROWS = 4 };

typedef float lanes __attribute__((vector_size(LANES * sizeof(float)), aligned(4)));

/* `rows` x `vectors` vectors of y from (i, j), summed up in registers: sums of many tiles are so sums of sums, whose
 * roundings are fewer. */
static inline __attribute__((always_inline)) void gemm_tile(const struct tile_gemm *p, int64_t i, int64_t j, int rows,
                                                            int vectors, bool add)
{
    const float *a = p->a + i * p->row, *b = p->b + j;
    int64_t row = p->row, col = p->col, ldb = p->ldb;
    lanes sum[TILE_ROWS][2];

    for (int r = 0; r < rows; r++)
        for (int v = 0; v < vectors; v++)
            sum[r][v] = (lanes){ 0 };
    for (int64_t l = 0; l < p->k; l++, a += col, b += ldb)
        for (int r = 0; r < rows; r++)
            for (int v = 0; v < vectors; v++)
                sum[r][v] += a[r * row] * *(const lanes *)(b + v * LANES);
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < vectors; v++) {
            lanes *y = (lanes *)(p->y + (i + r) * p->ldy + j + v * LANES);
            *y = add ? *y + sum[r][v] : sum[r][v];
        }
}

static inline __attribute__((always_inline)) void gemm_columns(const struct tile_gemm *p, int64_t j, int vectors,
                                                               bool add)
{
    int64_t i = 0;

    for (; i + TILE_ROWS <= p->m; i += TILE_ROWS)
        gemm_tile(p, i, j, TILE_ROWS, vectors, add);
    switch (p->m - i) {
    case 3:
        gemm_tile(p, i, j, 3, vectors, add);
        break;
    case 2:
        gemm_tile(p, i, j, 2, vectors, add);
        break;
    case 1:
        gemm_tile(p, i, j, 1, vectors, add);
    }
}

static inline __attribute__((always_inline)) void gemm_all(const struct tile_gemm *p, bool add)
{
    int64_t j = 0;

    for (; j + WIDE <= p->n; j += WIDE)
        gemm_columns(p, j, 2, add);
    if (j < p->n)
        gemm_columns(p, j, 1, add);
}

CPU_CLONES static void gemm_stored(const struct tile_gemm *p)
{
    gemm_all(p, false);
}

CPU_CLONES static void gemm_added(const struct tile_gemm *p)
{
    gemm_all(p, true);
}

void tile_gemm_run(const struct tile_gemm *p)
{
    gemm_stored(p);
}

void tile_gemm_add(const struct tile_gemm *p)
{
    gemm_added(p);
}

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
