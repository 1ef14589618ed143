/*
 * op_reference.h - an op's f64 formula on the inputs of a case, and its gradients by central differences.
 *
 * Most of a test's time goes into these gradients.  They are the same on every device, so those of a case are kept,
 * and the devices after the first take them from there.  Each input, type and mode draws elements and directions of its
 * own, so that all of them together look at many.
 */
#ifndef TESTS_OP_REFERENCE_H
#define TESTS_OP_REFERENCE_H

#include "tests/support/op_run.h"

struct reference {
    const struct mode *mode;
    int64_t n;
    uint32_t sites;
    enum dtype dtype; /* of the output */
    double *x[OP_INPUTS_MAX];
    double *y, *use, *entering; /* entering: the gradient, of the output */
};

/* For inputs in the mode, of an output of out's form; end with reference_release. */
struct reference reference_new(struct op_test *t, const struct mode *mode, const struct outcome *out);
void reference_release(struct reference *r);
/* r->y is the output. */
void reference_forward(struct op_test *t, struct reference *r);

/* Single elements of an input with at most SLOPES_LARGE elements, and of a larger one; directions.  Each costs two
 * evaluations of the reference. */
enum { SLOPES_SINGLE = 6, SLOPES_SINGLE_LARGE = 2, SLOPES_LARGE = 20000, SLOPES_ALONG = 2 };

/* Slopes of one input: by single elements, and along random signs, which depend on every element. */
struct slopes {
    int n;
    int64_t at[SLOPES_SINGLE];
    double want[SLOPES_SINGLE], along[SLOPES_ALONG], noise;
    double rms;     /* of the whole gradient, as far as these tell */
    uint64_t signs; /* t->draws before the signs of the first direction */
};

/* Kept until the program ends. */
const struct slopes *slopes_of(struct op_test *t, struct reference *r, int input);
/* The next n signs are drawn. */
void slopes_signs(struct op_test *t, double *sign, int64_t n);

#endif
