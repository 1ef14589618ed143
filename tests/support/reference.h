/*
 * reference.h - every op's forward in double, by plain loops, sharing no code with the kernels but the random numbers.
 */
#ifndef TESTS_REFERENCE_H
#define TESTS_REFERENCE_H

#include "kernels/ops.h"

/* Sums in any order, in vectors as wide as the machine has: tests of ops spend their time here. */
double reference_dot(const double *a, const double *b, int64_t n);
/* y += s x */
void reference_add(double *y, double s, const double *x, int64_t n);
double reference_activation(double x, enum activation act);
/* y[m,n] += op(a) op(b) */
void reference_matmul(double *y, const double *a, bool ta, const double *b, bool tb, int64_t m, int64_t n, int64_t k);
void reference_layer_norm(double *y, const double *x, const double *res, const double *w, const double *b, int64_t rows,
                          int64_t cols, double eps);
/* 0 or 1 / (1 - p): what element (row, col) of the op at `site` is multiplied by */
double reference_keep(const int32_t *rng, uint32_t site, int64_t row, int64_t col, float p);

struct reference_attention {
    const double *q, *kv;
    const int32_t *q_lengths, *k_lengths;
    int64_t n;
    int heads, dim;
    bool fused; /* q == kv, [T, 3 heads dim] */
    double scale;
    const double *bias; /* [heads, 2 reach + 1], by the distance of key and query, or NULL */
    int reach;
    float p;
    const int32_t *rng;
    uint32_t site;
};
void reference_attention(double *y, const struct reference_attention *a);

#endif
