#include "kernels/cpu/row.h"

#include <string.h>

void cpu_index_copy(struct ctx *c, struct tensor *y, const struct tensor *x, const struct tensor *ids)
{
    (void)c;
    int64_t rows = tensor_rows(x), cols = tensor_cols(x), limit = tensor_rows(y);
    size_t bytes = (size_t)cols * dtype_size(x->dtype);
#pragma omp parallel for schedule(static) if (rows * cols > PARALLEL_MIN)
    for (int64_t t = 0; t < rows; t++) {
        int64_t id = ((const int32_t *)ids->data)[t];
        CHECK(id < limit, "index_copy: row %lld of %lld", (long long)id, (long long)limit);
        if (id >= 0)
            memcpy((char *)y->data + (size_t)id * bytes, (const char *)x->data + (size_t)t * bytes, bytes);
    }
}
