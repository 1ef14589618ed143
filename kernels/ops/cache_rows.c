#include "kernels/kernels.h"

void op_cache_rows(struct ctx *c, struct tensor *cache, struct tensor *x, struct tensor *ids)
{
    CHECK(!c->recording && cache->dtype == x->dtype && tensor_cols(cache) == tensor_cols(x) && ids->dtype == I32 &&
              tensor_size(ids) == tensor_rows(x),
          "cache_rows: %lld rows [%lld] of %s, %lld ids, into [%lld] of %s", (long long)tensor_rows(x),
          (long long)tensor_cols(x), dtype_name(x->dtype), (long long)tensor_size(ids), (long long)tensor_cols(cache),
          dtype_name(cache->dtype));
    RUN(c, cache_rows, cache, x, ids);
}
