#include "kernels/cpu/activation.h"
#include "kernels/cpu/gemm.h"
#include "kernels/device.h"

void cpu_linear(struct ctx *c, struct tensor *y, struct tensor *pre, const struct tensor *x, const struct tensor *w,
                const struct tensor *b, enum activation act)
{
    struct tensor *out = pre ? pre : y;
    struct gemm g = { .m = tensor_rows(y),
                      .n = w->shape[0],
                      .k = w->shape[1],
                      .a = x->data,
                      .b = w->data,
                      .dtype = x->dtype,
                      .tb = true,
                      .b_frozen = w->frozen,
                      .rows = c->rows,
                      .y = out->data,
                      .y_dtype = y->dtype,
                      .bias = b ? b->data : NULL,
                      .act = pre ? ACT_NONE : act };

    gemm(c->dev->state, &g);
    if (pre)
        cpu_activation(c, y, pre, act);
}
