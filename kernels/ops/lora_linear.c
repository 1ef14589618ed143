#include "kernels/ops/low_rank.h"

struct lora_linear_node {
    struct node node;
    struct tensor *x, *w, *bias, *beside; /* beside: the tensor that y adds to the map; NULL: none */
    struct low_rank low;
};

/* Returns whether dA waits for the data of x, so that this record does not need it. */
static bool waits(const struct lora_linear_node *n)
{
    return n->low.h && n->low.p == 0 && !n->w->needs_grad && low_rank_waits(n->low.lora.a, n->x);
}

/* The adapter's part of dx comes before that of w, see low_rank.h. */
static void adapter_backward(struct ctx *c, const struct lora_linear_node *n, struct destination *dx, struct tensor *dy)
{
    struct destination b = destination_of(c, n->low.lora.b), *db = &b;
    bool more = low_rank_needs(&n->low, *dx), stays = waits(n);
    size_t mark = arena_mark(c->step);
    struct tensor *dh = more ? tensor_like(c, n->low.h) : NULL, *const *dys = &dy, *const *h = &n->low.h;
    const struct lora *adapter = &n->low.lora;

    RUN(c, lora_out_backward, dh, db, dys, h, adapter, 1);
    if (more)
        low_rank_backward(c, &n->low, *dx, n->x, dh);
    if (!stays)
        arena_reset(c->step, mark);
    dx->add |= more;
}

static void lora_linear_backward(struct ctx *c, struct node *node)
{
    struct lora_linear_node *n = (struct lora_linear_node *)node;

    if (n->w->needs_grad || (n->low.h && n->low.lora.a->needs_grad && !waits(n)))
        tape_recompute(c, n->x);
    struct destination dx = destination_of(c, n->x), dw = destination_of(c, n->w), dbias = destination_of(c, n->bias);
    struct tensor *dy = node->out->grad;

    if (n->low.h)
        adapter_backward(c, n, &dx, dy);
    if (dx.t)
        RUN(c, matmul, dx, dy, false, n->w, false);
    if (dw.t)
        RUN(c, matmul, dw, dy, true, n->x, false);
    if (dbias.t)
        RUN(c, sum_rows, dbias, dy);
    if (n->beside)
        tape_move_grad(c, n->beside, dy);
}

/* y = beside + the map of x.  The sum is in place and adds to the rounded output of the map. */
static struct tensor *lora_linear(struct ctx *c, struct tensor *beside, struct tensor *x, struct tensor *w,
                                  struct tensor *b, const struct lora *l)
{
    CHECK(!b || (tensor_size(b) == w->shape[0] && b->dtype == F32),
          "lora_linear: expected an f32 bias of %lld, got %lld", (long long)w->shape[0], (long long)tensor_size(b));
    struct tensor *y = tensor_new2(c, x->dtype, x->shape[0], w->shape[0]);
    struct low_rank low = low_rank_map(c, y, x, w, b, l);

    if (beside)
        RUN(c, add, y, beside, y);
    if (tape_needs(c, y, beside, x, w, b, low.lora.a, low.lora.b))
        TAPE_PUSH(c, lora_linear_node, y, lora_linear_backward, .x = x, .w = w, .bias = b, .beside = beside,
                  .low = low);
    return y;
}

struct tensor *op_lora_linear(struct ctx *c, struct tensor *x, struct tensor *w, struct tensor *b, const struct lora *l)
{
    return lora_linear(c, NULL, x, w, b, l);
}

struct tensor *op_lora_residual(struct ctx *c, struct tensor *x, struct tensor *h, struct tensor *w, struct tensor *b,
                                const struct lora *l)
{
    CHECK(x->ndim == 2 && x->shape[0] == h->shape[0] && x->shape[1] == w->shape[0] && x->dtype == h->dtype,
          "lora_residual: %lld rows of %lld to %lld of %lld", (long long)h->shape[0], (long long)w->shape[0],
          (long long)tensor_rows(x), (long long)tensor_cols(x));
    return lora_linear(c, x, h, w, b, l);
}
