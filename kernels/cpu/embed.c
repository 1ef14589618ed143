#include "kernels/cpu/row.h"

#include <stdlib.h>

static void embed_row(float *sum, float *buf, struct tensor *const *table, struct tensor *const *ids, int n, int64_t t)
{
    int64_t cols = tensor_cols(table[0]);

    for (int i = 0; i < n; i++) {
        int64_t id = ((const int32_t *)ids[i]->data)[t];
        CHECK(id >= 0 && id < table[i]->shape[0], "embed: id %lld of %lld rows", (long long)id,
              (long long)table[i]->shape[0]);
        if (i == 0)
            row_load(sum, table[i], id * cols, cols);
        else
            row_add(sum, row_in(buf, table[i], id * cols, cols), cols);
    }
}

void cpu_embed(struct ctx *c, struct tensor *y, struct tensor *const *table, struct tensor *const *ids, int n)
{
    (void)c;
    int64_t rows = tensor_rows(y), cols = tensor_cols(y);
#pragma omp parallel if (rows * cols > PARALLEL_MIN)
    {
        float *buf = xmalloc((size_t)(2 * cols) * sizeof *buf);
#pragma omp for schedule(static)
        for (int64_t t = 0; t < rows; t++) {
            embed_row(buf, buf + cols, table, ids, n, t);
            row_store((struct destination){ y, false }, t * cols, buf, cols);
        }
        free(buf);
    }
}
