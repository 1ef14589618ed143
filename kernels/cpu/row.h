/*
 * row.h - the common part of the CPU's row kernels: runs of elements as f32, and loops compiled per instruction set.
 *
 * Kernels compute on f32 runs.  An f32 tensor is used in place.  A bf16 tensor is converted through a short buffer that
 * stays in the L1 cache, so every kernel has one loop for both types.  Threads split rows or runs.  A reduction over
 * rows is split by the shape alone, so results never depend on the number of threads.
 */
#ifndef KERNELS_CPU_ROW_H
#define KERNELS_CPU_ROW_H

#include "kernels/kernels.h"

/* Compiles a hot loop for AVX-512, AVX2 with FMA and the baseline; the program selects one at its start.  Use it only
 * for static functions with unique names in kernels/cpu.  clang 14 gives a cloned function another external name, and
 * its resolver is external even for a static function.  The selection would call ThreadSanitizer before it runs. */
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
#define CPU_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define CPU_CLONES
#endif

enum {
    ROW_BLOCK = 1024,       /* elements converted at a time */
    PARALLEL_MIN = 1 << 15, /* fewer elements than this are not worth waking threads for */
    ROW_CHUNKS = 64         /* a reduction over rows has at most this many partial sums */
};

static inline int64_t run_length(int64_t at, int64_t end)
{
    return end - at < ROW_BLOCK ? end - at : ROW_BLOCK;
}

/* dst = elements [at, at + n) of x */
void row_load(float *dst, const struct tensor *x, int64_t at, int64_t n);
/* The same elements to read: x's own memory when it is F32, else converted into buf. */
const float *row_in(float *buf, const struct tensor *x, int64_t at, int64_t n);
/* Returns the place to compute elements of y from `at` on: y itself if it is F32 and overwritten, else buf. */
float *row_out(float *buf, struct destination y, int64_t at);
/* y[at ..] (+)= src, rounding to y's type; nothing to do when src came from row_out as y's own memory. */
void row_store(struct destination y, int64_t at, const float *src, int64_t n);

/* Rows per partial sum for a reduction over rows. */
static inline int64_t chunk_rows(int64_t rows)
{
    int64_t per = (rows + ROW_CHUNKS - 1) / ROW_CHUNKS;
    return per < 32 ? 32 : per;
}
/* y[n] (+)= sum of the n-element partial sums, in order. */
void sum_chunks(struct destination y, const float *partial, int64_t chunks, int64_t stride, int64_t n);
/* acc += x, n elements */
void row_add(float *acc, const float *x, int64_t n);
/* acc += w x, n elements */
void row_add_scaled(float *acc, float w, const float *x, int64_t n);
/* sum of a b, n elements, in an order that depends on n alone */
float row_dot(const float *a, const float *b, int64_t n);
/* Returns the maximum of n elements; minus infinity when n is 0. */
float row_most(const float *x, int64_t n);
/* Allocates n numbers at the start of a cache line; the caller frees them. */
float *floats_new(int64_t n);

/* row_add_scaled and row_dot to be inlined into loops that are cloned themselves, over rows too short for a call. */
static inline void short_add_scaled(float *restrict acc, float w, const float *restrict x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        acc[i] += w * x[i];
}
/* the sum of sixteen numbers, by halves */
static inline float sum_lanes(float lane[restrict 16])
{
    for (int k = 0; k < 8; k++)
        lane[k] += lane[k + 8];
    for (int k = 0; k < 4; k++)
        lane[k] += lane[k + 4];
    return (lane[0] + lane[2]) + (lane[1] + lane[3]);
}
static inline float short_dot(const float *restrict a, const float *restrict b, int64_t n)
{
    float lane[16] = { 0 }, sum = 0;
    int64_t i = 0;

    for (; i + 16 <= n; i += 16)
        for (int k = 0; k < 16; k++)
            lane[k] += a[i + k] * b[i + k];
    for (; i < n; i++)
        sum += a[i] * b[i];
    return sum + sum_lanes(lane);
}

enum { SUMS = 64 }; /* partial sums side by side: enough to hide the latency of an addition */

/* sum of (z - shift) or of its square, n elements, in an order that depends on n alone; to be inlined likewise */
static inline __attribute__((always_inline)) float short_moment(const float *z, int64_t n, float shift, bool square)
{
    float part[SUMS] = { 0 }, sum = 0;
    int64_t i = 0;

    for (; i + SUMS <= n; i += SUMS)
        for (int l = 0; l < SUMS; l++) {
            float d = z[i + l] - shift;
            part[l] += square ? d * d : d;
        }
    for (; i < n; i++) {
        float d = z[i] - shift;
        sum += square ? d * d : d;
    }
#pragma omp simd reduction(+ : sum)
    for (int l = 0; l < SUMS; l++)
        sum += part[l];
    return sum;
}

#endif
