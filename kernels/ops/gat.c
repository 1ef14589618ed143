/*
 * Graph attention with biases of relations. Activation and dropout of the result are part of the op, which saves two
 * passes over y. The record keeps the coefficients before dropout; masks are drawn again.
 */
#include "kernels/kernels.h"

struct gat_node {
    struct node node;
    struct tensor *z, *pre, *alpha;
    struct gat gat;
    struct graph graph; /* a copy, since the caller's may be gone before the backward */
    uint32_t site;
};

static void gat_backward(struct ctx *c, struct node *node)
{
    struct gat_node *n = (struct gat_node *)node;
    struct gat gat = n->gat, *g = &gat;
    gat.graph = &n->graph;
    struct destination dz = destination_of(c, n->z), da_src = destination_of(c, g->a_src),
                       da_dst = destination_of(c, g->a_dst);
    struct destination dedge_bias = destination_of(c, g->edge_bias), dbias = destination_of(c, g->bias);
    RUN(c, gat_backward, dz, da_src, da_dst, dedge_bias, dbias, node->out->grad, n->pre, n->alpha, n->z, g, n->site);
}

static void check_shapes(const struct tensor *z, const struct gat *g)
{
    int64_t hd = tensor_cols(z), heads = g->heads, out = g->mean ? hd / (heads ? heads : 1) : hd;

    CHECK(heads > 0 && z->ndim == 2 && hd % heads == 0, "gat: %lld columns over %d heads", (long long)hd, g->heads);
    CHECK(z->shape[0] == g->graph->nodes, "gat: %lld rows, %lld nodes", (long long)z->shape[0],
          (long long)g->graph->nodes);
    CHECK(tensor_size(g->a_src) == hd && tensor_size(g->a_dst) == hd && g->a_src->dtype == F32 &&
              g->a_dst->dtype == F32,
          "gat: attention vectors of %lld and %lld numbers for %lld columns", (long long)tensor_size(g->a_src),
          (long long)tensor_size(g->a_dst), (long long)hd);
    CHECK(!g->edge_bias || (tensor_cols(g->edge_bias) == heads && g->edge_bias->dtype == F32),
          "gat: edge bias of %lld columns for %d heads", (long long)tensor_cols(g->edge_bias), g->heads);
    CHECK(!g->bias || (tensor_size(g->bias) == out && g->bias->dtype == F32), "gat: bias of %lld numbers for %lld",
          (long long)tensor_size(g->bias), (long long)out);
}

struct tensor *op_gat(struct ctx *c, struct tensor *z, const struct gat *given)
{
    struct gat gat = *given, *g = &gat;
    check_shapes(z, g);
    if (!c->training)
        gat.p = gat.out_p = 0;
    /* The coefficients and the result each take a site of their own, if they have dropout. */
    uint32_t site = c->site;
    c->site += (uint32_t)(gat.p > 0) + (uint32_t)(gat.out_p > 0);

    int64_t cols = gat.mean ? tensor_cols(z) / gat.heads : tensor_cols(z);
    struct tensor *y = tensor_new2(c, z->dtype, z->shape[0], cols), *pre = NULL;
    struct tensor *alpha = tensor_new2(c, F32, gat.graph->edges, gat.heads);
    bool record = tape_needs(c, y, z, gat.a_src, gat.a_dst, gat.edge_bias, gat.bias);
    if (record && gat.act != ACT_NONE)
        pre = tensor_like(c, y);
    RUN(c, gat, y, pre, alpha, z, g, site);
    if (record)
        TAPE_PUSH(c, gat_node, y, gat_backward, .z = z, .pre = pre, .alpha = alpha, .gat = gat, .graph = *gat.graph,
                  .site = site);
    return y;
}
