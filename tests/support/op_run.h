/*
 * op_run.h - one run of an op on a device: inputs placed, output and gradients brought back, guards and peak checked.
 */
#ifndef TESTS_OP_RUN_H
#define TESTS_OP_RUN_H

#include "tests/support/op_test.h"

/* How an op is run. */
struct mode {
    unsigned wants;             /* bit i: input i wants a gradient */
    bool same;                  /* input 1 is the tensor of input 0 */
    int uses;                   /* 2: y = op(x) + op(x) */
    const struct outcome *base; /* of an earlier run: y = a tensor of that form + op(x), in a block */
    bool checkpointed;          /* the block's records are made in the backward */
};

/* The results of a run, on the host. */
struct outcome {
    bool recorded;
    uint32_t sites; /* draws of one use */
    int64_t n;
    struct tensor form;              /* shape and type of the output */
    double *y, *grad[OP_INPUTS_MAX]; /* grad[i] NULL: there is none */
    uint64_t bits;                   /* of all of them, as the device wrote them */
};

/* Fails when a byte beyond a block was written, or the dry run foretold another peak.  End with outcome_release. */
struct outcome op_run(struct device *d, struct op_test *t, const struct mode *mode);
void outcome_release(struct outcome *o);
/* The gradient that enters at element i of the output: the same for every run. */
double op_entering(int64_t i, enum dtype dtype);

#endif
