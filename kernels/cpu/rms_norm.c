#include "kernels/cpu/row.h"

#include <math.h>
#include <stdlib.h>

/* y = x rstd w; returns rstd */
CPU_CLONES static float norm_row(float *restrict y, const float *restrict x, const float *restrict w, int64_t n,
                                 float eps)
{
    float s = 1.0f / sqrtf(short_moment(x, n, 0, true) / (float)n + eps);

    for (int64_t i = 0; i < n; i++)
        y[i] = x[i] * s * w[i];
    return s;
}

void cpu_rms_norm(struct ctx *c, struct tensor *y, struct tensor *rstd, const struct tensor *x, const struct tensor *w,
                  float eps)
{
    (void)c;
    int64_t groups = tensor_size(rstd), cols = tensor_size(w);
    float *rstds = rstd->data;
    struct grad out = { y, false };
#pragma omp parallel if (groups * cols > PARALLEL_MIN)
    {
        float *buf = floats_new(2 * cols);
#pragma omp for schedule(static)
        for (int64_t g = 0; g < groups; g++) {
            float *value = row_out(buf, out, g * cols);
            rstds[g] = norm_row(value, row_in(buf + cols, x, g * cols, cols), w->data, cols, eps);
            row_store(out, g * cols, value, cols);
        }
        free(buf);
    }
}

/* dx = rstd (dy w - z mean(dy w z)), z = x rstd */
CPU_CLONES static void norm_row_backward(float *restrict dx, const float *restrict dy, const float *restrict x,
                                         const float *restrict w, float rstd, int64_t n)
{
    float dot = 0;

#pragma omp simd reduction(+ : dot)
    for (int64_t i = 0; i < n; i++)
        dot += dy[i] * w[i] * x[i];
    float share = dot * rstd / (float)n * rstd;
    for (int64_t i = 0; i < n; i++)
        dx[i] = rstd * (dy[i] * w[i] - x[i] * share);
}

CPU_CLONES static void add_weight_row(float *restrict dw, const float *restrict dy, const float *restrict x, float rstd,
                                      int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        dw[i] += dy[i] * (x[i] * rstd);
}

struct norm_args {
    struct grad dx;
    const struct tensor *dy, *x;
    const float *w, *rstd;
    int64_t cols;
};

/* buf holds three rows; dw NULL: nobody wants it */
static void groups_backward(const struct norm_args *a, float *dw, float *buf, int64_t from, int64_t to)
{
    int64_t n = a->cols;

    for (int64_t g = from; g < to; g++) {
        const float *x = row_in(buf, a->x, g * n, n), *dy = row_in(buf + n, a->dy, g * n, n);
        if (dw)
            add_weight_row(dw, dy, x, a->rstd[g], n);
        if (!a->dx.t)
            continue;
        float *out = row_out(buf + 2 * n, a->dx, g * n);
        norm_row_backward(out, dy, x, a->w, a->rstd[g], n);
        row_store(a->dx, g * n, out, n);
    }
}

void cpu_rms_norm_backward(struct ctx *c, struct grad dx, struct grad dw, const struct tensor *dy,
                           const struct tensor *x, const struct tensor *w, const struct tensor *rstd)
{
    (void)c;
    int64_t groups = tensor_size(rstd), cols = tensor_size(w), per = chunk_rows(groups);
    int64_t chunks = (groups + per - 1) / per;
    struct norm_args a = { dx, dy, x, w->data, rstd->data, cols };
    float *partial = dw.t ? xcalloc((size_t)(chunks * cols), sizeof *partial) : NULL;
#pragma omp parallel if (groups * cols > PARALLEL_MIN)
    {
        float *buf = floats_new(3 * cols);
#pragma omp for schedule(static)
        for (int64_t i = 0; i < chunks; i++)
            groups_backward(&a, partial ? partial + i * cols : NULL, buf, i * per,
                            (i + 1) * per < groups ? (i + 1) * per : groups);
        free(buf);
    }
    if (dw.t)
        sum_chunks(dw, partial, chunks, cols, cols);
    free(partial);
}
