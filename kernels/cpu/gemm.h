/*
 * gemm.h - dense products on the CPU: oneDNN where possible, OpenBLAS otherwise.
 *
 * Batches are packed, so the number of rows changes every time, but oneDNN compiles a product for one exact shape.  The
 * long dimension is therefore split into pieces of few distinct lengths.  A cache of the device keeps compiled products
 * and packed copies of frozen weights.
 *
 * A row's numbers depend only slightly on the rows beside it: libraries choose the order of sums by the shape.  On
 * request they are independent of them bit for bit.
 */
#ifndef KERNELS_CPU_GEMM_H
#define KERNELS_CPU_GEMM_H

#include "kernels/ops.h"

/* y[m,n] (+)= act(op(a) op(b) + bias): a is [m,k], or [k,m] when ta; b is [k,n], or [n,k] when tb. */
struct gemm {
    int64_t m, n, k;
    const void *a, *b;
    enum dtype dtype; /* of a and b */
    bool ta, tb;
    bool b_frozen; /* b never changes: keep a packed copy */
    void *y;
    enum dtype y_dtype;
    bool add;
    const float *bias; /* n, or NULL; neither bias nor act goes with add */
    enum activation act;
    enum rows_mode
        rows; /* unless ROWS_BY_NUMBER, a row's bits depend neither on the rows beside it nor on their number */
};

struct gemm_cache;
struct gemm_cache *gemm_cache_new(void);
void gemm_cache_free(struct gemm_cache *cache);
/* Drops packed copies of memory [from, from + bytes), which is about to change or be freed. */
void gemm_cache_forget(struct gemm_cache *cache, const void *from, size_t bytes);

void gemm(struct gemm_cache *cache, const struct gemm *g);
/* Computes products with one a, m, k, type and rows_mode.  The results equal those of separate calls. */
void gemm_group(struct gemm_cache *cache, const struct gemm *list, int n);

/* Computes a piece with oneDNN.  Returns false if this build, machine or version cannot. */
bool gemm_dnnl(struct gemm_cache *cache, const struct gemm *g);
/* Computes a piece with OpenBLAS, or in tiles; bf16 operands are converted. */
void gemm_blas(const struct gemm *g);
/* gemm_tiles computes y[m,n] (+)= op(a) op(b) in tiles.  gemm_tiled returns whether this machine should do so.  That is
 * true without AVX-512 if oneDNN would split the sums by the number of threads. */
void gemm_tiles(const struct gemm *g, const float *a, const float *b, float *y, bool add);
bool gemm_tiled(void);
/* gemm_wide computes a piece of bf16 as exact f32 products in blocks.  gemm_widens returns whether this machine should
 * do so.  That is true with AVX-512 but without bf16 instructions: oneDNN then takes four times as long for bf16 as for
 * f32. */
void gemm_wide(struct gemm_cache *cache, const struct gemm *g);
bool gemm_widens(enum dtype dtype);
/* gemm_amx computes a group on AMX tiles.  gemm_amx_serves returns whether they are usable: bf16, a not transposed, b
 * transposed.  A row's bits do not depend on the number of rows, and no copy of b is kept. */
bool gemm_amx_serves(const struct gemm *g);
void gemm_amx(const struct gemm *list, int n);
/* Returns whether a row's bits never depend on the number of rows, in all products of this type. */
bool gemm_rows_alone(enum dtype dtype);
/* Returns whether products of this type keep packed copies of frozen weights. */
bool gemm_packs(struct gemm_cache *cache, enum dtype dtype);
/* Returns the name of the library of products, for the device's description. */
const char *gemm_library(void);

#endif
