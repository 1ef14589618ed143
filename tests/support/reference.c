#include "tests/support/reference.h"

#include "kernels/rng.h"

#include <math.h>
#include <stdlib.h>

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
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++)
            for (int64_t l = 0; l < k; l++)
                y[i * n + j] += (ta ? a[l * m + i] : a[i * k + l]) * (tb ? b[j * k + l] : b[l * n + j]);
}

void reference_layer_norm(double *y, const double *x, const double *res, const double *w, const double *b, int64_t rows,
                          int64_t cols, double eps)
{
    for (int64_t r = 0; r < rows; r++) {
        double *z = y + r * cols, mean = 0, var = 0;
        for (int64_t j = 0; j < cols; j++) {
            z[j] = x[r * cols + j] + (res ? res[r * cols + j] : 0);
            mean += z[j] / (double)cols;
        }
        for (int64_t j = 0; j < cols; j++)
            var += pow(z[j] - mean, 2) / (double)cols;
        for (int64_t j = 0; j < cols; j++)
            z[j] = (z[j] - mean) / sqrt(var + eps) * w[j] + b[j];
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
    double sum = 0;

    for (int d = 0; d < a->dim; d++)
        sum += q[d] * k[d];
    return a->scale * sum;
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
        for (int d = 0; d < a->dim; d++)
            y[q_row * width + h * a->dim + d] += e[j] / sum * keep * v[(k_from + j) * kv_stride + d];
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
