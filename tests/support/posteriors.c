#include "tests/support/posteriors.h"

#include "tests/support/support.h"

#include <math.h>

void assert_near(double got, double want, double tolerance)
{
    if (!(fabs(got - want) <= tolerance))
        fail_msg("%.12g, expected %.12g", got, want);
}

void assert_digits(double got, double want)
{
    assert_near(got, want, 5.1e-7);
}

double uniform(struct rng *r)
{
    return ((double)rng_u32(r) + 0.5) / 4294967296.0;
}

void random_masses(double *p, int n, struct rng *r)
{
    double total = 0;
    for (int i = 0; i < n; i++)
        total += p[i] = -log(uniform(r));
    for (int i = 0; i < n; i++)
        p[i] /= total;
}

void random_world(struct world *w, struct rng *r, double noise)
{
    random_masses(w->p, CANDIDATES, r);
    w->prior = (struct posterior){ w->p, CANDIDATES, 0 };
    for (int v = 0; v < VARIABLES; v++) {
        for (int i = 0; i < CANDIDATES; i++)
            w->value[v][i] = (int)rng_below(r, 3);
        w->splits[v] = (struct split){ w->value[v], 3, noise, 1, 0 };
    }
}
