#include "kernels/kernels.h"

struct pair_dot_node {
    struct node node;
    struct tensor *a, *b;
    struct index u, v;
    float scale;
};

/* What reaches x, whose rows `own` stand before those of y that `other` names. */
static void end_backward(struct ctx *c, const struct pair_dot_node *n, struct tensor *x, const struct index *own,
                         const struct tensor *y, const struct index *other)
{
    struct tensor *d = tensor_new2(c, x->dtype, own->n, tensor_cols(x));

    RUN(c, pair_dot_backward, d, n->node.out->grad, y, other->ids, n->scale);
    struct destination dx = destination_of(c, x);
    RUN(c, scatter, dx, d, own);
}

static void pair_dot_backward(struct ctx *c, struct node *node)
{
    const struct pair_dot_node *n = (const struct pair_dot_node *)node;

    if (n->a->needs_grad)
        end_backward(c, n, n->a, &n->u, n->b, &n->v);
    if (n->b->needs_grad)
        end_backward(c, n, n->b, &n->v, n->a, &n->u);
}

struct tensor *op_pair_dot(struct ctx *c, struct tensor *a, const struct index *u, struct tensor *b,
                           const struct index *v, float scale)
{
    CHECK(u->n == v->n && a->ndim == 2 && b->ndim == 2 && tensor_cols(a) == tensor_cols(b) && a->dtype == b->dtype,
          "pair_dot: %lld and %lld ends, rows of %lld and %lld", (long long)u->n, (long long)v->n,
          (long long)tensor_cols(a), (long long)tensor_cols(b));
    struct tensor *y = tensor_new1(c, F32, u->n);
    RUN(c, pair_dot, y, a, b, u->ids, v->ids, scale);
    if (tape_needs(c, y, a, b))
        TAPE_PUSH(c, pair_dot_node, y, pair_dot_backward, .a = a, .b = b, .u = *u, .v = *v, .scale = scale);
    return y;
}
