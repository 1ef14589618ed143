/*
 * half.h - converts IEEE binary16, as files store it, to and from F32. No device computes in binary16.
 */
#ifndef MODELS_IO_HALF_H
#define MODELS_IO_HALF_H

#include <stdint.h>
#include <string.h>

static inline float f32_from_f16(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16, exponent = (h >> 10) & 31u, mantissa = h & 0x3ffu, bits;
    float f;

    if (exponent == 0) { /* zero or subnormal: mantissa * 2^-24, exact in F32 */
        f = (float)mantissa * 0x1p-24f;
        memcpy(&bits, &f, sizeof bits);
        bits |= sign;
    } else {
        bits = sign | (exponent == 31 ? 255u : exponent + 112u) << 23 | mantissa << 13;
    }
    memcpy(&f, &bits, sizeof f);
    return f;
}

/* Rounds to nearest even. Values beyond the range become infinity; NaN stays NaN. */
static inline uint16_t f16_from_f32(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    uint32_t sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;

    if (magnitude > 0x7f800000u)
        return (uint16_t)(sign | 0x7e00u);
    if (magnitude >= 0x477ff000u) /* 65520 and above */
        return (uint16_t)(sign | 0x7c00u);
    if (magnitude < 0x38800000u) { /* below 2^-14: adding 0.5 leaves the rounded result in the low bits */
        float x;
        memcpy(&x, &magnitude, sizeof x);
        x += 0.5f;
        memcpy(&magnitude, &x, sizeof magnitude);
        return (uint16_t)(sign | (magnitude - 0x3f000000u));
    }
    magnitude += 0xfffu + (magnitude >> 13 & 1u) - (112u << 23);
    return (uint16_t)(sign | magnitude >> 13);
}

#endif
