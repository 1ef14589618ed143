#include "kernels/cpu/row.h"

#include <math.h>
#include <stdlib.h>

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
