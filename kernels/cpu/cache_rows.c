#include "kernels/cpu/row.h"

#include <string.h>

void cpu_cache_rows(struct ctx *c, struct tensor *cache, const struct tensor *x, const struct tensor *ids)
{
    (void)c;
    size_t bytes = (size_t)tensor_cols(x) * dtype_size(x->dtype);
    const int32_t *id = ids->data;

    for (int64_t t = 0; t < tensor_rows(x); t++) {
        CHECK(id[t] < tensor_rows(cache), "cache_rows: row %d of %lld", id[t], (long long)tensor_rows(cache));
        if (id[t] >= 0)
            memcpy((char *)cache->data + (size_t)id[t] * bytes, (const char *)x->data + (size_t)t * bytes, bytes);
    }
}
