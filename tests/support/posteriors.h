/*
 * posteriors.h - numbers to a tolerance, and random beliefs with questions about them, for the tests of dialogues.
 */
#ifndef TESTS_SUPPORT_POSTERIORS_H
#define TESTS_SUPPORT_POSTERIORS_H

#include "data/clarify/posterior.h"
#include "kernels/rng.h"

void assert_near(double got, double want, double tolerance);
/* To the six digits that are printed. */
void assert_digits(double got, double want);

/* Between 0 and 1, neither of them. */
double uniform(struct rng *r);
/* They sum to 1. */
void random_masses(double *p, int n, struct rng *r);

enum { CANDIDATES = 9, VARIABLES = 5 };
struct world {
    double p[CANDIDATES];
    int value[VARIABLES][CANDIDATES]; /* 0 .. 2 */
    struct split splits[VARIABLES];
    struct posterior prior; /* without a reserve; refers to p, as the splits to value */
};
void random_world(struct world *w, struct rng *r, double noise);

#endif
