/*
 * Rotary positions (Su et al. 2021). Angles are computed once for a step and shared by all layers. The backward turns
 * the gradient the other way.
 */
#include "kernels/kernels.h"

struct tensor *op_rope_angles(struct ctx *c, struct tensor *positions, struct tensor *freqs)
{
    CHECK(positions->dtype == I32 && freqs->dtype == F32, "rope: positions of %s, frequencies of %s",
          dtype_name(positions->dtype), dtype_name(freqs->dtype));
    struct tensor *y = tensor_new2(c, F32, tensor_size(positions), 2 * tensor_size(freqs));
    RUN(c, rope_angles, y, positions, freqs);
    return y;
}

struct rope_node {
    struct node node;
    struct tensor *x, *angles;
};

static void rope_backward(struct ctx *c, struct node *node)
{
    struct rope_node *n = (struct rope_node *)node;
    struct destination dx = destination_of(c, n->x);
    RUN(c, rope, dx, node->out->grad, n->angles, true);
}

struct tensor *op_rope(struct ctx *c, struct tensor *x, struct tensor *angles)
{
    int64_t cols = tensor_cols(x), head = tensor_cols(angles);
    CHECK(x->dtype != I32 && angles->dtype == F32 && tensor_rows(angles) == tensor_rows(x),
          "rope: %lld rows of %s, angles [%lld] of %s", (long long)tensor_rows(x), dtype_name(x->dtype),
          (long long)tensor_rows(angles), dtype_name(angles->dtype));
    CHECK(head > 0 && head % 2 == 0 && cols % head == 0, "rope: %lld columns, angles of %lld", (long long)cols,
          (long long)head);

    struct tensor *y = tensor_like(c, x);
    struct destination out = { y, false };
    RUN(c, rope, out, x, angles, false);
    if (tape_needs(c, y, x))
        TAPE_PUSH(c, rope_node, y, rope_backward, .x = x, .angles = angles);
    return y;
}
