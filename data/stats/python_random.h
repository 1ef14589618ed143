/*
 * python_random.h - Python's random.seed(n) and random.choice, and numpy.random's shuffle of old (RandomState's): what
 * a published program drew can be drawn again.
 *
 * The generator is MT19937 (Matsumoto and Nishimura, "Mersenne Twister", 1998), seeded by an array as CPython does it,
 * by the word itself as numpy.random.seed does.
 */
#ifndef DATA_STATS_PYTHON_RANDOM_H
#define DATA_STATS_PYTHON_RANDOM_H

#include <stdint.h>

enum { PYTHON_RANDOM_WORDS = 624 };

struct python_random {
    uint32_t state[PYTHON_RANDOM_WORDS];
    int next;
    int64_t drawn; /* words since it was seeded */
};

void python_random_seed(struct python_random *r, uint32_t seed);
/* random.getrandbits(32). */
uint32_t python_random_u32(struct python_random *r);
/* Goes on to where `drawn` words have been drawn, which must be no fewer than there were. */
void python_random_skip(struct python_random *r, int64_t drawn);
/* The index that random.choice takes of n things, n > 0. */
uint32_t python_random_choice(struct python_random *r, uint32_t n);

/* numpy.random.seed. */
void numpy_random_seed(struct python_random *r, uint32_t seed);
/* numpy.random.shuffle of n items. */
void numpy_random_shuffle(struct python_random *r, int *items, int n);

#endif
