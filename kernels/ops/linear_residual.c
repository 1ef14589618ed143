/*
 * x + dropout(h w^T) in f32 beside a network in bf16, as T5 computes its residual stream. The product adds to a copy
 * of x, so that the sum has no pass of its own. The gradient of x is that of y and is moved.
 */
#include "kernels/kernels.h"

struct linear_residual_node {
    struct node node;
    struct tensor *x, *h, *w;
    float p;
    uint32_t site;
};

/* Returns the gradient of h w^T in the type of h: dy itself, or scratch of the caller. */
static struct tensor *product_grad(struct ctx *c, const struct linear_residual_node *n, struct tensor *dy)
{
    struct tensor *d = dy;

    if (n->p > 0) {
        struct destination dropped = { d = tensor_like(c, dy), false };
        RUN(c, dropout, dropped, dy, n->p, n->site);
    }
    if (n->h->dtype == F32)
        return d;
    struct tensor *cast = tensor_new2(c, n->h->dtype, d->shape[0], d->shape[1]);
    RUN(c, cast, cast, d);
    return cast;
}

static void linear_residual_backward(struct ctx *c, struct node *node)
{
    struct linear_residual_node *n = (struct linear_residual_node *)node;
    struct tensor *dy = node->out->grad;

    if (n->w->needs_grad)
        tape_recompute(c, n->h);
    struct destination dh = destination_of(c, n->h), dw = destination_of(c, n->w);
    size_t mark = arena_mark(c->step);
    struct tensor *d = product_grad(c, n, dy);
    if (dh.t)
        RUN(c, matmul, dh, d, false, n->w, false);
    if (dw.t)
        RUN(c, matmul, dw, d, true, n->h, false);
    arena_reset(c->step, mark);
    tape_move_grad(c, n->x, dy);
}

struct tensor *op_linear_residual(struct ctx *c, struct tensor *x, struct tensor *h, struct tensor *w, float p)
{
    CHECK(h->ndim == 2 && w->ndim == 2 && h->shape[1] == w->shape[1] && h->dtype == w->dtype && x->dtype == F32 &&
              x->ndim == 2 && x->shape[0] == h->shape[0] && x->shape[1] == w->shape[0],
          "linear_residual: x [%lld, %lld] of %s, h [%lld, %lld] of %s, w [%lld, %lld] of %s", (long long)x->shape[0],
          (long long)tensor_cols(x), dtype_name(x->dtype), (long long)h->shape[0], (long long)tensor_cols(h),
          dtype_name(h->dtype), (long long)w->shape[0], (long long)tensor_cols(w), dtype_name(w->dtype));
    CHECK(p >= 0 && p < 1, "linear_residual: dropout %g", (double)p);
    p = c->training ? p : 0;
    uint32_t site = p > 0 ? c->site++ : 0;
    struct tensor *y = tensor_like(c, x);
    struct destination out = { y, true };

    size_t mark = arena_mark(c->step);
    struct destination product = p > 0 ? (struct destination){ tensor_like(c, x), false } : out;
    RUN(c, cast, y, x);
    RUN(c, matmul, product, h, false, w, true);
    if (p > 0)
        RUN(c, dropout, out, product.t, p, site);
    arena_reset(c->step, mark);
    if (tape_needs(c, y, x, h, w))
        TAPE_PUSH(c, linear_residual_node, y, linear_residual_backward, .x = x, .h = h, .w = w, .p = p, .site = site);
    return y;
}
