/*
 * Ops over segments of rows and over graphs: softmax, pooling, and sums over edges. Segments and edges come sorted,
 * so that each result has one writer and one order of additions.
 */
#include "kernels/kernels.h"

/* Softmax within segments. The backward reads y alone. */
struct segment_softmax_node {
    struct node node;
    struct tensor *x;
    struct seqs segments;
};

static void segment_softmax_backward(struct ctx *c, struct node *node)
{
    struct segment_softmax_node *n = (struct segment_softmax_node *)node;
    struct destination dx = destination_of(c, n->x);
    const struct seqs *s = &n->segments;
    RUN(c, segment_softmax_backward, dx, node->out->grad, node->out, s);
}

struct tensor *op_segment_softmax(struct ctx *c, struct tensor *x, const struct seqs *s)
{
    CHECK(x->dtype == F32, "segment_softmax: numbers of type %s", dtype_name(x->dtype));
    struct tensor *y = tensor_like(c, x);
    RUN(c, segment_softmax, y, x, s);
    if (tape_needs(c, y, x))
        TAPE_PUSH(c, segment_softmax_node, y, segment_softmax_backward, .x = x, .segments = *s);
    return y;
}

/* Mean or sum of the rows of each segment. The backward needs no input, only the segments. */
struct segment_pool_node {
    struct node node;
    struct tensor *x;
    struct seqs segments;
    enum pool pool;
};

static void segment_pool_backward(struct ctx *c, struct node *node)
{
    struct segment_pool_node *n = (struct segment_pool_node *)node;
    struct destination dx = destination_of(c, n->x);
    const struct seqs *s = &n->segments;
    RUN(c, segment_pool_backward, dx, node->out->grad, s, n->pool);
}

struct tensor *op_segment_pool(struct ctx *c, struct tensor *x, const struct seqs *s, enum pool pool)
{
    CHECK(x->ndim == 2, "segment_pool: %d dimensions", x->ndim);
    struct tensor *y = tensor_new2(c, x->dtype, s->n, tensor_cols(x));
    RUN(c, segment_pool, y, x, s, pool);
    if (tape_needs(c, y, x))
        TAPE_PUSH(c, segment_pool_node, y, segment_pool_backward, .x = x, .segments = *s, .pool = pool);
    return y;
}

/* Pooling, dropout and a linear map to one number in one launch, and as many back: each of them alone is too short to
 * fill a GPU. */
struct segment_score_node {
    struct node node;
    struct tensor *x, *pooled, *w, *b;
    struct seqs segments;
    enum pool pool;
    float p;
    uint32_t site;
};

static void segment_score_backward(struct ctx *c, struct node *node)
{
    struct segment_score_node *n = (struct segment_score_node *)node;
    struct destination dx = destination_of(c, n->x), dw = destination_of(c, n->w), db = destination_of(c, n->b);
    const struct seqs *s = &n->segments;
    RUN(c, segment_score_backward, dx, dw, db, node->out->grad, n->pooled, n->w, s, n->pool, n->p, n->site);
}

struct tensor *op_segment_score(struct ctx *c, struct tensor *x, const struct seqs *s, enum pool pool, float p,
                                struct tensor *w, struct tensor *b)
{
    int64_t cols = tensor_cols(x);

    CHECK(x->ndim == 2 && x->dtype == F32 && w->dtype == F32 && b->dtype == F32,
          "segment_score: %d dimensions, types %s, %s and %s", x->ndim, dtype_name(x->dtype), dtype_name(w->dtype),
          dtype_name(b->dtype));
    CHECK(tensor_size(w) == cols && tensor_size(b) == 1 && p >= 0 && p < 1,
          "segment_score: %lld weights and %lld biases for %lld columns, dropout %g", (long long)tensor_size(w),
          (long long)tensor_size(b), (long long)cols, (double)p);
    p = c->training ? p : 0;
    uint32_t site = p > 0 ? c->site++ : 0;
    struct tensor *y = tensor_new1(c, F32, s->n), *pooled = tensor_new2(c, F32, s->n, cols);
    RUN(c, segment_score, y, pooled, x, w, b, s, pool, p, site);
    if (tape_needs(c, y, x, w, b))
        TAPE_PUSH(c, segment_score_node, y, segment_score_backward, .x = x, .pooled = pooled, .w = w, .b = b,
                  .segments = *s, .pool = pool, .p = p, .site = site);
    return y;
}

/* Attention pooling: a softmax of gates within each segment weighs its rows. The record keeps the weights, which are
 * one number for each row. */
struct attention_pool_node {
    struct node node;
    struct tensor *x, *gate, *a;
    struct seqs segments;
};

static void attention_pool_backward(struct ctx *c, struct node *node)
{
    struct attention_pool_node *n = (struct attention_pool_node *)node;
    struct destination dx = destination_of(c, n->x), dgate = destination_of(c, n->gate);
    const struct seqs *s = &n->segments;
    RUN(c, attention_pool_backward, dx, dgate, node->out->grad, n->x, n->a, s);
}

struct tensor *op_attention_pool(struct ctx *c, struct tensor *x, struct tensor *gate, const struct seqs *s)
{
    CHECK(x->ndim == 2 && tensor_size(gate) == x->shape[0] && gate->dtype == F32,
          "attention_pool: %lld gates of type %s for %lld rows", (long long)tensor_size(gate), dtype_name(gate->dtype),
          (long long)x->shape[0]);
    struct tensor *y = tensor_new2(c, x->dtype, s->n, tensor_cols(x));
    struct tensor *a = tensor_new1(c, F32, x->shape[0]);
    RUN(c, attention_pool, y, a, x, gate, s);
    if (tape_needs(c, y, x, gate))
        TAPE_PUSH(c, attention_pool_node, y, attention_pool_backward, .x = x, .gate = gate, .a = a, .segments = *s);
    return y;
}

/* A weighted sum over the edges into each node, as in a graph convolution. The backward is the same sum over the edges
 * out of a node. */
struct propagate_node {
    struct node node;
    struct tensor *x, *w;
    struct graph graph; /* a copy, since the caller's may be gone before the backward */
};

static void propagate_backward(struct ctx *c, struct node *node)
{
    struct propagate_node *n = (struct propagate_node *)node;
    struct destination dx = destination_of(c, n->x);

    if (dx.t)
        RUN(c, propagate, dx, node->out->grad, n->w, &n->graph, true);
}

struct tensor *op_propagate(struct ctx *c, struct tensor *x, struct tensor *w, const struct graph *g)
{
    CHECK(x->ndim == 2 && x->shape[0] == g->nodes, "propagate: %d dimensions, %lld rows, %lld nodes", x->ndim,
          (long long)x->shape[0], (long long)g->nodes);
    CHECK(w->dtype == F32 && tensor_size(w) == g->edges, "propagate: %lld weights for %lld edges",
          (long long)tensor_size(w), (long long)g->edges);
    struct tensor *y = tensor_new2(c, x->dtype, g->nodes, tensor_cols(x));
    struct destination out = { y, false };
    RUN(c, propagate, out, x, w, g, false);
    if (tape_needs(c, y, x))
        TAPE_PUSH(c, propagate_node, y, propagate_backward, .x = x, .w = w, .graph = *g);
    return y;
}
