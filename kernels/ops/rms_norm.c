/*
 * RMS norm of rows or of heads. y is recomputed in the backward: the kernel of the gradients writes it on its way,
 * since it reads x and rstd anyway.
 */
#include "kernels/kernels.h"

struct rms_norm_node {
    struct node node;
    struct tensor *x, *w, *rstd;
    float eps;
};

static void rms_norm_recompute(struct ctx *c, struct node *node)
{
    struct rms_norm_node *n = (struct rms_norm_node *)node;
    RUN(c, rms_norm, node->out, n->rstd, n->x, n->w, n->eps);
}

static void rms_norm_backward(struct ctx *c, struct node *node)
{
    struct rms_norm_node *n = (struct rms_norm_node *)node;
    struct destination dx = destination_of(c, n->x), dw = destination_of(c, n->w);
    struct tensor *y = tape_remade(node);
    RUN(c, rms_norm_backward, dx, dw, y, node->out->grad, n->x, n->w, n->rstd);
}

struct tensor *op_rms_norm(struct ctx *c, struct tensor *x, struct tensor *w, float eps)
{
    int64_t cols = tensor_cols(x), group = tensor_size(w);
    CHECK(x->dtype != I32 && w->dtype == F32 && group > 0 && cols % group == 0,
          "rms_norm: %lld columns of %s, weight [%lld] of %s", (long long)cols, dtype_name(x->dtype), (long long)group,
          dtype_name(w->dtype));

    struct tensor *y = tensor_like(c, x), *rstd = tensor_new2(c, F32, tensor_rows(x), cols / group);
    RUN(c, rms_norm, y, rstd, x, w, eps);
    if (tape_needs(c, y, x, w))
        TAPE_PUSH(c, rms_norm_node, y, rms_norm_backward, .node.recompute = rms_norm_recompute, .node.remakes = true,
                  .x = x, .w = w, .rstd = rstd, .eps = eps);
    return y;
}
