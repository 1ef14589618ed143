/*
 * Layer norm and RMS norm of rows. Statistics are summed in two passes and in a fixed order. Threads sum gradients of
 * weights over chunks of rows, and the chunks are added in order.
 */
#include "kernels/cpu/norm.h"

#include "kernels/cpu/row.h"

#include <math.h>
#include <stdlib.h>

/* Layer norm of x + res. The backward recomputes the sum and the normalised row from mean and rstd, so that the forward
 * keeps two numbers for each row. Gradients of weight and bias are sums over rows. They are summed in chunks that are
 * cut by the number of rows, and the chunks in order. */

/* y = (z - mean) rstd w + b; two passes, since E[z^2] - E[z]^2 loses bits when |mean| >> deviation */
CPU_CLONES static void norm_row(float *y, float *mean, float *rstd, const float *z, const float *restrict w,
                                const float *restrict b, int64_t n, float eps)
{
    float m = short_moment(z, n, 0, false) / (float)n, s = 1.0f / sqrtf(short_moment(z, n, m, true) / (float)n + eps);

#pragma omp simd
    for (int64_t i = 0; i < n; i++)
        y[i] = (z[i] - m) * s * w[i] + b[i];
    *mean = m;
    *rstd = s;
}

CPU_CLONES static void add_rows(float *restrict z, const float *restrict x, const float *restrict res, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        z[i] = x[i] + res[i];
}

/* z = x + res in f32; buf holds two rows */
static void residual_row(float *z, float *buf, const struct tensor *x, const struct tensor *res, int64_t at, int64_t n)
{
    if (res)
        add_rows(z, row_in(buf, x, at, n), row_in(buf + n, res, at, n), n);
    else
        row_load(z, x, at, n);
}

void cpu_layer_norm(struct ctx *c, struct tensor *y, struct tensor *mean, struct tensor *rstd, const struct tensor *x,
                    const struct tensor *res, const struct tensor *w, const struct tensor *b, float eps)
{
    (void)c;
    int64_t rows = tensor_rows(x), cols = tensor_cols(x);
    float *means = mean->data, *rstds = rstd->data;
#pragma omp parallel if (rows * cols > PARALLEL_MIN)
    {
        /* A row and its two inputs, converted to f32. */
        float *z = floats_new(3 * cols), *buf = z + cols;
#pragma omp for schedule(static)
        for (int64_t r = 0; r < rows; r++) {
            residual_row(z, buf, x, res, r * cols, cols);
            norm_row(z, means + r, rstds + r, z, w->data, b->data, cols, eps);
            row_store((struct destination){ y, false }, r * cols, z, cols);
        }
        free(z);
    }
}

/* z becomes its gradient; dw and db take this row's share.  g = dy w is rounded once, so that g - mean(g) of equal g
 * is exactly zero. */
CPU_CLONES static void norm_row_backward(float *restrict z, float *restrict g, float *restrict dw, float *restrict db,
                                         const float *restrict dy, const float *restrict w, float mean, float rstd,
                                         int64_t n)
{
    float sum = 0, dot = 0;

#pragma omp simd
    for (int64_t i = 0; i < n; i++)
        g[i] = dy[i] * w[i];
#pragma omp simd reduction(+ : sum, dot)
    for (int64_t i = 0; i < n; i++) {
        z[i] = (z[i] - mean) * rstd;
        sum += g[i];
        dot += g[i] * z[i];
        dw[i] += dy[i] * z[i];
        db[i] += dy[i];
    }
    sum /= (float)n;
    dot /= (float)n;
#pragma omp simd
    for (int64_t i = 0; i < n; i++)
        z[i] = rstd * (g[i] - sum - z[i] * dot);
}

struct layer_norm_args {
    struct destination dx, dres;
    const struct tensor *dy, *x, *res;
    const float *w, *mean, *rstd;
};

static void norm_rows_backward(const struct layer_norm_args *a, float *dw, float *db, float *buf, int64_t from,
                               int64_t to)
{
    int64_t cols = tensor_cols(a->x);
    float *z = buf, *g = z + cols, *tmp = g + cols;

    for (int64_t r = from; r < to; r++) {
        residual_row(z, tmp, a->x, a->res, r * cols, cols);
        norm_row_backward(z, g, dw, db, row_in(tmp, a->dy, r * cols, cols), a->w, a->mean[r], a->rstd[r], cols);
        if (a->dx.t)
            row_store(a->dx, r * cols, z, cols);
        if (a->dres.t)
            row_store(a->dres, r * cols, z, cols);
    }
}

void cpu_layer_norm_backward(struct ctx *c, struct destination dx, struct destination dres, struct destination dw,
                             struct destination db, const struct tensor *dy, const struct tensor *x,
                             const struct tensor *res, const struct tensor *w, const struct tensor *mean,
                             const struct tensor *rstd)
{
    (void)c;
    int64_t rows = tensor_rows(x), cols = tensor_cols(x), per = chunk_rows(rows), chunks = (rows + per - 1) / per;
    struct layer_norm_args a = { dx, dres, dy, x, res, w->data, mean->data, rstd->data };
    float *partial = xcalloc((size_t)(chunks * 2 * cols), sizeof *partial);
#pragma omp parallel if (rows * cols > PARALLEL_MIN)
    {
        float *buf = floats_new(4 * cols);
#pragma omp for schedule(static)
        for (int64_t i = 0; i < chunks; i++) {
            float *sums = partial + i * 2 * cols;
            norm_rows_backward(&a, sums, sums + cols, buf, i * per, (i + 1) * per < rows ? (i + 1) * per : rows);
        }
        free(buf);
    }
    if (dw.t)
        sum_chunks(dw, partial, chunks, 2 * cols, cols);
    if (db.t)
        sum_chunks(db, partial + cols, chunks, 2 * cols, cols);
    free(partial);
}

/* RMS norm (Zhang and Sennrich 2019) of groups of columns: whole rows, or the heads of q and k. The backward may write
 * the normalised input again, for a recomputed block: x and rstd are at hand there. */

/* Groups of columns that are converted and worked at together: heads are short. */
static int64_t groups_at_once(int64_t cols)
{
    return cols < ROW_BLOCK ? ROW_BLOCK / cols : 1;
}

static int64_t groups_until(int64_t from, int64_t per, int64_t end)
{
    return from + per < end ? from + per : end;
}

CPU_CLONES static void norm_groups(float *restrict y, float *restrict rstd, const float *restrict x,
                                   const float *restrict w, int64_t groups, int64_t n, float eps)
{
    for (int64_t g = 0; g < groups; g++, x += n, y += n) {
        float s = 1.0f / sqrtf(short_moment(x, n, 0, true) / (float)n + eps);
        for (int64_t i = 0; i < n; i++)
            y[i] = x[i] * s * w[i];
        rstd[g] = s;
    }
}

/* Normalises again from rstd. */
CPU_CLONES static void norm_groups_again(float *restrict y, const float *restrict rstd, const float *restrict x,
                                         const float *restrict w, int64_t groups, int64_t n)
{
    for (int64_t g = 0; g < groups; g++, x += n, y += n)
        for (int64_t i = 0; i < n; i++)
            y[i] = x[i] * rstd[g] * w[i];
}

void rms_norm_groups(float *y, float *rstd, const float *x, const float *w, int64_t groups, int64_t n, float eps)
{
    norm_groups(y, rstd, x, w, groups, n, eps);
}

void cpu_rms_norm(struct ctx *c, struct tensor *y, struct tensor *rstd, const struct tensor *x, const struct tensor *w,
                  float eps)
{
    (void)c;
    int64_t groups = tensor_size(rstd), cols = tensor_size(w), per = groups_at_once(cols);
    struct destination out = { y, false };
#pragma omp parallel if (groups * cols > PARALLEL_MIN)
    {
        float *buf = floats_new(2 * per * cols);
#pragma omp for schedule(static)
        for (int64_t g = 0; g < groups; g += per) {
            int64_t n = groups_until(g, per, groups) - g;
            float *value = row_out(buf, out, g * cols);
            norm_groups(value, (float *)rstd->data + g, row_in(buf + per * cols, x, g * cols, n * cols), w->data, n,
                        cols, eps);
            row_store(out, g * cols, value, n * cols);
        }
        free(buf);
    }
}

/* dx = rstd (dy w - z mean(dy w z)), z = x rstd; and dw, when it is wanted, takes dy z */
static inline __attribute__((always_inline)) void slopes(float *restrict dx, float *restrict dw,
                                                         const float *restrict dy, const float *restrict x,
                                                         const float *restrict w, float rstd, int64_t n, bool weight)
{
    float dot = 0;

#pragma omp simd reduction(+ : dot)
    for (int64_t i = 0; i < n; i++) {
        float d = dy[i] * x[i];
        dot += d * w[i];
        if (weight)
            dw[i] += d * rstd;
    }
    float share = dot * rstd / (float)n * rstd;
    for (int64_t i = 0; i < n; i++)
        dx[i] = rstd * (dy[i] * w[i] - x[i] * share);
}

CPU_CLONES static void slopes_groups(float *restrict dx, float *restrict dw, const float *restrict dy,
                                     const float *restrict x, const float *restrict w, const float *restrict rstd,
                                     int64_t groups, int64_t n)
{
    for (int64_t g = 0; g < groups; g++, dx += n, dy += n, x += n) {
        if (dw)
            slopes(dx, dw, dy, x, w, rstd[g], n, true);
        else
            slopes(dx, NULL, dy, x, w, rstd[g], n, false);
    }
}

struct rms_norm_args {
    struct destination dx, y;
    const struct tensor *dy, *x;
    const float *w, *rstd;
    int64_t cols, per;
};

/* buf holds three chunks; dw NULL: not needed */
static void chunk_backward(const struct rms_norm_args *a, float *dw, float *buf, int64_t from, int64_t to)
{
    int64_t cols = a->cols, block = a->per * cols;

    for (int64_t g = from, next; g < to; g = next) {
        next = groups_until(g, a->per, to);
        int64_t at = g * cols, n = (next - g) * cols;
        float *out = a->dx.t ? row_out(buf, a->dx, at) : buf;
        const float *x = row_in(buf + 2 * block, a->x, at, n);
        slopes_groups(out, dw, row_in(buf + block, a->dy, at, n), x, a->w, a->rstd + g, next - g, cols);
        if (a->dx.t)
            row_store(a->dx, at, out, n);
        if (a->y.t) { /* dy is no longer needed */
            float *y = row_out(buf + block, a->y, at);
            norm_groups_again(y, a->rstd + g, x, a->w, next - g, cols);
            row_store(a->y, at, y, n);
        }
    }
}

void cpu_rms_norm_backward(struct ctx *c, struct destination dx, struct destination dw, struct tensor *y,
                           const struct tensor *dy, const struct tensor *x, const struct tensor *w,
                           const struct tensor *rstd)
{
    (void)c;
    int64_t groups = tensor_size(rstd), cols = tensor_size(w), per = chunk_rows(groups);
    int64_t chunks = (groups + per - 1) / per;
    struct rms_norm_args a = { dx, { y, false }, dy, x, w->data, rstd->data, cols, groups_at_once(cols) };
    float *partial = dw.t ? xcalloc((size_t)(chunks * cols), sizeof *partial) : NULL;
#pragma omp parallel if (groups * cols > PARALLEL_MIN)
    {
        float *buf = floats_new(3 * a.per * cols);
#pragma omp for schedule(static)
        for (int64_t i = 0; i < chunks; i++)
            chunk_backward(&a, partial ? partial + i * cols : NULL, buf, i * per, groups_until(i * per, per, groups));
        free(buf);
    }
    if (dw.t)
        sum_chunks(dw, partial, chunks, cols, cols);
    free(partial);
}
