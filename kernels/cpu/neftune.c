#include "kernels/cpu/dropout_mask.h"
#include "kernels/cpu/row.h"

#include <math.h>

/* The length of the sequence that row r is of: the last that starts at r or before and is not empty. */
static int64_t length_at(const int32_t *offsets, int64_t n, int64_t r)
{
    int64_t low = 0, high = n;

    while (high - low > 1) {
        int64_t middle = (low + high) / 2;
        if (offsets[middle] <= r)
            low = middle;
        else
            high = middle;
    }
    return offsets[low + 1] - offsets[low];
}

CPU_CLONES static void blur_run(float *restrict y, const float *restrict x, const float *restrict u, float scale,
                                int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] = x[i] + scale * u[i];
}

void cpu_neftune(struct ctx *c, struct tensor *y, const struct tensor *x, const struct seqs *s, float alpha,
                 uint32_t site)
{
    int64_t rows = tensor_rows(x), cols = tensor_cols(x);
    const int32_t *rng = c->rng->data, *offsets = s->offsets->data;
    struct destination out = { y, false };
#pragma omp parallel for schedule(static) if (rows * cols > PARALLEL_MIN)
    for (int64_t r = 0; r < rows; r++) {
        float buf_x[ROW_BLOCK], buf_y[ROW_BLOCK], u[ROW_BLOCK];
        float scale = alpha / sqrtf((float)(length_at(offsets, s->n, r) * cols));
        for (int64_t j = 0; j < cols; j += ROW_BLOCK) {
            int64_t run = run_length(j, cols), at = r * cols + j;
            float *value = row_out(buf_y, out, at);
            noise_run(u, rng, site, (uint32_t)r, (uint32_t)(j / 4), run);
            blur_run(value, row_in(buf_x, x, at, run), u, scale, run);
            row_store(out, at, value, run);
        }
    }
}
