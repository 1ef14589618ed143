/*
 * Products of matrices and the linear maps without an adapter.
 */
#include "kernels/kernels.h"

/* A product of two matrices, each of them transposed or not. */
struct matmul_node {
    struct node node;
    struct tensor *a, *b;
    bool ta, tb;
};

/* y = op(a) op(b): d op(a) = dy op(b)^T, d op(b) = op(a)^T dy.  Each gradient is transposed if its operand is. */
static void matmul_backward(struct ctx *c, struct node *node)
{
    struct matmul_node *n = (struct matmul_node *)node;
    struct tensor *dy = node->out->grad;

    struct destination da = destination_of(c, n->a);
    if (da.t && n->ta)
        RUN(c, matmul, da, n->b, n->tb, dy, true);
    else if (da.t)
        RUN(c, matmul, da, dy, false, n->b, !n->tb);
    struct destination db = destination_of(c, n->b);
    if (db.t && n->tb)
        RUN(c, matmul, db, dy, true, n->a, n->ta);
    else if (db.t)
        RUN(c, matmul, db, n->a, !n->ta, dy, false);
}

struct tensor *op_matmul(struct ctx *c, struct tensor *a, bool ta, struct tensor *b, bool tb)
{
    CHECK(a->ndim == 2 && b->ndim == 2 && a->shape[ta ? 0 : 1] == b->shape[tb ? 1 : 0] && a->dtype == b->dtype,
          "matmul: [%lld, %lld]%s of %s by [%lld, %lld]%s of %s", (long long)a->shape[0], (long long)tensor_cols(a),
          ta ? "^T" : "", dtype_name(a->dtype), (long long)b->shape[0], (long long)tensor_cols(b), tb ? "^T" : "",
          dtype_name(b->dtype));
    struct tensor *y = tensor_new2(c, a->dtype, a->shape[ta ? 1 : 0], b->shape[tb ? 0 : 1]);
    struct destination out = { y, false };
    RUN(c, matmul, out, a, ta, b, tb);
    if (tape_needs(c, y, a, b))
        TAPE_PUSH(c, matmul_node, y, matmul_backward, .a = a, .b = b, .ta = ta, .tb = tb);
    return y;
}

/* A linear map with bias and activation. The record keeps x and, with an activation, its argument. x may be transient;
 * it is recomputed if the gradient of the weight needs it. */
struct linear_node {
    struct node node;
    struct tensor *x, *w, *b, *pre; /* pre: the input of act; NULL if there is none */
    enum activation act;
};

static void linear_backward(struct ctx *c, struct node *node)
{
    struct linear_node *n = (struct linear_node *)node;

    if (n->w->needs_grad)
        tape_recompute(c, n->x);
    struct destination dx = destination_of(c, n->x), dw = destination_of(c, n->w), db = destination_of(c, n->b);
    struct tensor *dpre = node->out->grad;

    /* The gradient before the activation is scratch of this backward. */
    size_t mark = arena_mark(c->step);
    if (n->pre) {
        dpre = tensor_like(c, n->pre);
        struct destination g = { dpre, false };
        RUN(c, activation_backward, g, node->out->grad, n->pre, n->act);
    }
    if (dx.t)
        RUN(c, matmul, dx, dpre, false, n->w, false);
    if (dw.t)
        RUN(c, matmul, dw, dpre, true, n->x, false);
    if (db.t)
        RUN(c, sum_rows, db, dpre);
    arena_reset(c->step, mark);
}

struct tensor *op_linear(struct ctx *c, struct tensor *x, struct tensor *w, struct tensor *b, enum activation act)
{
    CHECK(x->ndim == 2 && w->ndim == 2 && x->shape[1] == w->shape[1] && x->dtype == w->dtype,
          "linear: x has %lld columns of %s, w [%lld, %lld] of %s", (long long)tensor_cols(x), dtype_name(x->dtype),
          (long long)w->shape[0], (long long)tensor_cols(w), dtype_name(w->dtype));
    CHECK(!b || (tensor_size(b) == w->shape[0] && b->dtype == F32), "linear: expected an f32 bias of %lld, got %lld",
          (long long)w->shape[0], (long long)tensor_size(b));

    struct tensor *y = tensor_new2(c, x->dtype, x->shape[0], w->shape[0]), *pre = NULL;
    bool record = tape_needs(c, y, x, w, b);
    if (y->needs_grad && act != ACT_NONE) /* even without recording: all passes of a checkpoint round alike */
        pre = tensor_like(c, y);
    RUN(c, linear, y, pre, x, w, b, act);
    if (record)
        TAPE_PUSH(c, linear_node, y, linear_backward, .x = x, .w = w, .b = b, .pre = pre, .act = act);
    return y;
}

/* x + dropout(h w^T) in f32 beside a network in bf16, as T5 computes its residual stream. The product adds to a copy of
 * x, so that the sum has no pass of its own. The gradient of x is that of y and is moved. */
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
