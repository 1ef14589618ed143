#include "kernels/cpu/row.h"

#include <stdlib.h>

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

/* dst, columns from `to` on, = scale src's columns from `from` on, n of them */
static void move_columns(struct tensor *dst, int64_t to, const struct tensor *src, int64_t from, int64_t n, float scale)
{
    int64_t rows = tensor_rows(src), into = tensor_cols(dst), out_of = tensor_cols(src);

#pragma omp parallel for schedule(static) if (rows * n > PARALLEL_MIN)
    for (int64_t r = 0; r < rows; r++)
        move_row(dst, r * into + to, src, r * out_of + from, n, scale);
}

void cpu_lora_out(struct ctx *c, const struct destination *y, struct tensor *const *h, const struct tensor *low,
                  const struct lora *l, int n)
{
    for (int64_t i = 0, at = 0; i < n; at += tensor_cols(h[i++])) {
        move_columns(h[i], 0, low, at, tensor_cols(h[i]), l[i].scale);
        cpu_matmul(c, y[i], h[i], false, l[i].b, true);
    }
}

/* dh's columns from `at` on = scale dy b */
static void low_gradient(struct ctx *c, struct tensor *dh, int64_t at, const struct tensor *dy, const struct lora *l)
{
    int64_t rows = tensor_rows(dy), rank = tensor_cols(l->b);
    struct tensor sum = { .dtype = F32, .ndim = 2, .shape = { rows, rank }, .data = floats_new(rows * rank) };

    cpu_matmul(c, (struct destination){ &sum, false }, dy, false, l->b, false);
    move_columns(dh, at, &sum, 0, rank, l->scale);
    free(sum.data);
}

void cpu_lora_out_backward(struct ctx *c, struct tensor *dh, const struct destination *db, struct tensor *const *dy,
                           struct tensor *const *h, const struct lora *l, int n)
{
    for (int64_t i = 0, at = 0; i < n; at += tensor_cols(l[i++].b)) {
        cpu_matmul(c, db[i], dy[i], true, h[i], false);
        if (dh)
            low_gradient(c, dh, at, dy[i], &l[i]);
    }
}
