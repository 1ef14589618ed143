#include "kernels/cpu/row.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

CPU_CLONES static void widen(float *restrict dst, const uint16_t *restrict src, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        uint32_t u = (uint32_t)src[i] << 16;
        memcpy(dst + i, &u, sizeof u);
    }
}

/* bf16_from_f32 without a branch */
CPU_CLONES static void narrow(uint16_t *restrict dst, const float *restrict src, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        uint32_t u;
        memcpy(&u, src + i, sizeof u);
        uint32_t rounded = (u + 0x7fffu + (u >> 16 & 1u)) >> 16, nan = u >> 16 | 0x40u;
        dst[i] = (uint16_t)((u & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
    }
}

CPU_CLONES static void add(float *restrict acc, const float *restrict x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        acc[i] += x[i];
}

CPU_CLONES static void add_scaled(float *restrict acc, float w, const float *restrict x, int64_t n)
{
    short_add_scaled(acc, w, x, n);
}

CPU_CLONES static float dot(const float *restrict a, const float *restrict b, int64_t n)
{
    return short_dot(a, b, n);
}

CPU_CLONES static float most_run(const float *x, int64_t n)
{
    float part[SUMS], most = -INFINITY;
    int64_t i = 0;

    for (int l = 0; l < SUMS; l++)
        part[l] = -INFINITY;
    for (; i + SUMS <= n; i += SUMS)
        for (int l = 0; l < SUMS; l++)
            part[l] = x[i + l] > part[l] ? x[i + l] : part[l];
    for (; i < n; i++)
        most = x[i] > most ? x[i] : most;
    for (int l = 0; l < SUMS; l++)
        most = part[l] > most ? part[l] : most;
    return most;
}

void row_add(float *acc, const float *x, int64_t n)
{
    add(acc, x, n);
}

void row_add_scaled(float *acc, float w, const float *x, int64_t n)
{
    add_scaled(acc, w, x, n);
}

float row_dot(const float *a, const float *b, int64_t n)
{
    return dot(a, b, n);
}

float row_most(const float *x, int64_t n)
{
    return most_run(x, n);
}

float *floats_new(int64_t n)
{
    size_t bytes = ((size_t)n * sizeof(float) / ARENA_ALIGN + 1) * ARENA_ALIGN;
    float *p = aligned_alloc(ARENA_ALIGN, bytes);

    CHECK(p, "out of memory: %zu bytes", bytes);
    return p;
}

void row_load(float *dst, const struct tensor *x, int64_t at, int64_t n)
{
    if (x->dtype == F32)
        memcpy(dst, (const float *)x->data + at, (size_t)n * sizeof *dst);
    else
        widen(dst, (const uint16_t *)x->data + at, n);
}

const float *row_in(float *buf, const struct tensor *x, int64_t at, int64_t n)
{
    if (x->dtype == F32)
        return (const float *)x->data + at;
    widen(buf, (const uint16_t *)x->data + at, n);
    return buf;
}

float *row_out(float *buf, struct destination y, int64_t at)
{
    return y.t->dtype == F32 && !y.add ? (float *)y.t->data + at : buf;
}

static void add_narrow(uint16_t *dst, const float *src, int64_t n)
{
    float sum[ROW_BLOCK];

    for (int64_t at = 0; at < n; at += ROW_BLOCK) {
        int64_t run = run_length(at, n);
        widen(sum, dst + at, run);
        row_add(sum, src + at, run);
        narrow(dst + at, sum, run);
    }
}

void row_store(struct destination y, int64_t at, const float *src, int64_t n)
{
    if (y.t->dtype == F32) {
        float *dst = (float *)y.t->data + at;
        if (y.add)
            row_add(dst, src, n);
        else if (dst != src)
            memcpy(dst, src, (size_t)n * sizeof *dst);
        return;
    }
    uint16_t *dst = (uint16_t *)y.t->data + at;
    if (y.add)
        add_narrow(dst, src, n);
    else
        narrow(dst, src, n);
}

void sum_chunks(struct destination y, const float *partial, int64_t chunks, int64_t stride, int64_t n)
{
    float sum[ROW_BLOCK];

    for (int64_t at = 0; at < n; at += ROW_BLOCK) {
        int64_t run = run_length(at, n);
        memset(sum, 0, (size_t)run * sizeof *sum);
        for (int64_t i = 0; i < chunks; i++)
            row_add(sum, partial + i * stride + at, run);
        row_store(y, at, sum, run);
    }
}
