#include "kernels/cpu/row.h"

#include <math.h>
#include <stdlib.h>

/* y holds a and b already; behind them come |a - b| and a b. */
CPU_CLONES static void combine_run(float *y, int64_t n)
{
    const float *a = y, *b = y + n;

    for (int64_t j = 0; j < n; j++) {
        y[2 * n + j] = fabsf(a[j] - b[j]);
        y[3 * n + j] = a[j] * b[j];
    }
}

void cpu_pair_features(struct ctx *c, struct tensor *y, const struct tensor *x, const struct tensor *u,
                       const struct tensor *v, const struct tensor *extra)
{
    const int32_t *iu = u->data, *iv = v->data;
    int64_t n = tensor_size(u), cols = tensor_cols(x), width = tensor_cols(y), more = width - 4 * cols;
    struct destination to = { y, false };

    (void)c;
#pragma omp parallel if (tensor_size(y) > PARALLEL_MIN)
    {
        float *buf = floats_new(width);
#pragma omp for schedule(static)
        for (int64_t p = 0; p < n; p++) {
            float *out = row_out(buf, to, p * width);
            row_load(out, x, iu[p] * cols, cols);
            row_load(out + cols, x, iv[p] * cols, cols);
            combine_run(out, cols);
            if (more)
                row_load(out + 4 * cols, extra, p * more, more);
            row_store(to, p * width, out, width);
        }
        free(buf);
    }
}

CPU_CLONES static void split_run(float *restrict du, float *restrict dv, const float *restrict d,
                                 const float *restrict a, const float *restrict b, int64_t n)
{
    for (int64_t j = 0; j < n; j++) {
        float away = a[j] > b[j] ? d[2 * n + j] : a[j] < b[j] ? -d[2 * n + j] : 0;
        du[j] = d[j] + away + b[j] * d[3 * n + j];
        dv[j] = d[n + j] - away + a[j] * d[3 * n + j];
    }
}

void cpu_pair_features_backward(struct ctx *c, struct tensor *du, struct tensor *dv, const struct tensor *dy,
                                const struct tensor *x, const struct tensor *u, const struct tensor *v)
{
    const int32_t *iu = u->data, *iv = v->data;
    int64_t n = tensor_size(u), cols = tensor_cols(x), width = tensor_cols(dy);

    (void)c;
#pragma omp parallel if (tensor_size(dy) > PARALLEL_MIN)
    {
        float *room = floats_new(8 * cols), *ou = room + 6 * cols, *ov = room + 7 * cols;
#pragma omp for schedule(static)
        for (int64_t p = 0; p < n; p++) {
            const float *a = row_in(room, x, iu[p] * cols, cols), *b = row_in(room + cols, x, iv[p] * cols, cols);
            const float *d = row_in(room + 2 * cols, dy, p * width, 4 * cols);
            split_run(ou, ov, d, a, b, cols);
            row_store((struct destination){ du, false }, p * cols, ou, cols);
            row_store((struct destination){ dv, false }, p * cols, ov, cols);
        }
        free(room);
    }
}
