/* Inputs of an op under test: the declarations for the setup of a row. */
#include "tests/support/op_test.h"

#include "kernels/rng.h"
#include "tests/support/support.h"

#include <string.h>

double op_uniform(struct op_test *t)
{
    struct philox counter = { { (uint32_t)t->draws++, (uint32_t)t->rows, (uint32_t)t->cols, (uint32_t)t->variant } };
    return (double)philox_block(counter, 1, 2).v[0] * 0x1p-32;
}

double op_rounded(double x, enum dtype dtype)
{
    return dtype == BF16 ? (double)f32_from_bf16(bf16_from_f32((float)x)) : (double)(float)x;
}

static struct op_input *add_input(struct op_test *t, int ndim, int64_t rows, int64_t cols, bool f32, double scale)
{
    assert_true(t->n_in < OP_INPUTS_MAX);
    struct op_input *in = &t->in[t->n_in++];

    *in = (struct op_input){ .ndim = ndim, .shape = { rows, cols }, .f32 = f32, .n = ndim == 1 ? rows : rows * cols };
    in->value = xmalloc((size_t)in->n * sizeof *in->value);
    for (int64_t i = 0; i < in->n; i++)
        in->value[i] = op_rounded((2 * op_uniform(t) - 1) * (scale > 0 ? scale : 1), f32 ? F32 : t->dtype);
    return in;
}

void op_matrix(struct op_test *t, int64_t rows, int64_t cols, double scale)
{
    add_input(t, 2, rows, cols, false, scale);
}

void op_param(struct op_test *t, int64_t rows, int64_t cols, double scale)
{
    add_input(t, 2, rows, cols, false, scale)->param = true;
}

void op_vector(struct op_test *t, int64_t n, double scale)
{
    add_input(t, 1, n, 1, true, scale)->param = true;
}

void op_f32(struct op_test *t, int64_t n, int64_t cols, double scale)
{
    add_input(t, cols ? 2 : 1, n, cols, true, scale);
}

void op_constant(struct op_test *t)
{
    t->in[t->n_in - 1].constant = true;
}

int32_t *op_ints(struct op_test *t, int64_t n, int32_t low, int32_t high)
{
    assert_true(t->n_int_arrays < OP_INTS_MAX);
    int32_t *out = xmalloc((size_t)n * sizeof *out);

    for (int64_t i = 0; i < n; i++)
        out[i] = low + (int32_t)(op_uniform(t) * (high - low));
    t->n_ints[t->n_int_arrays] = n;
    return t->ints[t->n_int_arrays++] = out;
}

int32_t *op_lengths(struct op_test *t, int64_t total, int64_t longest)
{
    static const int32_t edges[] = { 63, 64, 65 }; /* of tiles */
    int32_t *lengths = op_ints(t, total + 2, 0, (int32_t)longest + 1);
    int64_t n = 0, left = total;

    if (total > 1000 && longest > 65)
        memcpy(lengths + 2, edges, sizeof edges);

    lengths[n++] = 0; /* an empty one first, and one more wherever the draw says so */
    for (; left > 0 && n < total + 1; n++) {
        if (n % 4 == 1)
            lengths[n] = 1;
        if (lengths[n] > left || n == total)
            lengths[n] = (int32_t)left;
        left -= lengths[n];
    }
    assert_int_equal(left, 0);
    t->n_ints[t->n_int_arrays - 1] = n;
    return lengths;
}
