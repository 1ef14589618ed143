/*
 * A linear map with bias and activation. The record keeps x and, with an activation, its argument. x may be transient;
 * it is recomputed if the gradient of the weight needs it.
 */
#include "kernels/kernels.h"

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
