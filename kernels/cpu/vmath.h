/*
 * vmath.h - exp, tanh and erf as straight-line polynomials, so that loops over them vectorise.
 *
 * Relative error against the exact value, over the whole range: exp and log 2e-7, tanh and erf 4e-7
 * (tests/kernels/test_vmath.c holds them to it).  Arguments beyond the range of the result saturate; NaN stays NaN.
 */
#ifndef KERNELS_CPU_VMATH_H
#define KERNELS_CPU_VMATH_H

#include <stdint.h>
#include <string.h>

static inline float clampf(float x, float low, float high)
{
    x = x < low ? low : x;
    return x > high ? high : x;
}

/* 2^n times a polynomial in r = x - n ln 2.  Adding 1.5 * 2^23 rounds n and leaves it in the low bits of the sum. */
static inline float vexp(float x)
{
    x = clampf(x, -87.3f, 88.3f);
    float shifted = x * 1.44269504f + 12582912.0f, n = shifted - 12582912.0f;
    float r = x - n * 0.693359375f + n * 2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    uint32_t bits;
    float scale;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits + 127) << 23;
    memcpy(&scale, &bits, sizeof scale);
    return p * scale;
}

/* Returns the logarithm of a positive normal number: the exponent times ln 2, plus a polynomial in the mantissa, which
 * is in [sqrt 1/2, sqrt 2). */
static inline float vlog(float x)
{
    uint32_t bits;
    float m;
    memcpy(&bits, &x, sizeof bits);
    uint32_t shifted = bits - 0x3f3504f3u; /* sqrt 1/2 */
    bits = (shifted & 0x007fffffu) + 0x3f3504f3u;
    memcpy(&m, &bits, sizeof m);
    float n = (float)((int32_t)shifted >> 23), r = m - 1.0f, r2 = r * r;
    float p = 7.0376836292e-2f;
    p = p * r - 1.1514610310e-1f;
    p = p * r + 1.1676998740e-1f;
    p = p * r - 1.2420140846e-1f;
    p = p * r + 1.4249322787e-1f;
    p = p * r - 1.6668057665e-1f;
    p = p * r + 2.0000714765e-1f;
    p = p * r - 2.4999993993e-1f;
    p = p * r + 3.3333331174e-1f;
    return r + (p * r * r2 + n * -2.12194440e-4f - 0.5f * r2) + n * 0.693359375f;
}

static inline float vtanh(float x)
{
    x = clampf(x, -7.90531110763549805f, 7.90531110763549805f);
    float x2 = x * x;
    float p = -2.76076847742355e-16f;
    p = p * x2 + 2.00018790482477e-13f;
    p = p * x2 - 8.60467152213735e-11f;
    p = p * x2 + 5.12229709037114e-08f;
    p = p * x2 + 1.48572235717979e-05f;
    p = p * x2 + 6.37261928875436e-04f;
    p = p * x2 + 4.89352455891786e-03f;
    float q = 1.19825839466702e-06f;
    q = q * x2 + 1.18534705686654e-04f;
    q = q * x2 + 2.26843463243900e-03f;
    q = q * x2 + 4.89352518554385e-03f;
    return x * p / q;
}

static inline float verf(float x)
{
    x = clampf(x, -4.0f, 4.0f);
    float x2 = x * x;
    float p = -2.72614225801306e-10f;
    p = p * x2 + 2.77068142495902e-08f;
    p = p * x2 - 2.10102402082508e-06f;
    p = p * x2 - 5.69250639462346e-05f;
    p = p * x2 - 7.34990630326855e-04f;
    p = p * x2 - 2.95459980854025e-03f;
    p = p * x2 - 1.60960333262415e-02f;
    float q = -1.45660718464996e-05f;
    q = q * x2 - 2.13374055278905e-04f;
    q = q * x2 - 1.68282697438203e-03f;
    q = q * x2 - 7.37332916720468e-03f;
    q = q * x2 - 1.42647390514189e-02f;
    return x * p / q;
}

static inline float vsigmoid(float x)
{
    return 1.0f / (1.0f + vexp(-x));
}

/* e^x - 1 for x <= 0 without cancellation: tanh(x / 2) keeps its relative accuracy near zero. */
static inline float vexpm1_negative(float x)
{
    float t = vtanh(0.5f * x);
    return 2.0f * t / (1.0f - t);
}

#endif
