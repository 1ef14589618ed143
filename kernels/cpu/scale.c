#include "kernels/cpu/rows.h"

enum { BLOCK = 1024 };

void cpu_scale(struct ctx *c, struct grad y, const struct tensor *x, float alpha)
{
    int64_t n = tensor_size(x);

    (void)c;
    if (!y.t)
        return;
#pragma omp parallel for schedule(static) if (n > ROWS_PARALLEL)
    for (int64_t at = 0; at < n; at += BLOCK) {
        float buf[BLOCK], out[BLOCK];
        int64_t len = n - at < BLOCK ? n - at : BLOCK;
        const float *in = row_read(x, at, len, buf);
        for (int64_t i = 0; i < len; i++)
            out[i] = alpha * in[i];
        row_write(y, at, len, out);
    }
}
