/* The table of the ops of low-rank adapters (checks: tests/support/op_test.h), and the independence of results from the
 * chunks of a long head. */
#include "tests/support/op_test.h"

#include "kernels/device.h"
#include "tests/support/reference.h"
#include "tests/support/support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SCALE 0.75f
#define DROPOUT 0.3f

/* Where the adapter's matrices are among the inputs, if there is one; and its drop rate. */
struct adapted {
    int a, b;
    float p;
};

static double matrix_scale(int64_t inner)
{
    return inner < 16 ? 2 : 32.0 / (double)inner;
}

/* The adapter's part is about half as large as the rest of the sum. */
static void adapter_setup(struct op_test *t, int64_t outputs, int64_t rank)
{
    op_param(t, rank, t->cols, matrix_scale(t->cols));
    op_param(t, outputs, rank, 0.5);
}

/* y += x w^T + SCALE (dropout(x) A^T) B^T; x[0] is x and x[1] is w */
static void adapted_product(const struct op_test *t, struct adapted l, double *const *x, double *y)
{
    int64_t rows = t->rows, cols = t->cols, outputs = t->in[1].shape[0];

    reference_matmul(y, x[0], false, x[1], true, rows, outputs, cols);
    if (!l.a)
        return;
    int64_t rank = t->in[l.a].shape[0];
    double *h = xcalloc((size_t)(rows * rank), sizeof *h), *in = xmalloc((size_t)(rows * cols) * sizeof *in);
    for (int64_t i = 0; i < rows * cols; i++)
        in[i] = x[0][i] * (double)SCALE * (l.p > 0 ? reference_keep(t->rng, t->site, i / cols, i % cols, l.p) : 1);
    reference_matmul(h, in, false, x[l.a], true, rows, rank, cols);
    reference_matmul(y, h, false, x[l.b], true, rows, outputs, rank);
    free(h);
    free(in);
}

static struct lora adapter_of(const struct op_test *t, struct adapted l)
{
    return (struct lora){ .a = l.a ? t->x[l.a] : NULL, .b = l.a ? t->x[l.b] : NULL, .scale = SCALE, .dropout = l.p };
}

/* As a language model has it; with bias and everything trained; with dropout; a frozen adapter; none. */
enum { LORA_FROZEN_W, LORA_ALL, LORA_DROPOUT, LORA_BIAS_DROPOUT, LORA_APPLIED, LORA_NONE, LORA_VARIANTS };

static bool lora_has_bias(const struct op_test *t)
{
    return t->variant == LORA_ALL || t->variant == LORA_BIAS_DROPOUT || t->variant == LORA_NONE;
}

static struct adapted lora_adapted(const struct op_test *t)
{
    int a = t->variant == LORA_NONE ? 0 : lora_has_bias(t) ? 3 : 2;

    return (struct adapted){ a, a + 1, t->variant == LORA_DROPOUT || t->variant == LORA_BIAS_DROPOUT ? DROPOUT : 0 };
}

static void lora_setup(struct op_test *t)
{
    /* 256 are a CUDA block; one more than whole warps, strips and packs have, and seven more */
    int64_t outputs = t->cols == 1 ? 321 : t->rows % 2 ? 39 : 16;

    op_matrix(t, t->rows, t->cols, 1);
    op_param(t, outputs, t->cols, matrix_scale(t->cols));
    if (t->variant != LORA_ALL && t->variant != LORA_NONE)
        op_constant(t);
    if (lora_has_bias(t))
        op_vector(t, outputs, 1);
    if (t->variant == LORA_NONE)
        return;
    adapter_setup(t, outputs, t->cols == 1 ? 35 : t->rows % 2 ? 5 : 16);
    t->in[2].constant = t->in[3].constant = t->variant == LORA_APPLIED;
}

static struct tensor *run_lora(struct ctx *c, struct op_test *t)
{
    struct lora l = adapter_of(t, lora_adapted(t));

    t->x[1]->frozen = t->in[1].constant;
    return op_lora_linear(c, t->x[0], t->x[1], lora_has_bias(t) ? t->x[2] : NULL, t->variant == LORA_NONE ? NULL : &l);
}

static void lora(const struct op_test *t, double *const *x, double *y)
{
    int64_t outputs = t->in[1].shape[0];

    for (int64_t i = 0; i < t->rows * outputs && lora_has_bias(t); i++)
        y[i] = x[2][i % outputs];
    adapted_product(t, lora_adapted(t), x, y);
}

/* The same beside a sum, which is the last input. */
static void residual_setup(struct op_test *t)
{
    lora_setup(t);
    op_matrix(t, t->rows, t->in[1].shape[0], 1);
}

static struct tensor *run_residual(struct ctx *c, struct op_test *t)
{
    struct lora l = adapter_of(t, lora_adapted(t));

    t->x[1]->frozen = t->in[1].constant;
    return op_lora_residual(c, t->x[t->n_in - 1], t->x[0], t->x[1], lora_has_bias(t) ? t->x[2] : NULL,
                            t->variant == LORA_NONE ? NULL : &l);
}

static void residual(const struct op_test *t, double *const *x, double *y)
{
    int64_t n = t->rows * t->in[1].shape[0];

    lora(t, x, y);
    for (int64_t i = 0; i < n; i++)
        y[i] += x[t->n_in - 1][i];
}

/* A head with an adapter; the same with dropout; the head itself trained; both; both and capped. */
enum { NLL_LORA, NLL_DROPOUT, NLL_HEAD, NLL_BOTH, NLL_CAPPED, NLL_VARIANTS };

/* 0: none */
static float nll_cap(const struct op_test *t)
{
    return t->variant == NLL_CAPPED ? 1.5f : 0;
}

static struct adapted nll_adapted(const struct op_test *t)
{
    return (struct adapted){ t->variant == NLL_HEAD ? 0 : 2, 3, t->variant == NLL_DROPOUT ? DROPOUT : 0 };
}

static void nll_setup(struct op_test *t)
{
    int64_t classes = t->cols == 1 ? 4097 : t->rows % 2 ? 37 : 16; /* 4096 are one turn of the CUDA block */

    op_matrix(t, t->rows, t->cols, 1);
    op_param(t, classes, t->cols, matrix_scale(t->cols));
    if (t->variant == NLL_LORA || t->variant == NLL_DROPOUT)
        op_constant(t);
    if (t->variant != NLL_HEAD)
        adapter_setup(t, classes, 5);
    int32_t *target = op_ints(t, t->rows, 0, (int32_t)classes);
    for (int64_t r = 2; r < t->rows; r += 5)
        target[r] = -1 - target[r];
}

static struct tensor *run_nll(struct ctx *c, struct op_test *t)
{
    struct lora l = adapter_of(t, nll_adapted(t));

    t->x[1]->frozen = t->in[1].constant;
    return op_linear_nll(c, t->x[0], t->x[1], &l, batch_i32(c, t->ints[0], t->rows), nll_cap(t));
}

static void nll(const struct op_test *t, double *const *x, double *y)
{
    int64_t classes = t->in[1].shape[0];
    double *z = xcalloc((size_t)(t->rows * classes), sizeof *z);

    adapted_product(t, nll_adapted(t), x, z);
    for (int64_t i = 0; i < t->rows * classes && t->variant == NLL_CAPPED; i++)
        z[i] = (double)nll_cap(t) * tanh(z[i] / (double)nll_cap(t));
    for (int64_t r = 0; r < t->rows; r++) {
        const double *row = z + r * classes;
        double most = row[0], sum = 0;
        for (int64_t j = 0; j < classes; j++)
            most = fmax(most, row[j]);
        for (int64_t j = 0; j < classes; j++)
            sum += exp(row[j] - most);
        y[r] = t->ints[0][r] < 0 ? 0 : most - row[t->ints[0][r]] + log(sum);
    }
    free(z);
}

/* Three maps of one x, the matrices of each type stacked, and the sum of their outputs.  Variants: all maps have
 * adapters; maps have biases, and the middle one no adapter.  The second and third are smaller, so that the
 * roundings of their outputs add little to that of y. */
enum { STACK_X, STACK_W, STACK_A, STACK_B, STACK_BIAS, STACK_MAPS = 3, STACK_N = 16, STACK_RANK = 5 };
enum { STACK_ALL, STACK_SOME, STACK_VARIANTS };

static bool stack_adapted(const struct op_test *t, int map)
{
    return t->variant == STACK_ALL || map != 1;
}

static int stack_adapters(const struct op_test *t)
{
    return t->variant == STACK_ALL ? STACK_MAPS : STACK_MAPS - 1;
}

static void shrink(struct op_test *t, int input)
{
    struct op_input *in = &t->in[input];
    int64_t row = in->n / in->shape[0];

    for (int64_t i = STACK_N * row; i < in->n; i++)
        in->value[i] /= 8;
}

static void stack_setup(struct op_test *t)
{
    op_matrix(t, t->rows, t->cols, 1);
    op_param(t, STACK_MAPS * STACK_N, t->cols, matrix_scale(t->cols));
    op_constant(t);
    op_param(t, stack_adapters(t) * STACK_RANK, t->cols, matrix_scale(t->cols));
    op_param(t, STACK_MAPS * STACK_N, STACK_RANK, 0.5);
    shrink(t, STACK_W);
    shrink(t, STACK_B);
    if (t->variant == STACK_SOME) {
        op_vector(t, STACK_MAPS * STACK_N, 1);
        shrink(t, STACK_BIAS);
    }
}

/* The map's matrices as slices of the inputs. */
static struct linear_map stack_map(struct ctx *c, const struct op_test *t, int map, int adapter)
{
    struct linear_map m = { .w = tensor_slice(c, t->x[STACK_W], map * STACK_N, STACK_N) };

    if (t->variant == STACK_SOME)
        m.b = tensor_slice(c, t->x[STACK_BIAS], map * STACK_N, STACK_N);
    if (stack_adapted(t, map))
        m.lora = (struct lora){ .a = tensor_slice(c, t->x[STACK_A], adapter * STACK_RANK, STACK_RANK),
                                .b = tensor_slice(c, t->x[STACK_B], map * STACK_N, STACK_N),
                                .scale = SCALE * (float)(1 + map) };
    return m;
}

static struct tensor *run_stack(struct ctx *c, struct op_test *t)
{
    struct linear_map maps[STACK_MAPS];
    struct tensor *made[STACK_MAPS], *y = NULL;

    for (int i = 0, adapter = 0; i < STACK_MAPS; i++) {
        maps[i] = stack_map(c, t, i, adapter);
        adapter += stack_adapted(t, i);
    }
    op_lora_group(c, made, t->x[STACK_X], (const struct linear_map *const[]){ &maps[2], &maps[0], &maps[1] },
                  STACK_MAPS, 0);
    for (int i = 0; i < STACK_MAPS; i++)
        y = y ? op_add(c, y, made[(i + 1) % STACK_MAPS]) : made[1];
    return y;
}

static void stack(const struct op_test *t, double *const *x, double *y)
{
    int64_t rows = t->rows, cols = t->cols;
    double *h = xmalloc((size_t)(rows * STACK_RANK + 1) * sizeof *h);

    for (int i = 0, adapter = 0; i < STACK_MAPS; i++) {
        reference_matmul(y, x[STACK_X], false, x[STACK_W] + i * STACK_N * cols, true, rows, STACK_N, cols);
        for (int64_t k = 0; k < rows * STACK_N && t->variant == STACK_SOME; k++)
            y[k] += x[STACK_BIAS][i * STACK_N + k % STACK_N];
        if (!stack_adapted(t, i))
            continue;
        memset(h, 0, (size_t)(rows * STACK_RANK) * sizeof *h);
        const double *a = x[STACK_A] + adapter++ * STACK_RANK * cols;
        reference_matmul(h, x[STACK_X], false, a, true, rows, STACK_RANK, cols);
        for (int64_t k = 0; k < rows * STACK_RANK; k++)
            h[k] *= (double)SCALE * (1 + i);
        reference_matmul(y, h, false, x[STACK_B] + i * STACK_N * STACK_RANK, true, rows, STACK_N, STACK_RANK);
    }
    free(h);
}

/* The product with a map's own weights is rounded before the adapter's part is added, and so is the adapter's input. */
static const struct op_row rows[] = {
    { "lora_group", stack_setup, run_stack, stack, .variants = STACK_VARIANTS, .rounded_twice = true },
    { "lora_linear", lora_setup, run_lora, lora, .variants = LORA_VARIANTS, .rounded_twice = true },
    { "lora_residual", residual_setup, run_residual, residual, .variants = LORA_VARIANTS, .rounded_twice = true },
    { "linear_nll", nll_setup, run_nll, nll, .variants = NLL_VARIANTS },
};

int main(int argc, char **argv)
{
    return op_main(rows, ARRAY_LEN(rows), argc, argv);
}
