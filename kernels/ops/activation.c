/*
 * Activations of each element, and gated linear units. Both backwards read the inputs and never the output, which may
 * then be released with its block.
 */
#include "kernels/kernels.h"

/* An activation of each element. The record keeps x, from which the backward computes the slope; y may then be released
 * with its block. */
struct activation_node {
    struct node node;
    struct tensor *x;
    enum activation act;
};

static void activation_backward(struct ctx *c, struct node *node)
{
    struct activation_node *n = (struct activation_node *)node;
    struct destination dx = destination_of(c, n->x);
    RUN(c, activation_backward, dx, node->out->grad, n->x, n->act);
}

struct tensor *op_activation(struct ctx *c, struct tensor *x, enum activation act)
{
    CHECK(x->dtype != I32, "activation of integers");
    struct tensor *y = tensor_like(c, x);
    RUN(c, activation, y, x, act);
    if (tape_needs(c, y, x))
        TAPE_PUSH(c, activation_node, y, activation_backward, .x = x, .act = act);
    return y;
}

/* A gated linear unit: act(gate) up. y is cheap and large. It is therefore recomputed in the backward (node.remakes):
 * the kernel of the gradients writes it on its way. */
struct glu_node {
    struct node node;
    struct tensor *gate, *up;
    enum gate kind;
};

static void glu_recompute(struct ctx *c, struct node *node)
{
    struct glu_node *n = (struct glu_node *)node;
    RUN(c, glu, node->out, n->gate, n->up, n->kind);
}

static void glu_backward(struct ctx *c, struct node *node)
{
    struct glu_node *n = (struct glu_node *)node;
    struct destination none = { 0 }, dgate = destination_of(c, n->gate);
    struct tensor *dy = node->out->grad, *y = NULL;

    if (n->gate == n->up) { /* one kernel may not write the two gradients of one tensor */
        RUN(c, glu_backward, dgate, none, y, dy, n->gate, n->up, n->kind);
        dgate = none;
    }
    struct destination dup = destination_of(c, n->up);
    y = tape_remade(node);
    RUN(c, glu_backward, dgate, dup, y, dy, n->gate, n->up, n->kind);
}

struct tensor *op_glu(struct ctx *c, struct tensor *gate, struct tensor *up, enum gate kind)
{
    CHECK(gate->dtype != I32 && gate->dtype == up->dtype && tensor_size(gate) == tensor_size(up),
          "glu: gate of %lld %s, up of %lld %s", (long long)tensor_size(gate), dtype_name(gate->dtype),
          (long long)tensor_size(up), dtype_name(up->dtype));
    struct tensor *y = tensor_like(c, gate);
    RUN(c, glu, y, gate, up, kind);
    if (tape_needs(c, y, gate, up))
        TAPE_PUSH(c, glu_node, y, glu_backward, .node.recompute = glu_recompute, .node.remakes = true, .gate = gate,
                  .up = up, .kind = kind);
    return y;
}
