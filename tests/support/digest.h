/*
 * digest.h - numbers that a gold script and a test both compute from names and positions, and digests of large arrays:
 * norm, products with sign vectors, samples.  tests/gold/formula.py is the other side of this.
 */
#ifndef TESTS_DIGEST_H
#define TESTS_DIGEST_H

#include "kernels/device.h"
#include "models/io/safetensors.h"
#include "tests/support/step.h"
#include "tests/support/support.h"

enum { PROJECTIONS = 4, SAMPLES = 24, DIGEST = 1 + PROJECTIONS + SAMPLES };

uint64_t formula_word(const char *name, int64_t i);
/* A multiple of 1/64 in [-1, 1): the same in every type. */
float formula_value(const char *name, int64_t i);
/* An F32 tensor of them that wants a gradient. */
struct tensor *formula_tensor(struct test_step *s, const char *name, int64_t rows, int64_t cols, bool param);

/* n numbers of the gold file, the caller frees. */
float *gold_numbers(const struct safetensors *s, const char *name, int64_t n);
/* Returns the difference of a tensor from the file's digest `key`, whose formulas are those of `name`.  It is relative
 * to the norm (for products) and to the largest sample. */
double gold_error(const struct safetensors *s, const char *key, const char *name, struct device *d,
                  const struct tensor *t);

/* The numbers of an F32 or BF16 tensor; the caller frees. */
float *tensor_floats(struct device *d, const struct tensor *t);
/* Largest magnitude, and largest difference of two arrays; NAN where a number is none. */
double largest(const float *x, int64_t n);
double largest_difference(const float *a, const float *b, int64_t n);

#endif
