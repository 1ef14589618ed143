/*
 * gemm.h - dense products on the CPU: oneDNN where it can, OpenBLAS otherwise.
 *
 * Batches are packed, so the row count changes every time while oneDNN compiles a product for one exact shape.  The
 * long dimension is therefore cut into pieces of few distinct lengths, and compiled products and the packed copies of
 * frozen weights are kept in a cache that belongs to the device.  A row's numbers do not depend on the rows beside it,
 * almost: libraries choose by the shape how they cut the sums.  Bit for bit they do not where the caller asks for it.
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
        rows; /* but for ROWS_BY_NUMBER: a row's bits depend on neither the rows beside it nor their number */
};

struct gemm_cache;
struct gemm_cache *gemm_cache_new(void);
void gemm_cache_free(struct gemm_cache *cache);
/* Memory [from, from + bytes) is about to change or go: forget packed copies of it. */
void gemm_cache_forget(struct gemm_cache *cache, const void *from, size_t bytes);

void gemm(struct gemm_cache *cache, const struct gemm *g);
/* Products of one a, m, k and type with the same rows_mode: the same numbers as one after another. */
void gemm_group(struct gemm_cache *cache, const struct gemm *list, int n);

/* The same for a piece, through oneDNN.  False when this build, machine or version cannot. */
bool gemm_dnnl(struct gemm_cache *cache, const struct gemm *g);
/* The same through OpenBLAS, or in tiles; bf16 operands are converted. */
void gemm_blas(const struct gemm *g);
/* y[m,n] (+)= op(a) op(b) of a product in tiles; whether this machine is to make its products so: it has no AVX-512,
 * and oneDNN would cut their sums by the number of threads. */
void gemm_tiles(const struct gemm *g, const float *a, const float *b, float *y, bool add);
bool gemm_tiled(void);
/* The same for a piece of bf16 as products of f32 in blocks, which lose nothing; and whether this machine is better off
 * with it: AVX-512 without instructions for bf16, on which oneDNN takes four times as long for bf16 as for f32. */
void gemm_wide(struct gemm_cache *cache, const struct gemm *g);
bool gemm_widens(enum dtype dtype);
/* The same of a group on AMX tiles, where they serve: bf16, a as it is, b transposed.  A row's bits are its own,
 * however many rows there are, and no copy of b is kept. */
bool gemm_amx_serves(const struct gemm *g);
void gemm_amx(const struct gemm *list, int n);
/* Whether a row's bits are its own in all products of this type, however many rows there are. */
bool gemm_rows_alone(enum dtype dtype);
/* Whether products of this type keep packed copies of frozen weights. */
bool gemm_packs(struct gemm_cache *cache, enum dtype dtype);
/* What products run through, for the device's description. */
const char *gemm_library(void);

#endif
