#include "kernels/kernels.h"

struct tensor *op_argmax(struct ctx *c, struct tensor *x)
{
    int64_t cols = tensor_cols(x);
    CHECK(x->dtype != I32 && cols > 0 && cols <= INT32_MAX, "argmax: %lld columns of %s", (long long)cols,
          dtype_name(x->dtype));
    struct tensor *y = tensor_new1(c, I32, tensor_rows(x));
    RUN(c, argmax, y, x);
    return y;
}
