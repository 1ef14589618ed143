#include "kernels/cpu/dropout_mask.h"
#include "kernels/cpu/row.h"

CPU_CLONES static void multiply_run(float *restrict y, const float *restrict a, const float *restrict b, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] = a[i] * b[i];
}

void cpu_dropout(struct ctx *c, struct destination y, const struct tensor *x, float p, uint32_t site)
{
    int64_t rows = tensor_rows(x), cols = tensor_cols(x);
    const int32_t *rng = c->rng->data;

    if (!y.t)
        return;
#pragma omp parallel for schedule(static) if (rows * cols > PARALLEL_MIN)
    for (int64_t r = 0; r < rows; r++) {
        float buf_x[ROW_BLOCK], buf_y[ROW_BLOCK], keep[ROW_BLOCK];
        for (int64_t j = 0; j < cols; j += ROW_BLOCK) {
            int64_t run = run_length(j, cols), at = r * cols + j;
            float *out = row_out(buf_y, y, at);
            dropout_mask_run(keep, rng, site, (uint32_t)r, (uint32_t)(j / 4), run, p);
            multiply_run(out, row_in(buf_x, x, at, run), keep, run);
            row_store(y, at, out, run);
        }
    }
}
