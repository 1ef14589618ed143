#include "kernels/cpu/rows.h"

#include <stdlib.h>

void cpu_pair_features(struct ctx *c, struct tensor *y, const struct tensor *x, const struct tensor *u,
                       const struct tensor *v, const struct tensor *extra)
{
    const int32_t *iu = u->data, *iv = v->data;
    int64_t n = tensor_size(u), cols = tensor_cols(x), width = tensor_cols(y), more = width - 4 * cols;

    (void)c;
#pragma omp parallel if (tensor_size(y) > ROWS_PARALLEL)
    {
        float *room = floats_new(2 * cols + width), *out = room + 2 * cols;
#pragma omp for schedule(static)
        for (int64_t p = 0; p < n; p++) {
            const float *a = row_read(x, iu[p] * cols, cols, room), *b = row_read(x, iv[p] * cols, cols, room + cols);
            for (int64_t j = 0; j < cols; j++) {
                out[j] = a[j];
                out[cols + j] = b[j];
                out[2 * cols + j] = fabsf(a[j] - b[j]);
                out[3 * cols + j] = a[j] * b[j];
            }
            if (more)
                memmove(out + 4 * cols, row_read(extra, p * more, more, out + 4 * cols), (size_t)more * sizeof *out);
            row_store(y, p * width, width, out);
        }
        free(room);
    }
}

void cpu_pair_features_backward(struct ctx *c, struct tensor *du, struct tensor *dv, const struct tensor *dy,
                                const struct tensor *x, const struct tensor *u, const struct tensor *v)
{
    const int32_t *iu = u->data, *iv = v->data;
    int64_t n = tensor_size(u), cols = tensor_cols(x), width = tensor_cols(dy);

    (void)c;
#pragma omp parallel if (tensor_size(dy) > ROWS_PARALLEL)
    {
        float *room = floats_new(8 * cols), *ou = room + 6 * cols, *ov = room + 7 * cols;
#pragma omp for schedule(static)
        for (int64_t p = 0; p < n; p++) {
            const float *a = row_read(x, iu[p] * cols, cols, room), *b = row_read(x, iv[p] * cols, cols, room + cols);
            const float *d = row_read(dy, p * width, 4 * cols, room + 2 * cols);
            for (int64_t j = 0; j < cols; j++) {
                float away = a[j] > b[j] ? d[2 * cols + j] : a[j] < b[j] ? -d[2 * cols + j] : 0;
                ou[j] = d[j] + away + b[j] * d[3 * cols + j];
                ov[j] = d[cols + j] - away + a[j] * d[3 * cols + j];
            }
            row_store(du, p * cols, cols, ou);
            row_store(dv, p * cols, cols, ov);
        }
        free(room);
    }
}
