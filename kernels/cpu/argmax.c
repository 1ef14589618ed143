#include "kernels/cpu/row.h"

#include <math.h>

/* A block is searched again only if it holds a new maximum, while it is in the L1 cache. */
static int32_t argmax_row(const struct tensor *x, int64_t at, int64_t cols)
{
    float buf[ROW_BLOCK], most = -INFINITY;
    int64_t best = 0;

    for (int64_t j = 0; j < cols; j += ROW_BLOCK) {
        int64_t run = run_length(j, cols), i = 0;
        const float *in = row_in(buf, x, at + j, run);
        float here = row_most(in, run);
        if (!(here > most))
            continue;
        while (in[i] != here)
            i++;
        most = here;
        best = j + i;
    }
    return (int32_t)best;
}

void cpu_argmax(struct ctx *c, struct tensor *y, const struct tensor *x)
{
    (void)c;
    int64_t rows = tensor_size(y), cols = tensor_cols(x);
    int32_t *out = y->data;
#pragma omp parallel for schedule(static) if (rows * cols > PARALLEL_MIN)
    for (int64_t t = 0; t < rows; t++)
        out[t] = argmax_row(x, t * cols, cols);
}
