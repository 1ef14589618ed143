/* The ops of a tagger's grounding and losses, and the loss of sampled completions.  tests/support/op_test.h describes
 * the checks. */
#include "tests/support/op_test.h"

#include <math.h>

enum { ONE_MATRIX = 1, ALL_DIFFERENT }; /* variants of pair_dot: both ends in one matrix; no row in two pairs */

static int64_t ends(const struct op_test *t)
{
    return t->variant == ALL_DIFFERENT ? t->rows : t->rows / 2 + 1;
}

static void pair_dot_setup(struct op_test *t)
{
    op_matrix(t, ends(t), t->cols, 1);
    if (t->variant != ONE_MATRIX)
        op_matrix(t, ends(t) + 3, t->cols, 1);
    op_ints(t, t->rows, 0, (int32_t)ends(t));
    op_ints(t, t->rows, 0, (int32_t)ends(t));
    for (int64_t p = 0; t->variant == ALL_DIFFERENT && p < t->rows; p++) {
        t->ints[0][p] = (int32_t)p;
        t->ints[1][p] = (int32_t)(t->rows - 1 - p);
    }
}

static struct tensor *run_pair_dot(struct ctx *c, struct op_test *t)
{
    struct tensor *other = t->variant == ONE_MATRIX ? t->x[0] : t->x[1];
    struct index u = batch_index(c, t->ints[0], t->rows, tensor_rows(t->x[0]));
    struct index v = batch_index(c, t->ints[1], t->rows, tensor_rows(other));
    return op_pair_dot(c, t->x[0], &u, other, &v, 0.75f);
}

static void pair_dot(const struct op_test *t, double *const *x, double *y)
{
    for (int64_t p = 0; p < t->rows; p++) {
        const double *a = x[0] + t->ints[0][p] * t->cols,
                     *b = x[t->variant == ONE_MATRIX ? 0 : 1] + t->ints[1][p] * t->cols;
        for (int64_t j = 0; j < t->cols; j++)
            y[p] += 0.75 * a[j] * b[j];
    }
}

/* Variant 1: numbers whose exponentials overflow. */
static void segment_softmax_setup(struct op_test *t)
{
    op_f32(t, t->rows, 0, 3);
    for (int64_t i = 0; i < t->rows && t->variant; i++)
        t->in[0].value[i] = (float)(t->in[0].value[i] + 512);
    op_lengths(t, t->rows, 40);
}

static struct tensor *run_segment_softmax(struct ctx *c, struct op_test *t)
{
    struct seqs s = batch_seqs(c, t->ints[0], t->n_ints[0]);
    return op_segment_softmax(c, t->x[0], &s);
}

static void segment_softmax(const struct op_test *t, double *const *x, double *y)
{
    const double *in = x[0];

    for (int64_t s = 0; s < t->n_ints[0]; s++) {
        int32_t n = t->ints[0][s];
        double sum = 0;
        for (int32_t k = 0; k < n; k++)
            sum += exp(in[k] - 512 * t->variant);
        for (int32_t k = 0; k < n; k++)
            y[k] = exp(in[k] - 512 * t->variant) / sum;
        in += n;
        y += n;
    }
}

static const float LEAST = 0.0625f;

/* Variant 1: many probabilities lie outside the bounds, none within a step of one. */
static void probability_bce_setup(struct op_test *t)
{
    op_f32(t, t->rows, 0, 1);
    for (int64_t i = 0; i < t->rows; i++) {
        double *p = &t->in[0].value[i];
        *p = (float)(t->variant && i % 3 ? (i % 3 == 1 ? 0.03125 : 1) : 0.5 + 0.375 * *p);
    }
    op_f32(t, t->rows, 0, 1);
    op_constant(t);
    for (int64_t i = 0; i < t->rows; i++)
        t->in[1].value[i] = (double)(i % 5) / 4;
    op_f32(t, t->rows, 0, 1);
    op_constant(t);
}

static struct tensor *run_probability_bce(struct ctx *c, struct op_test *t)
{
    return op_probability_bce(c, t->x[0], t->x[1], t->x[2], LEAST);
}

static void probability_bce(const struct op_test *t, double *const *x, double *y)
{
    for (int64_t i = 0; i < t->rows; i++) {
        double q = fmin(fmax(x[0][i], LEAST), 1 - LEAST);
        y[0] -= x[2][i] * (x[1][i] * log(q) + (1 - x[1][i]) * log(1 - q));
    }
}

/* Logarithms of ratios lie within and beyond the bounds, none within a step of one.  Variant 1: with a divergence;
 * 2: both are far from the sample and from the start, where only the bounds keep numbers finite. */
static void policy_loss_setup(struct op_test *t)
{
    static const double moves[] = { -0.5, -0.125, 0, 0.125, 0.5 };

    op_f32(t, t->rows, 0, 1);
    for (int k = 0; k < 4; k++) {
        op_f32(t, t->rows, 0, 1);
        op_constant(t);
    }
    for (int64_t i = 0; i < t->rows; i++) {
        double nll = t->in[0].value[i] += 2;
        t->in[1].value[i] = (float)(-nll - (t->variant == 2 ? i % 2 ? 25 : -25 : moves[i % 5]));
        t->in[2].value[i] = (float)(nll - (t->variant == 2 ? i % 2 ? 22 : -22 : moves[i % 3]));
        t->in[4].value[i] = i % 7 ? fabs(t->in[4].value[i]) : 0;
    }
}

static struct tensor *run_policy_loss(struct ctx *c, struct op_test *t)
{
    struct policy policy = { .drawn = t->x[1],
                             .start = t->variant ? t->x[2] : NULL,
                             .advantage = t->x[3],
                             .weight = t->x[4],
                             .low = 0.25f,
                             .high = 0.375f,
                             .divergence = 0.0625f };
    return op_policy_loss(c, t->x[0], &policy);
}

static void policy_loss(const struct op_test *t, double *const *x, double *y)
{
    double most = (double)POLICY_LOG_MAX;

    for (int64_t i = 0; i < t->rows; i++) {
        double r = exp(fmax(fmin(-x[0][i] - x[1][i], most), -most)), a = x[3][i];
        double d = fmax(fmin(x[0][i] - x[2][i], most), -most);
        double surrogate = fmin(r * a, fmax(fmin(r, 1.375), 0.75) * a);
        y[i] = x[4][i] * ((t->variant ? 0.0625 * (exp(d) - d - 1) : 0) - surrogate);
    }
}

static const struct op_row rows[] = {
    { "pair_dot", pair_dot_setup, run_pair_dot, pair_dot, .variants = 3 },
    { "segment_softmax", segment_softmax_setup, run_segment_softmax, segment_softmax, .variants = 2, .f32_only = true },
    { "probability_bce", probability_bce_setup, run_probability_bce, probability_bce, .variants = 2, .f32_only = true },
    { "policy_loss", policy_loss_setup, run_policy_loss, policy_loss, .variants = 3, .f32_only = true },
};

int main(int argc, char **argv)
{
    return op_main(rows, ARRAY_LEN(rows), argc, argv);
}
