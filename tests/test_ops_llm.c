/* The ops of the language model; what is checked of each is told in tests/support/op_test.h. */
#include "tests/support/op_test.h"

#include "tests/support/support.h"

#include <math.h>

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

static void swiglu_setup(struct op_test *t)
{
    op_matrix(t, t->rows, t->cols, 6);
    op_matrix(t, t->rows, t->cols, 6);
}

static struct tensor *run_swiglu(struct ctx *c, struct op_test *t)
{
    return op_swiglu(c, t->x[0], t->x[1]);
}

static void swiglu(const struct op_test *t, double *const *x, double *y)
{
    for (int64_t i = 0; i < t->in[0].n; i++)
        y[i] = x[0][i] / (1 + exp(-x[0][i])) * x[1][i];
}

static const struct op_row rows[] = {
    { "rms_norm", rms_norm_setup, run_rms_norm, rms_norm, .variants = 2 },
    { "rope_angles", angles_setup, run_angles, rope_angles, .variants = 2, .f32_only = true },
    { "rope", rope_setup, run_rope, rope, .variants = 2 },
    { "swiglu", swiglu_setup, run_swiglu, swiglu, .variants = 1, .same_twice = true },
};

int main(int argc, char **argv)
{
    return op_main(rows, ARRAY_LEN(rows), argc, argv);
}
