/*
 * pairing.h - matches items in pairs, as many as possible, each item at most once.
 *
 * The caller owns the arrays.  Nothing fails.
 */
#ifndef DATA_BASE_PAIRING_H
#define DATA_BASE_PAIRING_H

#include "kernels/rng.h"

#include <stdbool.h>

struct pair {
    int a, b;
};

/* Whether items i and j may be paired; must be symmetric. */
typedef bool pair_fits(const void *context, int i, int j);

/*
 * Pairs items 0..n-1, writes the pairs to out (space for n / 2) and returns their number.  The matching is maximal, and
 * no augmenting path of three edges exists.  More than PAIRING_WINDOW items are shuffled and matched in windows, so
 * that the time grows linearly with n.
 */
enum { PAIRING_WINDOW = 1024 };
int pairing_match(struct pair *out, int n, pair_fits *fits, const void *context, struct rng *rng);

#endif
