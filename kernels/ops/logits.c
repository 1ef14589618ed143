/*
 * Logits of combined events, from the logits of the events, which are assumed to be independent.
 */
#include "kernels/kernels.h"

/* The logit of the probability that two independent events both happen, from their logits. The backward recomputes it
 * from the inputs, one gradient at a time. */
struct and_logits_node {
    struct node node;
    struct tensor *a, *b;
};

static void and_logits_backward(struct ctx *c, struct node *node)
{
    struct and_logits_node *n = (struct and_logits_node *)node;
    struct tensor *dy = node->out->grad;

    struct destination da = destination_of(c, n->a);
    RUN(c, and_logits_backward, da, dy, n->a, n->b);
    struct destination db = destination_of(c, n->b); /* after the first kernel: a and b may be the same tensor */
    RUN(c, and_logits_backward, db, dy, n->b, n->a);
}

struct tensor *op_and_logits(struct ctx *c, struct tensor *a, struct tensor *b)
{
    CHECK(a->dtype == F32 && b->dtype == F32 && tensor_size(a) == tensor_size(b),
          "and_logits: %lld and %lld logits of types %s and %s", (long long)tensor_size(a), (long long)tensor_size(b),
          dtype_name(a->dtype), dtype_name(b->dtype));
    struct tensor *y = tensor_like(c, a);
    RUN(c, and_logits, y, a, b);
    if (tape_needs(c, y, a, b))
        TAPE_PUSH(c, and_logits_node, y, and_logits_backward, .a = a, .b = b);
    return y;
}

/* The logit of the probability that at least one event of a segment happens, from the logits of the events. The
 * backward reads x and y. */
struct noisy_or_node {
    struct node node;
    struct tensor *x;
    struct seqs segments;
};

static void noisy_or_backward(struct ctx *c, struct node *node)
{
    struct noisy_or_node *n = (struct noisy_or_node *)node;
    struct destination dx = destination_of(c, n->x);
    const struct seqs *s = &n->segments;
    RUN(c, noisy_or_backward, dx, node->out->grad, n->x, node->out, s);
}

struct tensor *op_noisy_or(struct ctx *c, struct tensor *x, const struct seqs *s)
{
    CHECK(x->dtype == F32, "noisy_or: logits of type %s", dtype_name(x->dtype));
    struct tensor *y = tensor_new1(c, F32, s->n);
    RUN(c, noisy_or, y, x, s);
    if (tape_needs(c, y, x))
        TAPE_PUSH(c, noisy_or_node, y, noisy_or_backward, .x = x, .segments = *s);
    return y;
}
