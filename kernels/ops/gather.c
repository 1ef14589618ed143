/*
 * Rows of a tensor by their ids, and the reverse: rows added up at their ids. Each is the backward of the other. The
 * index also lists who asks for each row, so that sums have one order and one writer.
 */
#include "kernels/kernels.h"

struct gather_node {
    struct node node;
    struct tensor *x;
    struct index i;
};

static void gather_backward(struct ctx *c, struct node *node)
{
    struct gather_node *n = (struct gather_node *)node;
    struct destination dx = destination_of(c, n->x);
    const struct index *i = &n->i;
    RUN(c, scatter, dx, node->out->grad, i);
}

struct tensor *op_gather(struct ctx *c, struct tensor *x, const struct index *i)
{
    CHECK(x->ndim == 2, "gather: rows of a %d-dimensional tensor", x->ndim);
    struct tensor *y = tensor_new2(c, x->dtype, i->n, x->shape[1]);
    struct tensor *ids = i->ids;
    RUN(c, gather, y, x, ids);
    if (tape_needs(c, y, x))
        TAPE_PUSH(c, gather_node, y, gather_backward, .x = x, .i = *i);
    return y;
}

static void scatter_backward(struct ctx *c, struct node *node)
{
    struct gather_node *n = (struct gather_node *)node;
    struct destination dx = destination_of(c, n->x);
    struct tensor *ids = n->i.ids, *dy = node->out->grad;

    if (!dx.t)
        return;
    size_t mark = arena_mark(c->step);
    /* gather cannot add, so that a second writer goes through scratch. */
    struct tensor *rows = dx.add ? tensor_like(c, n->x) : dx.t;
    RUN(c, gather, rows, dy, ids);
    if (dx.add)
        RUN(c, accumulate, dx, rows);
    arena_reset(c->step, mark);
}

struct tensor *op_scatter(struct ctx *c, struct tensor *x, const struct index *i, int64_t rows)
{
    CHECK(x->ndim == 2 && x->shape[0] == i->n, "scatter: %lld rows, %lld ids", (long long)x->shape[0], (long long)i->n);
    CHECK(i->start, "scatter: an index that was not made while recording, so that it does not tell who asks for a row");
    struct tensor *y = tensor_new2(c, x->dtype, rows, x->shape[1]);
    struct destination out = { y, false };
    RUN(c, scatter, out, x, i);
    if (tape_needs(c, y, x))
        TAPE_PUSH(c, gather_node, y, scatter_backward, .x = x, .i = *i);
    return y;
}
