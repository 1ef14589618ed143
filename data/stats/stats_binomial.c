/* Part of stats.h: counts of a binomial and of a hypergeometric distribution. */
#include "data/stats/stats.h"

#include <math.h>

enum { HALVINGS = 60 };

/* P(X <= k): from k down, where k is no more than the mean, each term is less than the one before. */
static double at_most(int64_t k, int64_t n, double p)
{
    double x = (double)k, m = (double)n;
    double term = exp(lgamma(m + 1) - lgamma(x + 1) - lgamma(m - x + 1) + x * log(p) + (m - x) * log1p(-p)), sum = term;

    for (; x > 0 && term > sum * 1e-17; x--) {
        term *= x * (1 - p) / ((m - x + 1) * p);
        sum += term;
    }
    return sum;
}

double stats_binomial_upper(int64_t k, int64_t n, double alpha)
{
    double low = n ? (double)k / (double)n : 1, high = 1;

    CHECK(k >= 0 && k <= n && alpha > 0 && alpha < 1, "%lld of %lld at %g", (long long)k, (long long)n, alpha);
    if (k == n)
        return 1;
    for (int i = 0; i < HALVINGS; i++) {
        double p = (low + high) / 2;
        *(at_most(k, n, p) >= alpha ? &low : &high) = p;
    }
    return high;
}

static double log_choose(int64_t n, int64_t k)
{
    return lgamma((double)n + 1) - lgamma((double)k + 1) - lgamma((double)(n - k) + 1);
}

double stats_fisher(int64_t k, int64_t drawn, int64_t marked, int64_t n)
{
    double sum = 0;

    CHECK(k >= 0 && drawn >= 0 && drawn <= n && marked >= 0 && marked <= n, "%lld of %lld, %lld of %lld", (long long)k,
          (long long)drawn, (long long)marked, (long long)n);
    for (int64_t i = k; i >= 0 && drawn - i <= n - marked; i--)
        if (i <= drawn && i <= marked)
            sum += exp(log_choose(marked, i) + log_choose(n - marked, drawn - i) - log_choose(n, drawn));
    return fmin(sum, 1);
}
