#include "tests/support/reference.h"

#include "kernels/rng.h"

#include <math.h>
#include <stdlib.h>

#if defined(__x86_64__) /* of static functions: kernels/cpu/row.h says why */
#define CLONES __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define CLONES
#endif

CLONES static double reference_dot_loop(const double *a, const double *b, int64_t n)
{
    double sum = 0;

#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

CLONES static void reference_add_loop(double *restrict y, double s, const double *restrict x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] += s * x[i];
}

double reference_dot(const double *a, const double *b, int64_t n)
{
    return reference_dot_loop(a, b, n);
}

void reference_add(double *y, double s, const double *x, int64_t n)
{
    reference_add_loop(y, s, x, n);
}

double reference_activation(double x, enum activation act)
{
    switch (act) {
    case ACT_NONE:
        return x;
    case ACT_GELU:
        return 0.5 * x * (1 + erf(x * sqrt(0.5)));
    case ACT_GELU_TANH:
        return 0.5 * x * (1 + tanh(sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x)));
    case ACT_RELU:
        return x > 0 ? x : 0;
    case ACT_LEAKY_RELU:
        return x > 0 ? x : 0.2 * x;
    case ACT_ELU:
        return x > 0 ? x : expm1(x);
    case ACT_TANH:
        return tanh(x);
    case ACT_SIGMOID:
        return 1 / (1 + exp(-x));
    }
    return NAN;
}

void reference_matmul(double *y, const double *a, bool ta, const double *b, bool tb, int64_t m, int64_t n, int64_t k)
{
    double *row = malloc((size_t)(k + 1) * sizeof *row);

    for (int64_t i = 0; i < m; i++) {
        for (int64_t l = 0; l < k; l++)
            row[l] = ta ? a[l * m + i] : a[i * k + l];
        for (int64_t j = 0; j < n && tb; j++)
            y[i * n + j] += reference_dot(row, b + j * k, k);
        for (int64_t l = 0; l < k && !tb; l++)
            reference_add(y + i * n, row[l], b + l * n, n);
    }
    free(row);
}

void reference_layer_norm(double *y, const double *x, const double *res, const double *w, const double *b, int64_t rows,
                          int64_t cols, double eps)
{
    for (int64_t r = 0; r < rows; r++) {
        double *z = y + r * cols, mean = 0, var = 0;
        for (int64_t j = 0; j < cols; j++) {
            z[j] = x[r * cols + j] + (res ? res[r * cols + j] : 0);
            mean += z[j];
        }
        mean /= (double)cols;
        for (int64_t j = 0; j < cols; j++)
            var += pow(z[j] - mean, 2);
        double deviation = sqrt(var / (double)cols + eps);
        for (int64_t j = 0; j < cols; j++)
            z[j] = (z[j] - mean) / deviation * w[j] + b[j];
    }
}

double reference_keep(const int32_t *rng, uint32_t site, int64_t row, int64_t col, float p)
{
    struct philox words = rng_quad(rng, site, (uint32_t)row, (uint32_t)(col / 4));
    return words.v[col % 4] < rng_threshold(p) ? 0 : 1 / (1 - (double)p);
}

static double score(const struct reference_attention *a, int64_t q_row, int64_t k_row, int h)
{
    int64_t width = (int64_t)a->heads * a->dim, q_stride = a->fused ? 3 * width : width;
    int64_t kv_stride = a->fused ? 3 * width : 2 * width;
    const double *q = a->q + q_row * q_stride + h * a->dim;
    const double *k = a->kv + k_row * kv_stride + (a->fused ? width : 0) + h * a->dim;

    return a->scale * reference_dot(q, k, a->dim);
}

static double bias(const struct reference_attention *a, int h, int64_t distance)
{
    int64_t most = a->reach, cell = most + (distance > most ? most : distance < -most ? -most : distance);
    return a->bias ? a->bias[h * (2 * most + 1) + cell] : 0;
}

/* Query `place` of its sequence, which is row q_row. */
static void attend(double *y, const struct reference_attention *a, int64_t place, int64_t q_row, int64_t k_from,
                   int64_t n_keys, int h)
{
    int64_t width = (int64_t)a->heads * a->dim, kv_stride = (a->fused ? 3 : 2) * width;
    const double *v = a->kv + (a->fused ? 2 : 1) * width + h * a->dim;
    double *e = malloc((size_t)(n_keys + 1) * sizeof *e), sum = 0;

    for (int64_t j = 0; j < n_keys; j++)
        sum += e[j] = exp(score(a, q_row, k_from + j, h) + bias(a, h, j - place));
    for (int64_t j = 0; j < n_keys; j++) {
        double keep = a->p > 0 ? reference_keep(a->rng, a->site, q_row * a->heads + h, j, a->p) : 1;
        reference_add(y + q_row * width + h * a->dim, e[j] / sum * keep, v + (k_from + j) * kv_stride, a->dim);
    }
    free(e);
}

void reference_attention(double *y, const struct reference_attention *a)
{
    int64_t q_from = 0, k_from = 0;

    for (int64_t s = 0; s < a->n; s++) {
        for (int64_t t = 0; t < a->q_lengths[s]; t++)
            for (int h = 0; h < a->heads; h++)
                attend(y, a, t, q_from + t, k_from, a->k_lengths[s], h);
        q_from += a->q_lengths[s];
        k_from += a->k_lengths[s];
    }
}
