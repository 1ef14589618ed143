#include "kernels/cpu/gemm.h"
#include "kernels/cpu/row.h"
#include "kernels/device.h"

#include <stdlib.h>

/* A tensor in memory of the C library, which free_matrix gives back. */
static struct tensor matrix_new(enum dtype dtype, int64_t rows, int64_t cols)
{
    struct tensor t = { .dtype = dtype, .ndim = 2, .shape = { rows, cols } };

    t.data = floats_new(rows * cols);
    return t;
}

static void free_matrix(struct tensor *t)
{
    free(t->data);
}

static void multiply(struct ctx *c, struct destination y, const struct tensor *x, const struct linear_product *p)
{
    struct gemm g = { .m = x->shape[0],
                      .n = p->w->shape[0],
                      .k = p->w->shape[1],
                      .a = x->data,
                      .b = p->w->data,
                      .dtype = x->dtype,
                      .tb = true,
                      .b_frozen = p->w->frozen,
                      .rows = c->rows,
                      .y = y.t->data,
                      .y_dtype = y.t->dtype,
                      .add = y.add,
                      .bias = y.add || !p->bias ? NULL : p->bias->data };

    gemm(c->dev->state, &g);
}

/* scale x w^T + bias in F32, or what the addend becomes with x w^T, in its own place. */
static struct tensor sums_of(struct ctx *c, const struct tensor *x, const struct linear_product *p)
{
    struct tensor sums = p->addend ? *p->addend : matrix_new(F32, p->y.t->shape[0], p->y.t->shape[1]);
    float *value = sums.data;

    if (p->w)
        multiply(c, (struct destination){ &sums, p->addend != NULL }, x, p);
    int64_t n = p->scale != 1.0f ? tensor_size(&sums) : 0;
#pragma omp parallel for schedule(static) if (n > PARALLEL_MIN)
    for (int64_t i = 0; i < n; i++)
        value[i] *= p->scale;
    return sums;
}

static void free_sums(struct tensor *sums, const struct linear_product *p)
{
    if (!p->addend)
        free_matrix(sums);
}

static void run_product(struct ctx *c, const struct tensor *x, const struct linear_product *p)
{
    if (p->w && p->scale == 1.0f && !p->addend && !(p->bias && p->y.add)) {
        multiply(c, p->y, x, p);
        return;
    }
    struct tensor sums = sums_of(c, x, p);
    int64_t cols = tensor_cols(&sums);
#pragma omp parallel for schedule(static) if (tensor_size(&sums) > PARALLEL_MIN)
    for (int64_t r = 0; r < tensor_rows(&sums); r++)
        row_store(p->y, r * cols, (float *)sums.data + r * cols, cols);
    free_sums(&sums, p);
}

/* Without addends the halves are rounded where swiglu's own op would have them rounded: then a row comes out the same
 * with few and with many. */
static void run_swiglu(struct ctx *c, const struct tensor *x, const struct linear_group *g)
{
    struct tensor *y = g->product[0].y.t, half[2];

    for (int i = 0; i < 2; i++) {
        const struct linear_product *p = &g->product[i];
        if (p->addend) {
            half[i] = sums_of(c, x ? x : p->x, p);
            continue;
        }
        half[i] = matrix_new(y->dtype, y->shape[0], y->shape[1]);
        multiply(c, (struct destination){ &half[i], false }, x ? x : p->x, p);
    }
    cpu_swiglu(c, y, &half[0], &half[1]);
    free_sums(&half[0], &g->product[0]);
    free_sums(&half[1], &g->product[1]);
}

void cpu_linear_group(struct ctx *c, struct tensor *y, const struct linear_group *g)
{
    (void)y;
    const struct tensor *x = g->product[0].x;
    struct tensor normed, rstd;

    if (g->norm.w) {
        normed = matrix_new(x->dtype, x->shape[0], x->shape[1]);
        rstd = matrix_new(F32, x->shape[0], 1);
        cpu_rms_norm(c, &normed, &rstd, x, g->norm.w, g->norm.eps);
    }
    x = g->norm.w ? &normed : NULL;
    if (g->swiglu)
        run_swiglu(c, x, g);
    for (int i = 0; i < g->n && !g->swiglu; i++)
        run_product(c, x ? x : g->product[i].x, &g->product[i]);
    if (g->norm.w) {
        free_matrix(&normed);
        free_matrix(&rstd);
    }
}
