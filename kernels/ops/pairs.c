/*
 * Ops on pairs of rows, which two indexes of equal length name: products and features.
 */
#include "kernels/kernels.h"

/* Scaled dot products of pairs of rows. The index of each side lists the pairs of a row, so that gradients are sums in
 * order. */
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

/* Features of pairs of rows: both rows, their distance and product, and given numbers. The given numbers have no
 * gradient. */
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
