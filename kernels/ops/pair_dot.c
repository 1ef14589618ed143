/*
 * Scaled dot products of pairs of rows. The index of each side lists the pairs of a row, so that gradients are sums in
 * order.
 */
#include "kernels/kernels.h"

struct pair_dot_node {
    struct node node;
    struct tensor *a, *b;
    struct index u, v;
    float scale;
};

static void pair_dot_backward(struct ctx *c, struct node *node)
{
    const struct pair_dot_node *n = (const struct pair_dot_node *)node;
    const struct tensor *dy = node->out->grad;
    const struct index *u = &n->u, *v = &n->v;

    struct destination da = destination_of(c, n->a);
    RUN(c, pair_dot_backward, da, dy, n->b, u, v->ids, n->scale);
    struct destination db = destination_of(c, n->b); /* a and b may be one tensor */
    RUN(c, pair_dot_backward, db, dy, n->a, v, u->ids, n->scale);
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
