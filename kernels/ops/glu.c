#include "kernels/kernels.h"

struct swiglu_node {
    struct node node;
    struct tensor *gate, *up;
};

static void swiglu_recompute(struct ctx *c, struct node *node)
{
    struct swiglu_node *n = (struct swiglu_node *)node;
    RUN(c, swiglu, node->out, n->gate, n->up);
}

static void swiglu_backward(struct ctx *c, struct node *node)
{
    struct swiglu_node *n = (struct swiglu_node *)node;
    struct destination none = { 0 }, dgate = destination_of(c, n->gate);
    struct tensor *dy = node->out->grad;

    if (n->gate == n->up) { /* one kernel may not write the two gradients of one tensor */
        RUN(c, swiglu_backward, dgate, none, dy, n->gate, n->up);
        dgate = none;
    }
    struct destination dup = destination_of(c, n->up);
    RUN(c, swiglu_backward, dgate, dup, dy, n->gate, n->up);
}

struct tensor *op_swiglu(struct ctx *c, struct tensor *gate, struct tensor *up)
{
    CHECK(gate->dtype != I32 && gate->dtype == up->dtype && tensor_size(gate) == tensor_size(up),
          "swiglu: gate of %lld %s, up of %lld %s", (long long)tensor_size(gate), dtype_name(gate->dtype),
          (long long)tensor_size(up), dtype_name(up->dtype));
    struct tensor *y = tensor_like(c, gate);
    RUN(c, swiglu, y, gate, up);
    if (tape_needs(c, y, gate, up))
        TAPE_PUSH(c, swiglu_node, y, swiglu_backward, .node.recompute = swiglu_recompute, .gate = gate, .up = up);
    return y;
}
