/*
 * python_random.h - reproduces the random numbers of published Python programs: random.seed, random.choice and numpy's
 * RandomState.shuffle.
 *
 * The generator is MT19937 (Matsumoto and Nishimura, "Mersenne Twister", 1998).  CPython seeds it by an array,
 * numpy.random.seed by the number itself.  Nothing fails.
 */
#ifndef DATA_BASE_PYTHON_RANDOM_H
#define DATA_BASE_PYTHON_RANDOM_H

#include <stdint.h>

enum { PYTHON_RANDOM_WORDS = 624 };

struct python_random {
    uint32_t state[PYTHON_RANDOM_WORDS];
    int next;
    int64_t drawn; /* words generated since the seed */
};

void python_random_seed(struct python_random *r, uint32_t seed);
/* random.getrandbits(32). */
uint32_t python_random_u32(struct python_random *r);
/* Advances until `drawn` words have been generated; at most that many may have been before. */
void python_random_skip(struct python_random *r, int64_t drawn);
/* The index that random.choice chooses among n items, n > 0. */
uint32_t python_random_choice(struct python_random *r, uint32_t n);

/* numpy.random.seed. */
void numpy_random_seed(struct python_random *r, uint32_t seed);
/* numpy.random.shuffle of n items, in place. */
void numpy_random_shuffle(struct python_random *r, int *items, int n);

#endif
