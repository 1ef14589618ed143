#include "kernels/cpu/row.h"

/* dst = scale src, n numbers of one row */
static void move_row(struct tensor *dst, int64_t to, const struct tensor *src, int64_t from, int64_t n, float scale)
{
    float buf[ROW_BLOCK], out[ROW_BLOCK];

    for (int64_t at = 0, run; at < n; at += run) {
        run = run_length(at, n);
        const float *in = row_in(buf, src, from + at, run);
        for (int64_t i = 0; i < run; i++)
            out[i] = scale * in[i];
        row_store((struct destination){ dst, false }, to + at, out, run);
    }
}

void cpu_split_columns(struct ctx *c, struct tensor *const *y, const struct tensor *x, const float *scale, int n)
{
    int64_t rows = tensor_rows(x), cols = tensor_cols(x);

    (void)c;
#pragma omp parallel for schedule(static) if (rows * cols > PARALLEL_MIN)
    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0, at = r * cols; i < n; at += tensor_cols(y[i++]))
            move_row(y[i], r * tensor_cols(y[i]), x, at, tensor_cols(y[i]), scale[i]);
}

void cpu_join_columns(struct ctx *c, struct tensor *y, struct tensor *const *x, const float *scale, int n)
{
    int64_t rows = tensor_rows(y), cols = tensor_cols(y);

    (void)c;
#pragma omp parallel for schedule(static) if (rows * cols > PARALLEL_MIN)
    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0, at = r * cols; i < n; at += tensor_cols(x[i++]))
            move_row(y, at, x[i], r * tensor_cols(x[i]), tensor_cols(x[i]), scale[i]);
}
