/*
 * Ops on single elements, and reshape. Their records hold inputs and the scalars of the call; no backward reads the
 * output.
 */
#include "kernels/kernels.h"

/* The sum of two tensors, and the sum in place of decoders, which has no record. The gradient of the output is that of
 * both inputs: one input gets a copy, and the other takes its memory over, without a copy. */
struct add_node {
    struct node node;
    struct tensor *a, *b;
};

static void add_backward(struct ctx *c, struct node *node)
{
    struct add_node *n = (struct add_node *)node;
    struct tensor *dy = node->out->grad;

    struct destination db = destination_of(c, n->b);
    RUN(c, accumulate, db, dy);
    /* The move comes last, since it may hand the memory of dy to a. */
    tape_move_grad(c, n->a, dy);
}

void op_add_to(struct ctx *c, struct tensor *y, struct tensor *x)
{
    struct destination sum = { y, true };

    CHECK(!c->recording, "add_to has no backward; add has");
    CHECK(tensor_size(x) == tensor_size(y) && tensor_cols(x) == tensor_cols(y) && x->dtype == y->dtype,
          "add_to: %lld elements of %s to %lld of %s", (long long)tensor_size(x), dtype_name(x->dtype),
          (long long)tensor_size(y), dtype_name(y->dtype));
    RUN(c, accumulate, sum, x);
}

struct tensor *op_add(struct ctx *c, struct tensor *a, struct tensor *b)
{
    CHECK(tensor_size(a) == tensor_size(b) && tensor_cols(a) == tensor_cols(b) && a->dtype == b->dtype,
          "add: %lld and %lld elements, %s and %s", (long long)tensor_size(a), (long long)tensor_size(b),
          dtype_name(a->dtype), dtype_name(b->dtype));
    struct tensor *y = tensor_like(c, a);
    RUN(c, add, y, a, b);
    if (tape_needs(c, y, a, b))
        TAPE_PUSH(c, add_node, y, add_backward, .a = a, .b = b);
    return y;
}

struct scale_node {
    struct node node;
    struct tensor *x;
    float alpha;
};

static void scale_backward(struct ctx *c, struct node *node)
{
    struct scale_node *n = (struct scale_node *)node;
    struct destination dx = destination_of(c, n->x);
    RUN(c, scale, dx, node->out->grad, n->alpha);
}

struct tensor *op_scale(struct ctx *c, struct tensor *x, float alpha)
{
    struct destination y = { tensor_like(c, x), false };
    RUN(c, scale, y, x, alpha);
    if (tape_needs(c, y.t, x))
        TAPE_PUSH(c, scale_node, y.t, scale_backward, .x = x, .alpha = alpha);
    return y.t;
}

/* A conversion between float types. The backward converts the gradient to the type of x, and adds it. */
struct cast_node {
    struct node node;
    struct tensor *x;
};

static void cast_backward(struct ctx *c, struct node *node)
{
    struct cast_node *n = (struct cast_node *)node;
    struct destination dx = destination_of(c, n->x);
    RUN(c, accumulate, dx, node->out->grad);
}

struct tensor *op_cast(struct ctx *c, struct tensor *x, enum dtype dtype)
{
    CHECK(x->dtype != I32 && dtype != I32, "cast from %s to %s", dtype_name(x->dtype), dtype_name(dtype));
    struct tensor *y = tensor_new(c, dtype, x->ndim, x->shape);
    RUN(c, cast, y, x);
    if (tape_needs(c, y, x))
        TAPE_PUSH(c, cast_node, y, cast_backward, .x = x);
    return y;
}

/* Dropout. A mask is not stored: it follows from the step's random key and the site, the number of the dropout within
 * the step. The backward draws it again. */
struct dropout_node {
    struct node node;
    struct tensor *x;
    float p;
    uint32_t site;
};

static void dropout_backward(struct ctx *c, struct node *node)
{
    struct dropout_node *n = (struct dropout_node *)node;
    struct destination dx = destination_of(c, n->x);
    RUN(c, dropout, dx, node->out->grad, n->p, n->site);
}

struct tensor *op_dropout(struct ctx *c, struct tensor *x, float p)
{
    CHECK(p >= 0 && p < 1, "dropout: probability %g", (double)p);
    if (!c->training || p == 0)
        return x;
    uint32_t site = c->site++;
    struct tensor *y = tensor_like(c, x);
    struct destination out = { y, false };
    RUN(c, dropout, out, x, p, site);
    if (tape_needs(c, y, x))
        TAPE_PUSH(c, dropout_node, y, dropout_backward, .x = x, .p = p, .site = site);
    return y;
}

/* Uniform noise on embeddings while training (Jain et al. 2023), scaled by the root of length and width. The gradient
 * passes unchanged, and is moved. */
struct neftune_node {
    struct node node;
    struct tensor *x;
};

static void neftune_backward(struct ctx *c, struct node *node)
{
    struct neftune_node *n = (struct neftune_node *)node;
    tape_move_grad(c, n->x, node->out->grad);
}

struct tensor *op_neftune(struct ctx *c, struct tensor *x, const struct seqs *s, float alpha)
{
    CHECK(x->dtype != I32 && alpha >= 0, "neftune: noise %g for %s", (double)alpha, dtype_name(x->dtype));
    if (!c->training || alpha == 0)
        return x;
    uint32_t site = c->site++;
    struct tensor *y = tensor_like(c, x);
    RUN(c, neftune, y, x, s, alpha, site);
    if (tape_needs(c, y, x))
        TAPE_PUSH(c, neftune_node, y, neftune_backward, .x = x);
    return y;
}

/* Another shape of the same memory. The gradient has the memory of dy, seen in the shape of x, and is moved. */
struct reshape_node {
    struct node node;
    struct tensor *x;
};

static void reshape_backward(struct ctx *c, struct node *node)
{
    struct reshape_node *n = (struct reshape_node *)node;
    struct tensor *dx = arena_alloc(c->host, sizeof *dx);

    *dx = *n->x;
    dx->data = node->out->grad->data;
    dx->grad = NULL;
    dx->needs_grad = dx->is_param = false;
    tape_move_grad(c, n->x, dx);
}

struct tensor *op_reshape(struct ctx *c, struct tensor *x, int ndim, const int64_t *shape)
{
    struct tensor *y = arena_alloc(c->host, sizeof *y);

    /* The data of a transient tensor is given up at the end of its block, which y would not notice. */
    CHECK(!x->transient, "reshape of a transient tensor");
    CHECK(ndim >= 0 && ndim <= TENSOR_MAX_DIMS, "reshape to %d dimensions", ndim);
    *y = (struct tensor){ .data = x->data, .dtype = x->dtype, .ndim = ndim };
    for (int i = 0; i < ndim; i++)
        y->shape[i] = shape[i];
    CHECK(tensor_size(y) == tensor_size(x), "reshape of %lld elements to %lld", (long long)tensor_size(x),
          (long long)tensor_size(y));
    if (tape_needs(c, y, x))
        TAPE_PUSH(c, reshape_node, y, reshape_backward, .x = x);
    return y;
}
