/*
 * Uniform noise on embeddings while training (Jain et al. 2023), scaled by the root of length and width. The gradient
 * passes unchanged, and is moved.
 */
#include "kernels/kernels.h"

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
