/*
 * rng.h - Philox 4x32-10 counters (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
 *
 * A random number is a pure function of (seed, step, site, row, column), so it is the same on every device, in any
 * order, and after a resume.  Seed, step and the first site live in a device tensor (ctx->rng); `site` numbers the
 * random ops of a step from there.
 */
#ifndef KERNELS_RNG_H
#define KERNELS_RNG_H

#include <stddef.h>
#include <stdint.h>

#ifdef __CUDACC__
#define RNG_INLINE static __host__ __device__ __forceinline__
#else
#define RNG_INLINE static inline
#endif

struct philox {
    uint32_t v[4];
};

RNG_INLINE struct philox philox_block(struct philox counter, uint32_t key0, uint32_t key1)
{
    for (int round = 0; round < 10; round++) {
        uint64_t a = (uint64_t)0xD2511F53u * counter.v[0], b = (uint64_t)0xCD9E8D57u * counter.v[2];
        struct philox next = { { (uint32_t)(b >> 32) ^ counter.v[1] ^ key0, (uint32_t)b,
                                 (uint32_t)(a >> 32) ^ counter.v[3] ^ key1, (uint32_t)a } };
        counter = next;
        key0 += 0x9E3779B9u;
        key1 += 0xBB67AE85u;
    }
    return counter;
}

/* Returns the four words for columns 4*quad .. 4*quad+3 of a row; rng holds the contents of ctx->rng. */
RNG_INLINE struct philox rng_quad(const int32_t *rng, uint32_t site, uint32_t row, uint32_t quad)
{
    struct philox counter = { { quad, row, site + (uint32_t)rng[3], (uint32_t)rng[2] } };
    return philox_block(counter, (uint32_t)rng[0], (uint32_t)rng[1]);
}

/* Returns the threshold of dropout: an element is dropped if its word is below it. */
RNG_INLINE uint32_t rng_threshold(float p)
{
    return (uint32_t)((double)p * 4294967296.0);
}

#undef RNG_INLINE

/* A separate random sequence on the host, for shuffles and initial weights. */
struct rng {
    uint64_t seed, count;
};

static inline uint32_t rng_u32(struct rng *r)
{
    struct philox counter = { { (uint32_t)r->count, (uint32_t)(r->count >> 32), 0xffffffffu, 0xffffffffu } };
    r->count++;
    return philox_block(counter, (uint32_t)r->seed, (uint32_t)(r->seed >> 32)).v[0];
}

/* Returns a uniform number in [0, n), n > 0, without bias. */
static inline uint32_t rng_below(struct rng *r, uint32_t n)
{
    uint32_t low = (uint32_t)(-n) % n, x;
    do
        x = rng_u32(r);
    while (x < low);
    return x % n;
}

/* Shuffles the n items of the list, `size` bytes each (Fisher and Yates). */
static inline void rng_shuffle(struct rng *r, void *list, int64_t n, size_t size)
{
    for (int64_t i = n - 1; i > 0; i--) {
        unsigned char *a = (unsigned char *)list + (size_t)i * size;
        unsigned char *b = (unsigned char *)list + rng_below(r, (uint32_t)i + 1) * size;
        for (size_t k = 0; k < size; k++) {
            unsigned char swap = a[k];
            a[k] = b[k];
            b[k] = swap;
        }
    }
}

/* Returns a uniform number in [0, 1) with 24 bits. */
static inline float rng_uniform(struct rng *r)
{
    return (float)(rng_u32(r) >> 8) * 0x1p-24f;
}

#endif
