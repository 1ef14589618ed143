#include "kernels/cpu/row.h"

static void fill_run(struct tensor *y, int64_t at, int64_t n, float value)
{
    float run[ROW_BLOCK];

    for (int64_t i = 0; i < n; i++)
        run[i] = value;
    row_store((struct destination){ y, false }, at, run, n);
}

void cpu_fill(struct ctx *c, struct tensor *y, float value)
{
    (void)c;
    int64_t n = tensor_size(y);
#pragma omp parallel for schedule(static) if (n > PARALLEL_MIN)
    for (int64_t at = 0; at < n; at += ROW_BLOCK)
        fill_run(y, at, run_length(at, n), value);
}

void cpu_accumulate(struct ctx *c, struct destination dx, const struct tensor *dy)
{
    (void)c;
    int64_t n = tensor_size(dy);
    if (!dx.t)
        return;
#pragma omp parallel for schedule(static) if (n > PARALLEL_MIN)
    for (int64_t at = 0; at < n; at += ROW_BLOCK) {
        float buf[ROW_BLOCK];
        int64_t run = run_length(at, n);
        row_store(dx, at, row_in(buf, dy, at, run), run);
    }
}

void cpu_cast(struct ctx *c, struct tensor *y, const struct tensor *x)
{
    cpu_accumulate(c, (struct destination){ y, false }, x);
}
