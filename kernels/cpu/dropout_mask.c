#include "kernels/cpu/dropout_mask.h"

#include "kernels/cpu/row.h"
#include "kernels/rng.h"

#include <string.h>

/* Runs ten rounds of Philox on DROPOUT_MASK_LANES counters at once, word by word, so that the compiler vectorises
 * them. */
static inline void philox_lanes(uint32_t word[4][DROPOUT_MASK_LANES], uint32_t key0, uint32_t key1)
{
    for (int round = 0; round < 10; round++, key0 += 0x9E3779B9u, key1 += 0xBB67AE85u) {
#pragma omp simd
        for (int l = 0; l < DROPOUT_MASK_LANES; l++) {
            uint64_t x = (uint64_t)0xD2511F53u * word[0][l], y = (uint64_t)0xCD9E8D57u * word[2][l];
            word[0][l] = (uint32_t)(y >> 32) ^ word[1][l] ^ key0;
            word[1][l] = (uint32_t)y;
            word[2][l] = (uint32_t)(x >> 32) ^ word[3][l] ^ key1;
            word[3][l] = (uint32_t)x;
        }
    }
}

/* Computes the words of columns 4 * quad .. 4 * (quad + DROPOUT_MASK_LANES) - 1 of a row.  The first index is the
 * column's place in its quad. */
static inline void row_words(uint32_t word[4][DROPOUT_MASK_LANES], const int32_t *rng, uint32_t site, uint32_t row,
                             uint32_t quad)
{
    for (uint32_t l = 0; l < DROPOUT_MASK_LANES; l++) {
        word[0][l] = quad + l;
        word[1][l] = row;
        word[2][l] = site + (uint32_t)rng[3];
        word[3][l] = (uint32_t)rng[2];
    }
    philox_lanes(word, (uint32_t)rng[0], (uint32_t)rng[1]);
}

static inline size_t block_bytes(int64_t left)
{
    return (size_t)(left < 4 * DROPOUT_MASK_LANES ? left : 4 * DROPOUT_MASK_LANES) * sizeof(float);
}

CPU_CLONES static void run(float *keep, const int32_t *rng, uint32_t site, uint32_t row, uint32_t quad, int64_t n,
                           float p)
{
    uint32_t threshold = rng_threshold(p), word[4][DROPOUT_MASK_LANES];
    float scale = 1.0f / (1.0f - p), out[4 * DROPOUT_MASK_LANES];

    for (int64_t j = 0; j < n; j += 4 * DROPOUT_MASK_LANES) {
        row_words(word, rng, site, row, quad + (uint32_t)(j / 4));
        for (int l = 0; l < DROPOUT_MASK_LANES; l++)
            for (int k = 0; k < 4; k++)
                out[4 * l + k] = word[k][l] < threshold ? 0.0f : scale;
        memcpy(keep + j, out, block_bytes(n - j));
    }
}

CPU_CLONES static void noise(float *u, const int32_t *rng, uint32_t site, uint32_t row, uint32_t quad, int64_t n)
{
    uint32_t word[4][DROPOUT_MASK_LANES];
    float out[4 * DROPOUT_MASK_LANES];

    for (int64_t j = 0; j < n; j += 4 * DROPOUT_MASK_LANES) {
        row_words(word, rng, site, row, quad + (uint32_t)(j / 4));
        for (int l = 0; l < DROPOUT_MASK_LANES; l++)
            for (int k = 0; k < 4; k++)
                out[4 * l + k] = (float)(int32_t)(word[k][l] >> 8) * 0x1p-23f - 1.0f;
        memcpy(u + j, out, block_bytes(n - j));
    }
}

CPU_CLONES static void lanes(float keep[4][DROPOUT_MASK_LANES], const int32_t *rng, uint32_t site, uint32_t first,
                             uint32_t step, uint32_t quad, float p)
{
    uint32_t threshold = rng_threshold(p), word[4][DROPOUT_MASK_LANES];
    float scale = 1.0f / (1.0f - p);

    for (uint32_t l = 0; l < DROPOUT_MASK_LANES; l++) {
        word[0][l] = quad;
        word[1][l] = first + l * step;
        word[2][l] = site + (uint32_t)rng[3];
        word[3][l] = (uint32_t)rng[2];
    }
    philox_lanes(word, (uint32_t)rng[0], (uint32_t)rng[1]);
    for (int k = 0; k < 4; k++)
        for (int l = 0; l < DROPOUT_MASK_LANES; l++)
            keep[k][l] = word[k][l] < threshold ? 0.0f : scale;
}

void dropout_mask_run(float *keep, const int32_t *rng, uint32_t site, uint32_t row, uint32_t quad, int64_t n, float p)
{
    run(keep, rng, site, row, quad, n, p);
}

void dropout_mask_lanes(float keep[4][DROPOUT_MASK_LANES], const int32_t *rng, uint32_t site, uint32_t first,
                        uint32_t step, uint32_t quad, float p)
{
    lanes(keep, rng, site, first, step, quad, p);
}

void noise_run(float *u, const int32_t *rng, uint32_t site, uint32_t row, uint32_t quad, int64_t n)
{
    noise(u, rng, site, row, quad, n);
}
