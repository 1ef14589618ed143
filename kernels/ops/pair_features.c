/*
 * Features of pairs of rows: both rows, their distance and product, and given numbers. The given numbers have no
 * gradient.
 */
#include "kernels/kernels.h"

struct pair_features_node {
    struct node node;
    struct tensor *x;
    struct index u, v;
};

static void pair_features_backward(struct ctx *c, struct node *node)
{
    struct pair_features_node *n = (struct pair_features_node *)node;
    const struct index *u = &n->u, *v = &n->v;
    struct tensor *du = tensor_new2(c, n->x->dtype, u->n, tensor_cols(n->x)), *dv = tensor_like(c, du);
    RUN(c, pair_features_backward, du, dv, node->out->grad, n->x, u->ids, v->ids);

    struct destination dx = destination_of(c, n->x);
    RUN(c, scatter, dx, du, u);
    dx = destination_of(c, n->x);
    RUN(c, scatter, dx, dv, v);
}

struct tensor *op_pair_features(struct ctx *c, struct tensor *x, const struct index *u, const struct index *v,
                                struct tensor *extra)
{
    int64_t cols = 4 * tensor_cols(x) + (extra ? tensor_cols(extra) : 0);

    CHECK(x->ndim == 2 && u->n == v->n, "pair_features: %lld and %lld ends", (long long)u->n, (long long)v->n);
    CHECK(!extra || (extra->dtype == x->dtype && extra->ndim == 2 && extra->shape[0] == u->n),
          "pair_features: extra features of type %s for %lld pairs of type %s", dtype_name(extra->dtype),
          (long long)u->n, dtype_name(x->dtype));
    struct tensor *y = tensor_new2(c, x->dtype, u->n, cols);
    RUN(c, pair_features, y, x, u->ids, v->ids, extra);
    if (tape_needs(c, y, x))
        TAPE_PUSH(c, pair_features_node, y, pair_features_backward, .x = x, .u = *u, .v = *v);
    return y;
}
