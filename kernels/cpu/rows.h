/*
 * rows.h - how a CPU kernel sees a tensor of either float type: rows of f32.
 *
 * A row of an F32 tensor is read in place; one of a BF16 tensor is widened into a buffer of the caller's.  Results are
 * computed in f32 and rounded once, when the row is stored.
 */
#ifndef KERNELS_CPU_ROWS_H
#define KERNELS_CPU_ROWS_H

#include "kernels/kernels.h"

#include <math.h>
#include <string.h>

/* Below this many elements a second thread costs more than it does. */
enum { ROWS_PARALLEL = 1 << 14 };

static inline float bf16_widen(uint16_t x)
{
    uint32_t u = (uint32_t)x << 16;
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

/* To nearest even; NaN stays NaN. */
static inline uint16_t bf16_round(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    uint32_t nan = (u & 0x7fffffffu) > 0x7f800000u ? 0x400000u : 0;
    return (uint16_t)((nan ? u | nan : u + 0x7fffu + (u >> 16 & 1u)) >> 16);
}

/* Elements [at, at + n) of t; buf has room for n and is used for BF16 only. */
static inline const float *row_read(const struct tensor *t, int64_t at, int64_t n, float *buf)
{
    if (t->dtype == F32)
        return (const float *)t->data + at;
    const uint16_t *x = (const uint16_t *)t->data + at;
    for (int64_t i = 0; i < n; i++)
        buf[i] = bf16_widen(x[i]);
    return buf;
}

/* Stores or, with y.add, adds n values to the elements from at on. */
static inline void row_write(struct grad y, int64_t at, int64_t n, const float *v)
{
    if (y.t->dtype == F32) {
        float *out = (float *)y.t->data + at;
        for (int64_t i = 0; i < n; i++)
            out[i] = y.add ? out[i] + v[i] : v[i];
        return;
    }
    uint16_t *out = (uint16_t *)y.t->data + at;
    for (int64_t i = 0; i < n; i++)
        out[i] = bf16_round(y.add ? bf16_widen(out[i]) + v[i] : v[i]);
}

static inline void row_store(struct tensor *y, int64_t at, int64_t n, const float *v)
{
    row_write((struct grad){ y, false }, at, n, v);
}

static inline float *floats_new(int64_t n)
{
    return (float *)xmalloc((size_t)n * sizeof(float));
}

static inline float sigmoid(float x)
{
    float e = expf(-fabsf(x));
    return (x >= 0 ? 1 : e) / (1 + e);
}

static inline float softplus(float x)
{
    return fmaxf(x, 0) + log1pf(expf(-fabsf(x)));
}

#endif
