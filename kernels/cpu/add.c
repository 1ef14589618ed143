#include "kernels/cpu/row.h"

CPU_CLONES static void add_run(float *restrict y, const float *restrict a, const float *restrict b, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] = a[i] + b[i];
}

void cpu_add(struct ctx *c, struct tensor *y, const struct tensor *a, const struct tensor *b)
{
    (void)c;
    int64_t n = tensor_size(y);
#pragma omp parallel for schedule(static) if (n > PARALLEL_MIN)
    for (int64_t at = 0; at < n; at += ROW_BLOCK) {
        float buf_a[ROW_BLOCK], buf_b[ROW_BLOCK], buf_y[ROW_BLOCK];
        struct destination out = { y, false };
        int64_t run = run_length(at, n);
        float *sum = row_out(buf_y, out, at);
        add_run(sum, row_in(buf_a, a, at, run), row_in(buf_b, b, at, run), run);
        row_store(out, at, sum, run);
    }
}
