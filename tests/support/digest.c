#include "tests/support/digest.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t formula_word(const char *name, int64_t i)
{
    uint64_t x = hash_bytes(HASH_START, name, strlen(name)) + (uint64_t)(i + 1) * UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

float formula_value(const char *name, int64_t i)
{
    return ((float)(formula_word(name, i) >> 57) - 64) / 64;
}

struct tensor *formula_tensor(struct test_step *s, const char *name, int64_t rows, int64_t cols, bool param)
{
    float *x = xmalloc((size_t)(rows * cols) * sizeof *x);

    for (int64_t i = 0; i < rows * cols; i++)
        x[i] = formula_value(name, i);
    struct tensor *t = test_input(s, x, rows, cols, param);
    free(x);
    return t;
}

float *gold_numbers(const struct safetensors *s, const char *name, int64_t n)
{
    const struct safetensors_entry *e = safetensors_find(s, name);
    struct error err;

    if (!e || e->size != n)
        fail_msg("%s: %s: expected %lld numbers", s->path, name, (long long)n);
    float *x = xmalloc((size_t)n * sizeof *x);
    assert_int_equal(safetensors_read_f32(s, e, x, 0, n, &err), 0);
    return x;
}

float *tensor_floats(struct device *d, const struct tensor *t)
{
    int64_t n = tensor_size(t);
    float *out = xmalloc((size_t)n * sizeof *out);

    if (t->dtype == F32) {
        device_download(d, out, t);
        return out;
    }
    uint16_t *half = xmalloc((size_t)n * sizeof *half);
    device_download(d, half, t);
    for (int64_t i = 0; i < n; i++)
        out[i] = f32_from_bf16(half[i]);
    free(half);
    return out;
}

double largest(const float *x, int64_t n)
{
    double most = 0;

    for (int64_t i = 0; i < n; i++)
        if (fabs((double)x[i]) > most || isnan(x[i]))
            most = fabs((double)x[i]);
    return most;
}

double largest_difference(const float *a, const float *b, int64_t n)
{
    double most = 0;

    for (int64_t i = 0; i < n; i++) {
        double difference = fabs((double)a[i] - (double)b[i]);
        if (difference > most || isnan(difference))
            most = difference;
    }
    return most;
}

static void digest(float out[DIGEST], const char *name, const float *x, int64_t n)
{
    char key[256];
    double square = 0;

    for (int64_t i = 0; i < n; i++)
        square += (double)x[i] * (double)x[i];
    out[0] = (float)sqrt(square);
    for (int k = 0; k < PROJECTIONS; k++) {
        double sum = 0;
        snprintf(key, sizeof key, "%s %d", name, k);
        for (int64_t i = 0; i < n; i++)
            sum += formula_word(key, i) >> 63 ? -(double)x[i] : (double)x[i];
        out[1 + k] = (float)sum;
    }
    snprintf(key, sizeof key, "%s samples", name);
    for (int i = 0; i < SAMPLES; i++)
        out[1 + PROJECTIONS + i] = x[formula_word(key, i) % (uint64_t)n];
}

/* An error's product with a sign vector is about as large as the error's norm. */
double gold_error(const struct safetensors *s, const char *key, const char *name, struct device *d,
                  const struct tensor *t)
{
    int64_t n = tensor_size(t);
    float got[DIGEST], *x = tensor_floats(d, t), *want = gold_numbers(s, key, DIGEST);
    double norm = (double)want[0], scale = fmax(largest(want + 1 + PROJECTIONS, SAMPLES), norm / sqrt((double)n));

    digest(got, name, x, n);
    double products = largest_difference(got, want, 1 + PROJECTIONS) / norm;
    double samples = largest_difference(got + 1 + PROJECTIONS, want + 1 + PROJECTIONS, SAMPLES) / scale;
    free(x);
    free(want);
    return isnan(products) || products > samples ? products : samples;
}
