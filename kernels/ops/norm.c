/*
 * Layer norm and RMS norm. The records keep the statistics of a row, a number or two, and the backwards compute
 * everything else again.
 */
#include "kernels/kernels.h"

/* Layer norm of x + res. The record keeps mean and rstd, two numbers for each row; the sum is computed again. The
 * gradients of x and res are equal, and one kernel writes both. */
struct layer_norm_node {
    struct node node;
    struct tensor *x, *res, *w, *b, *mean, *rstd;
};

static void layer_norm_backward(struct ctx *c, struct node *node)
{
    struct layer_norm_node *n = (struct layer_norm_node *)node;
    struct destination none = { 0 }, dw = destination_of(c, n->w), db = destination_of(c, n->b),
                       dx = destination_of(c, n->x);
    struct tensor *dy = node->out->grad;

    if (n->res == n->x) { /* one kernel may not write the two gradients of one tensor */
        RUN(c, layer_norm_backward, dx, none, dw, db, dy, n->x, n->res, n->w, n->mean, n->rstd);
        dx = destination_of(c, n->x);
        RUN(c, layer_norm_backward, dx, none, none, none, dy, n->x, n->res, n->w, n->mean, n->rstd);
        return;
    }
    struct destination dres = destination_of(c, n->res);
    RUN(c, layer_norm_backward, dx, dres, dw, db, dy, n->x, n->res, n->w, n->mean, n->rstd);
}

struct tensor *op_layer_norm(struct ctx *c, struct tensor *x, struct tensor *res, struct tensor *w, struct tensor *b,
                             float eps)
{
    int64_t cols = tensor_cols(x);
    CHECK(tensor_size(w) == cols && tensor_size(b) == cols && w->dtype == F32 && b->dtype == F32,
          "layer_norm: %lld columns, weight %lld, bias %lld", (long long)cols, (long long)tensor_size(w),
          (long long)tensor_size(b));
    CHECK(!res || (tensor_size(res) == tensor_size(x) && res->dtype == x->dtype), "layer_norm: residual of %lld, %lld",
          (long long)tensor_size(res), (long long)tensor_size(x));

    struct tensor *y = tensor_like(c, x);
    struct tensor *mean = tensor_new1(c, F32, tensor_rows(x)), *rstd = tensor_like(c, mean);
    RUN(c, layer_norm, y, mean, rstd, x, res, w, b, eps);
    if (tape_needs(c, y, x, res, w, b))
        TAPE_PUSH(c, layer_norm_node, y, layer_norm_backward, .x = x, .res = res, .w = w, .b = b, .mean = mean,
                  .rstd = rstd);
    return y;
}

/* RMS norm of rows or of heads. y is recomputed in the backward: the kernel of the gradients writes it on its way,
 * since it reads x and rstd anyway. */
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
