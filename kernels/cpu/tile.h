/*
 * tile.h - what attention is made of on the CPU: products and transposes of small f32 tiles, rows of a head in and out.
 */
#ifndef KERNELS_CPU_TILE_H
#define KERNELS_CPU_TILE_H

#include "kernels/cpu/row.h"

enum { LANES = 16 };

static inline int64_t whole_lanes(int64_t n)
{
    return (n + LANES - 1) / LANES * LANES;
}

/* y[m,n] = a b with a(i, l) = a[i * row + l * col], b[k, ldb], n a multiple of LANES; a may so be read transposed. */
struct tile_gemm {
    float *y;
    const float *a, *b;
    int64_t m, n, k, ldy, row, col, ldb;
};
/* A row's numbers do not depend on the rows beside it. */
void tile_gemm_run(const struct tile_gemm *p);
/* y += a b */
void tile_gemm_add(const struct tile_gemm *p);

/* y[dim, n] = x[n, dim]^T, rows ldy and ldx apart, dim a multiple of LANES, whole vectors of y with zeros from n on */
void transpose(float *y, int64_t ldy, const float *x, int64_t ldx, int64_t n, int64_t dim);

/* Loads n rows of dst, ld apart: dim elements each of x, from element at + t * stride on.  The elements after them are
 * prefetched, because they belong to the next head. */
void tile_load(float *dst, int64_t ld, const struct tensor *x, int64_t at, int64_t stride, int64_t n, int64_t dim);
/* y (+)= n rows of src, laid out likewise. */
void tile_store(struct destination y, int64_t at, int64_t stride, const float *src, int64_t ld, int64_t n, int64_t dim);

#endif
