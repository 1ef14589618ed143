/*
 * pairing.h - matches things two by two, as many as may be, each at most once.
 */
#ifndef DATA_STATS_PAIRING_H
#define DATA_STATS_PAIRING_H

#include "kernels/rng.h"

#include <stdbool.h>

struct pair {
    int a, b;
};

/* Whether things i and j may be paired; symmetric. */
typedef bool pair_fits(const void *context, int i, int j);

/*
 * Pairs things 0..n-1 and returns how many pairs stand in out (room for n / 2).  The matching is maximal and no path of
 * three edges can enlarge it.  More than PAIRING_WINDOW things are shuffled and matched window by window, so that time
 * grows with n and not with its square.
 */
enum { PAIRING_WINDOW = 1024 };
int pairing_match(struct pair *out, int n, pair_fits *fits, const void *context, struct rng *rng);

#endif
