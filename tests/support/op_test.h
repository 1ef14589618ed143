/*
 * op_test.h - tests one op against an f64 formula, on every device, in every type, at difficult sizes.
 *
 * To test an op, write three short functions and one row of the table in tests/kernels/test_ops.c:
 *   setup      declares the inputs for t->rows and t->cols (op_matrix, op_param, op_vector, op_ints, ...)
 *   run        calls the op on t->x[0], t->x[1], ... and returns its output
 *   reference  is the forward alone, in plain loops in double; central differences give its gradients
 *
 * The framework then checks each size, variant, type and device:
 *   - The output and every gradient agree with the reference on the same rounded inputs.
 *   - A parameter's gradient is added to, and two uses of an input add up.
 *   - An input that wants no gradient gets none, and without any gradient no record is left.
 *   - A second run gives the same bits (on the cpu with another number of threads, on simt from another seed).
 *   - A checkpointed block gives the same numbers as a plain one.
 *   - The dry run predicts the peak of memory, and no byte after any block is written.
 *
 * A part of this is left to the night, which saves minutes.  On the cpu, variants after the first run the largest size
 * in one type, and variants after the fourth all sizes.  simt leaves out the largest size.  Variants after the first
 * run there in one type, at half of the sizes, once, and without the checks that do not depend on size.  With
 * AMBIT_TEST_ALL in the environment everything runs; scripts/test.sh --all sets it.
 *
 * Environment: AMBIT_OPS_CASE=N runs only case N, from 0, of those that the arguments select (-1: none); the number of
 * cases is printed at the end.  AMBIT_OPS_ONCE runs each case once, forward and backward, without a look at its
 * numbers, as sanitizers need.  AMBIT_OPS_BITS=FILE does the same and appends the bits of two runs of each case to the
 * file.  AMBIT_OPS_NEAREST prints how near each row came to its tolerances.
 *
 * Tolerances, relative to |wanted| + the root mean square of the whole tensor:
 *   f32    16 + 2 sqrt(n) units of 2^-24 for outputs, n the longest side of the inputs, and twice that for gradients,
 *          which pass two sums.  16 units are for functions good to 4e-7.  A sum of n random terms, one after the other
 *          as a processor may make it, has partial sums of sqrt(k) times a term's size.  Rounding adds an error of at
 *          most 1 / sqrt(3) units of each, in the root mean square.  Together they have a standard deviation of
 *          sqrt(n / 6) units of the sum's own root mean square: 2 sqrt(n) is five of them.  Several lanes err less.
 *   bf16   2 units of 2^-8 for outputs (their rounding, and that of one value on the way; 3 where there are two, as in
 *          op_row), 4 for gradients
 */
#ifndef TESTS_OP_TEST_H
#define TESTS_OP_TEST_H

#include "kernels/batch.h"
#include "kernels/kernels.h"

enum { OP_INPUTS_MAX = 6, OP_INTS_MAX = 4 };

struct op_input {
    int ndim;
    int64_t shape[2];
    bool f32;      /* F32 even when the compute type is BF16 */
    bool param;    /* its gradient is F32 and added to */
    bool constant; /* wants no gradient */
    int64_t n;
    double *value; /* exactly the numbers on the device */
};

struct op_test {
    const struct op_row *row;
    int64_t rows, cols;
    enum dtype dtype;
    int variant; /* 0 .. row->variants - 1: which activation, which operand is transposed, ... */
    struct op_input in[OP_INPUTS_MAX];
    int n_in;
    int32_t *ints[OP_INTS_MAX]; /* lengths, ids, edges: whatever run and reference agree on */
    int64_t n_ints[OP_INTS_MAX];
    int n_int_arrays;
    struct tensor *x[OP_INPUTS_MAX]; /* for run */
    int32_t rng[4];                  /* for references of random ops: the content of ctx->rng, */
    uint32_t site;                   /* and the site of the op's first draw */
    uint64_t draws;
};

struct op_row {
    const char *name;
    void (*setup)(struct op_test *t);
    struct tensor *(*run)(struct ctx *c, struct op_test *t);
    /* y is zeroed and has the size of the output; x[i] are the values of input i */
    void (*reference)(const struct op_test *t, double *const *x, double *y);
    /* The sums that a bounded function of the op ends, as the reference has them: errors are relative to their root
     * mean square, which the bounded output hides.  NULL: the output's own counts. */
    void (*sums)(const struct op_test *t, double *const *x, double *y);
    int variants;    /* at least 1 */
    bool same_twice; /* inputs 0 and 1 have one shape and may be one tensor */
    bool f32_only;
    bool rounded_twice; /* the output is made of two values that are rounded themselves */
};

/* For setup.  Values are uniform in [-scale, scale]; scale 0 means 1. */
void op_matrix(struct op_test *t, int64_t rows, int64_t cols, double scale);
/* A parameter of the compute type, and one that is F32 always. */
void op_param(struct op_test *t, int64_t rows, int64_t cols, double scale);
void op_vector(struct op_test *t, int64_t n, double scale);
/* F32 data that is not a parameter: [n] when cols is 0, else [n, cols]. */
void op_f32(struct op_test *t, int64_t n, int64_t cols, double scale);
/* The last declared input wants no gradient. */
void op_constant(struct op_test *t);
/* n integers, uniform in [low, high); the array may be written to before setup returns. */
int32_t *op_ints(struct op_test *t, int64_t n, int32_t low, int32_t high);
/* Lengths of sequences that add up to `total` rows: some empty, some single, none above `longest`.  With many rows,
 * some lengths lie around the edges of tiles. */
int32_t *op_lengths(struct op_test *t, int64_t total, int64_t longest);
/* Uniform in [0, 1), the same on every run. */
double op_uniform(struct op_test *t);
/* x as a tensor of the type holds it. */
double op_rounded(double x, enum dtype dtype);

/* Runs the whole programme for one row on one device, in one type or (NULL) in both; a failure ends the cmocka test
 * with a message. */
void op_check(const struct op_row *row, struct device *d, const char *type);
/* Cases that op_check has come by, those that AMBIT_OPS_CASE left out among them. */
extern long op_cases;

/* The main of a table, "PROGRAM [DEVICE [OP [TYPE]]]": without arguments every row on every device that opens. */
int op_main(const struct op_row *rows, int n, int argc, char **argv);

#endif
