/* The ops of the language model.  tests/support/op_test.h describes the checks. */
#include "tests/support/op_test.h"

#include "kernels/rng.h"
#include "tests/support/reference.h"
#include "tests/support/support.h"

#include <math.h>
#include <string.h>

/* Variant 1 of the ops that work on heads: three of them, each of whole vectors. */
static int64_t heads_of(const struct op_test *t)
{
    return t->variant ? 3 : 1;
}

static int64_t size_of(const struct op_test *t)
{
    return t->variant ? t->cols / 8 * 8 + 8 : t->cols;
}

/* Large enough that the gradient of one column is more than roundoff. */
#define RMS_EPS 0.25f

static void rms_norm_setup(struct op_test *t)
{
    op_matrix(t, t->rows, heads_of(t) * size_of(t), 2);
    op_vector(t, size_of(t), 1);
}

static struct tensor *run_rms_norm(struct ctx *c, struct op_test *t)
{
    return op_rms_norm(c, t->x[0], t->x[1], RMS_EPS);
}

static void rms_norm(const struct op_test *t, double *const *x, double *y)
{
    int64_t n = size_of(t);

    for (int64_t g = 0; g < t->rows * heads_of(t); g++) {
        double square = 0;
        for (int64_t j = 0; j < n; j++)
            square += pow(x[0][g * n + j], 2) / (double)n;
        for (int64_t j = 0; j < n; j++)
            y[g * n + j] = x[0][g * n + j] / sqrt(square + RMS_EPS) * x[1][j];
    }
}

enum { MAX_POSITION = 131072 };

/* Half as many frequencies as a head has columns; the last input. */
static void angles_setup(struct op_test *t)
{
    op_f32(t, size_of(t), 0, 1);
    op_constant(t);
    op_ints(t, t->rows, 0, MAX_POSITION);
}

static struct tensor *run_angles(struct ctx *c, struct op_test *t)
{
    return op_rope_angles(c, batch_i32(c, t->ints[0], t->rows), t->x[t->n_in - 1]);
}

/* The product is f32 by contract. */
static double angle_of(const struct op_test *t, const double *freqs, int64_t row, int64_t j)
{
    return (double)((float)t->ints[0][row] * (float)freqs[j]);
}

static void rope_angles(const struct op_test *t, double *const *x, double *y)
{
    int64_t n = size_of(t);

    for (int64_t r = 0; r < t->rows; r++)
        for (int64_t j = 0; j < n; j++) {
            y[2 * r * n + j] = cos(angle_of(t, x[0], r, j));
            y[2 * r * n + n + j] = sin(angle_of(t, x[0], r, j));
        }
}

static void rope_setup(struct op_test *t)
{
    op_matrix(t, t->rows, 2 * heads_of(t) * size_of(t), 2);
    angles_setup(t);
}

static struct tensor *run_rope(struct ctx *c, struct op_test *t)
{
    return op_rope(c, t->x[0], run_angles(c, t));
}

static void rope(const struct op_test *t, double *const *x, double *y)
{
    int64_t n = size_of(t), heads = heads_of(t);

    for (int64_t h = 0; h < t->rows * heads; h++)
        for (int64_t j = 0; j < n; j++) {
            double angle = angle_of(t, x[1], h / heads, j), a = x[0][2 * h * n + j], b = x[0][2 * h * n + n + j];
            y[2 * h * n + j] = a * cos(angle) - b * sin(angle);
            y[2 * h * n + n + j] = b * cos(angle) + a * sin(angle);
        }
}

static void glu_setup(struct op_test *t)
{
    op_matrix(t, t->rows, t->cols, 6);
    op_matrix(t, t->rows, t->cols, 6);
}

static struct tensor *run_glu(struct ctx *c, struct op_test *t)
{
    return op_glu(c, t->x[0], t->x[1], (enum gate)t->variant);
}

static double gelu(double x)
{
    return 0.5 * x * (1 + tanh(sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x)));
}

/* By the variant, an enum gate. */
static double gated(int variant, double x)
{
    return variant == GATE_SILU ? x / (1 + exp(-x)) : variant == GATE_GELU ? gelu(x) : 0.5 * x * (1 + erf(x / sqrt(2)));
}

static void glu(const struct op_test *t, double *const *x, double *y)
{
    for (int64_t i = 0; i < t->in[0].n; i++)
        y[i] = gated(t->variant, x[0][i]) * x[1][i];
}

#define RESIDUAL_DROPOUT 0.3f

/* Variant 1: with dropout. */
static void residual_setup(struct op_test *t)
{
    int64_t outputs = t->rows % 2 ? 37 : 16;

    op_f32(t, t->rows, outputs, 1);
    op_matrix(t, t->rows, t->cols, 1);
    op_param(t, outputs, t->cols, t->cols < 16 ? 2 : 32.0 / (double)t->cols);
}

static struct tensor *run_residual(struct ctx *c, struct op_test *t)
{
    return op_linear_residual(c, t->x[0], t->x[1], t->x[2], t->variant ? RESIDUAL_DROPOUT : 0);
}

static void residual(const struct op_test *t, double *const *x, double *y)
{
    int64_t outputs = t->in[2].shape[0];

    reference_matmul(y, x[1], false, x[2], true, t->rows, outputs, t->cols);
    for (int64_t i = 0; i < t->rows * outputs; i++)
        y[i] = x[0][i] +
               y[i] * (t->variant ? reference_keep(t->rng, t->site, i / outputs, i % outputs, RESIDUAL_DROPOUT) : 1);
}

enum { NEFTUNE_LENGTHS = 40 };
#define NEFTUNE_ALPHA 5.0f

static void neftune_setup(struct op_test *t)
{
    op_matrix(t, t->rows, t->cols, 1);
    op_lengths(t, t->rows, NEFTUNE_LENGTHS);
}

/* Nothing is drawn, and nothing copied, where no noise is wanted. */
static struct tensor *run_neftune(struct ctx *c, struct op_test *t)
{
    struct seqs s = batch_seqs(c, t->ints[0], t->n_ints[0]);
    uint32_t site = c->site;

    c->training = false;
    assert_ptr_equal(op_neftune(c, t->x[0], &s, NEFTUNE_ALPHA), t->x[0]);
    c->training = true;
    assert_ptr_equal(op_neftune(c, t->x[0], &s, 0), t->x[0]);
    assert_int_equal(c->site, site);
    return op_neftune(c, t->x[0], &s, NEFTUNE_ALPHA);
}

static void neftune(const struct op_test *t, double *const *x, double *y)
{
    int64_t r = 0, n = t->cols;

    for (int64_t s = 0; s < t->n_ints[0]; s++)
        for (int32_t k = 0; k < t->ints[0][s]; k++, r++)
            for (int64_t j = 0; j < n; j++) {
                struct philox word = rng_quad(t->rng, t->site, (uint32_t)r, (uint32_t)(j / 4));
                double u = (double)(word.v[j % 4] >> 8) * 0x1p-23 - 1;
                y[r * n + j] = x[0][r * n + j] + u * (double)NEFTUNE_ALPHA / sqrt((double)t->ints[0][s] * (double)n);
            }
}

static int64_t argmax_cols(const struct op_test *t)
{
    return t->cols > 1000 ? 9 * t->cols : t->cols; /* more than a block takes at once */
}

/* Few different numbers, so that the largest occurs several times.  Variant 1: some are NaN, and some rows have nothing
 * above -infinity.  The result gathers rows of a table, since a test's outputs are not integers. */
static void argmax_setup(struct op_test *t)
{
    int64_t cols = argmax_cols(t);

    op_matrix(t, t->rows, cols, 4);
    op_constant(t);
    for (int64_t i = 0; i < t->in[0].n; i++) {
        double *v = &t->in[0].value[i];
        *v = nearbyint(4 * *v) / 4;
        if (t->variant && i % 3 == 0)
            *v = NAN;
        else if (t->variant && i / cols % 4 == 1)
            *v = -INFINITY;
    }
    if (cols > t->cols)
        t->in[0].value[t->in[0].n - 1] = 5;
    op_matrix(t, cols, 5, 1);
    op_constant(t);
}

static struct tensor *run_argmax(struct ctx *c, struct op_test *t)
{
    struct index i = { .ids = op_argmax(c, t->x[0]), .n = t->rows };
    return op_gather(c, t->x[1], &i);
}

static void argmax(const struct op_test *t, double *const *x, double *y)
{
    int64_t cols = argmax_cols(t);

    for (int64_t r = 0; r < t->rows; r++) {
        double most = -INFINITY;
        int64_t at = 0;
        for (int64_t j = 0; j < cols; j++)
            if (x[0][r * cols + j] > most)
                most = x[0][r * cols + (at = j)];
        memcpy(y + 5 * r, x[1] + 5 * at, 5 * sizeof *y);
    }
}

static void sum_setup(struct op_test *t)
{
    op_f32(t, t->rows, t->cols, 1);
}

static struct tensor *run_sum(struct ctx *c, struct op_test *t)
{
    return op_sum(c, t->x[0], batch_f32(c, &(float){ -0.375f }, 1, 1, F32));
}

static void sum(const struct op_test *t, double *const *x, double *y)
{
    for (int64_t i = 0; i < t->in[0].n; i++)
        *y -= 0.375 * x[0][i];
}

static const struct op_row rows[] = {
    { "rms_norm", rms_norm_setup, run_rms_norm, rms_norm, .variants = 2 },
    { "rope_angles", angles_setup, run_angles, rope_angles, .variants = 2, .f32_only = true },
    { "rope", rope_setup, run_rope, rope, .variants = 2 },
    { "glu", glu_setup, run_glu, glu, .variants = 3, .same_twice = true },
    { "linear_residual", residual_setup, run_residual, residual, .variants = 2 },
    { "neftune", neftune_setup, run_neftune, neftune, .variants = 1 },
    { "argmax", argmax_setup, run_argmax, argmax, .variants = 2 },
    { "sum", sum_setup, run_sum, sum, .variants = 1, .f32_only = true },
};

int main(int argc, char **argv)
{
    return op_main(rows, ARRAY_LEN(rows), argc, argv);
}
