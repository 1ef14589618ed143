/*
 * Products of matrices, linear maps with bias and activation, and sums of rows. gemm.h chooses the library.
 */
#include "kernels/cpu/activation.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/row.h"
#include "kernels/device.h"

#include <stdlib.h>

void cpu_matmul(struct ctx *c, struct destination y, const struct tensor *a, bool ta, const struct tensor *b, bool tb)
{
    if (!y.t)
        return;
    struct gemm g = { .m = a->shape[ta ? 1 : 0],
                      .n = b->shape[tb ? 0 : 1],
                      .k = a->shape[ta ? 0 : 1],
                      .a = a->data,
                      .b = b->data,
                      .dtype = a->dtype,
                      .ta = ta,
                      .tb = tb,
                      .b_frozen = b->frozen,
                      .rows = c->rows,
                      .y = y.t->data,
                      .y_dtype = y.t->dtype,
                      .add = y.add };
    gemm(c->dev->state, &g);
}

void cpu_sum_rows(struct ctx *c, struct destination y, const struct tensor *x)
{
    (void)c;
    int64_t rows = tensor_rows(x), cols = tensor_cols(x), per = chunk_rows(rows), chunks = (rows + per - 1) / per;
    if (!y.t)
        return;
    float *partial = xcalloc((size_t)(chunks * cols), sizeof *partial);
#pragma omp parallel if (rows * cols > PARALLEL_MIN)
    {
        float *buf = xmalloc((size_t)cols * sizeof *buf);
#pragma omp for schedule(static)
        for (int64_t i = 0; i < chunks; i++)
            for (int64_t r = i * per; r < (i + 1) * per && r < rows; r++)
                row_add(partial + i * cols, row_in(buf, x, r * cols, cols), cols);
        free(buf);
    }
    sum_chunks(y, partial, chunks, cols, cols);
    free(partial);
}

void cpu_linear(struct ctx *c, struct tensor *y, struct tensor *pre, const struct tensor *x, const struct tensor *w,
                const struct tensor *b, enum activation act)
{
    struct tensor *out = pre ? pre : y;
    struct gemm g = { .m = tensor_rows(y),
                      .n = w->shape[0],
                      .k = w->shape[1],
                      .a = x->data,
                      .b = w->data,
                      .dtype = x->dtype,
                      .tb = true,
                      .b_frozen = w->frozen,
                      .rows = c->rows,
                      .y = out->data,
                      .y_dtype = y->dtype,
                      .bias = b ? b->data : NULL,
                      .act = pre ? ACT_NONE : act };

    gemm(c->dev->state, &g);
    if (pre)
        cpu_activation(c, y, pre, act);
}
