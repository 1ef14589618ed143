#include "kernels/kernels.h"

void op_index_copy(struct ctx *c, struct tensor *y, struct tensor *x, struct tensor *ids)
{
    CHECK(x->dtype == y->dtype && tensor_cols(x) == tensor_cols(y), "index_copy: rows [%lld] of %s into [%lld] of %s",
          (long long)tensor_cols(x), dtype_name(x->dtype), (long long)tensor_cols(y), dtype_name(y->dtype));
    CHECK(ids->dtype == I32 && tensor_size(ids) == tensor_rows(x), "index_copy: %lld rows, %lld ids of %s",
          (long long)tensor_rows(x), (long long)tensor_size(ids), dtype_name(ids->dtype));
    CHECK(!y->needs_grad, "index_copy: into a tensor that needs a gradient");
    RUN(c, index_copy, y, x, ids);
}
