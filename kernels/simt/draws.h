/*
 * draws.h - cheap random numbers for an order that must be arbitrary but not uniform.
 */
#ifndef KERNELS_SIMT_DRAWS_H
#define KERNELS_SIMT_DRAWS_H

#include <stdint.h>

struct draws {
    uint64_t state;
};

static inline unsigned draw(struct draws *d)
{
    d->state ^= d->state << 13;
    d->state ^= d->state >> 7;
    d->state ^= d->state << 17;
    return (unsigned)(d->state >> 16);
}

/* Begins the series with this number. */
static inline struct draws draws_begin(uint64_t seed, uint64_t number)
{
    struct draws d = { (seed + 1) * 0x9e3779b97f4a7c15u ^ (number + 1) * 0xbf58476d1ce4e5b9u };
    d.state = d.state ? d.state : 1;
    for (int i = 0; i < 4; i++)
        draw(&d);
    return d;
}

static inline unsigned draw_below(struct draws *d, unsigned n)
{
    return (unsigned)((uint64_t)draw(d) * n >> 32);
}

/* Draws one set bit of the mask, which is not 0. */
static inline int draw_bit(struct draws *d, unsigned mask)
{
    unsigned by = draw(d) & 31, turned = by ? mask >> by | mask << (32 - by) : mask;
    return (int)((unsigned)__builtin_ctz(turned) + by) & 31;
}

#endif
