#include "kernels/cpu/norm.h"
#include "kernels/cpu/row.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void cpu_rope_angles(struct ctx *c, struct tensor *y, const struct tensor *positions, const struct tensor *freqs)
{
    (void)c;
    int64_t rows = tensor_size(positions), half = tensor_size(freqs);
    const int32_t *position = positions->data;
    const float *freq = freqs->data;
    float *out = y->data;
#pragma omp parallel for schedule(static) if (rows * half > PARALLEL_MIN)
    for (int64_t t = 0; t < rows; t++)
        for (int64_t j = 0; j < half; j++) {
            float angle = (float)position[t] * freq[j];
            out[2 * t * half + j] = cosf(angle);
            out[(2 * t + 1) * half + j] = sinf(angle);
        }
}

/* Every head of one row; sign -1 turns back. */
CPU_CLONES static void rotate_row(float *restrict y, const float *restrict x, const float *restrict angles, float sign,
                                  int64_t heads, int64_t half)
{
    const float *restrict cosine = angles, *restrict sine = angles + half;

    for (int64_t h = 0; h < heads; h++, x += 2 * half, y += 2 * half)
#pragma omp simd
        for (int64_t j = 0; j < half; j++) {
            float a = x[j], b = x[half + j], s = sign * sine[j];
            y[j] = a * cosine[j] - b * s;
            y[half + j] = b * cosine[j] + a * s;
        }
}

void cpu_rope(struct ctx *c, struct destination y, const struct tensor *x, const struct tensor *angles, bool back)
{
    (void)c;
    int64_t rows = tensor_rows(x), cols = tensor_cols(x), head = tensor_cols(angles);
    if (!y.t)
        return;
#pragma omp parallel if (rows * cols > PARALLEL_MIN)
    {
        float *buf = floats_new(2 * cols);
#pragma omp for schedule(static)
        for (int64_t t = 0; t < rows; t++) {
            float *out = row_out(buf, y, t * cols);
            rotate_row(out, row_in(buf + cols, x, t * cols, cols), (const float *)angles->data + t * head,
                       back ? -1.0f : 1.0f, cols / head, head / 2);
            row_store(y, t * cols, out, cols);
        }
        free(buf);
    }
}

/* Row t of x, normed and rotated, to row `at` of y; buf has room for three rows. */
static void cache_row(struct tensor *y, int64_t at, const struct tensor *x, int64_t t, const struct tensor *norm,
                      const struct rope_cache *r, float *buf)
{
    int64_t cols = tensor_cols(x), head = tensor_cols(r->angles);
    float *in = buf, *out = buf + cols, *rstd = buf + 2 * cols;

    row_load(in, x, t * cols, cols);
    if (norm) {
        rms_norm_groups(out, rstd, in, norm->data, cols / head, head, r->eps);
        in = out;
        out = buf;
    }
    rotate_row(out, in, (const float *)r->angles->data + t * head, 1.0f, cols / head, head / 2);
    row_store((struct destination){ y, false }, at * cols, out, cols);
}

static void copy_row(struct tensor *y, int64_t at, const struct tensor *x, int64_t t)
{
    size_t bytes = (size_t)tensor_cols(x) * dtype_size(x->dtype);

    memcpy((char *)y->data + (size_t)at * bytes, (const char *)x->data + (size_t)t * bytes, bytes);
}

void cpu_rope_cache(struct ctx *c, struct tensor *q, struct tensor *k, const struct tensor *v,
                    const struct rope_cache *r)
{
    (void)c;
    int64_t rows = tensor_rows(q), cols = tensor_cols(q) > tensor_cols(k) ? tensor_cols(q) : tensor_cols(k);
    int64_t limit = r->k ? tensor_rows(r->k) : rows;
#pragma omp parallel if (rows * cols > PARALLEL_MIN)
    {
        float *buf = floats_new(3 * cols);
#pragma omp for schedule(static)
        for (int64_t t = 0; t < rows; t++) {
            int64_t id = r->k ? ((const int32_t *)r->ids->data)[t] : t;
            CHECK(id < limit, "rope_cache: row %lld of %lld", (long long)id, (long long)limit);
            cache_row(q, t, q, t, r->q_norm, r, buf);
            if (id < 0)
                continue;
            cache_row(r->k ? r->k : k, id, k, t, r->k_norm, r, buf);
            if (r->k)
                copy_row(r->v, id, v, t);
        }
        free(buf);
    }
}
