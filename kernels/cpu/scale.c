#include "kernels/cpu/row.h"

CPU_CLONES static void scale_run(float *y, const float *x, int64_t n, float alpha)
{
    for (int64_t i = 0; i < n; i++)
        y[i] = alpha * x[i];
}

void cpu_scale(struct ctx *c, struct destination y, const struct tensor *x, float alpha)
{
    int64_t n = tensor_size(x);

    (void)c;
    if (!y.t)
        return;
#pragma omp parallel for schedule(static) if (n > PARALLEL_MIN)
    for (int64_t at = 0; at < n; at += ROW_BLOCK) {
        float buf_x[ROW_BLOCK], buf_y[ROW_BLOCK], *out = row_out(buf_y, y, at);
        int64_t run = run_length(at, n);
        scale_run(out, row_in(buf_x, x, at, run), run, alpha);
        row_store(y, at, out, run);
    }
}
