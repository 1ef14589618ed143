/*
 * Dropout. A mask is not stored: it follows from the step's random key and the site, the number of the dropout within
 * the step. The backward draws it again.
 */
#include "kernels/kernels.h"

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
