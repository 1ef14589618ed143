#include "data/base/python_random.h"

enum { N = PYTHON_RANDOM_WORDS, M = 397 };

static void seed_plainly(struct python_random *r, uint32_t seed)
{
    r->state[0] = seed;
    for (uint32_t i = 1; i < N; i++)
        r->state[i] = 1812433253u * (r->state[i - 1] ^ (r->state[i - 1] >> 30)) + i;
    r->next = N;
    r->drawn = 0;
}

/* init_by_array with the one word `seed`. */
void python_random_seed(struct python_random *r, uint32_t seed)
{
    uint32_t *s = r->state, i = 1;

    seed_plainly(r, 19650218u);
    for (int k = 0; k < N; k++) {
        s[i] = (s[i] ^ ((s[i - 1] ^ (s[i - 1] >> 30)) * 1664525u)) + seed;
        if (++i == N) {
            s[0] = s[N - 1];
            i = 1;
        }
    }
    for (int k = 0; k < N - 1; k++) {
        s[i] = (s[i] ^ ((s[i - 1] ^ (s[i - 1] >> 30)) * 1566083941u)) - i;
        if (++i == N) {
            s[0] = s[N - 1];
            i = 1;
        }
    }
    s[0] = 0x80000000u;
}

static void refill(struct python_random *r)
{
    for (int i = 0; i < N; i++) {
        uint32_t y = (r->state[i] & 0x80000000u) | (r->state[(i + 1) % N] & 0x7fffffffu);
        r->state[i] = r->state[(i + M) % N] ^ (y >> 1) ^ (y & 1 ? 0x9908b0dfu : 0);
    }
    r->next = 0;
}

uint32_t python_random_u32(struct python_random *r)
{
    if (r->next == N)
        refill(r);
    uint32_t y = r->state[r->next++];
    r->drawn++;
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680u;
    y ^= (y << 15) & 0xefc60000u;
    return y ^ (y >> 18);
}

void python_random_skip(struct python_random *r, int64_t drawn)
{
    while (r->drawn < drawn)
        python_random_u32(r);
}

/* Takes as many bits as n has and repeats until the number is below n. */
uint32_t python_random_choice(struct python_random *r, uint32_t n)
{
    int bits = 32 - __builtin_clz(n);
    uint32_t drawn;
    do
        drawn = python_random_u32(r) >> (32 - bits);
    while (drawn >= n);
    return drawn;
}

void numpy_random_seed(struct python_random *r, uint32_t seed)
{
    seed_plainly(r, seed);
}

/* A number of 0..max as RandomState generates it: masks as many bits as max has and repeats until the number is not
 * above max. */
static uint32_t interval(struct python_random *r, uint32_t max)
{
    uint32_t mask = 0xffffffffu >> __builtin_clz(max), drawn;
    do
        drawn = python_random_u32(r) & mask;
    while (drawn > max);
    return drawn;
}

void numpy_random_shuffle(struct python_random *r, int *items, int n)
{
    for (int i = n - 1; i > 0; i--) {
        uint32_t other = interval(r, (uint32_t)i);
        int item = items[i];
        items[i] = items[other];
        items[other] = item;
    }
}
