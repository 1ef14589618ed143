#include "tests/support/reference_graph.h"

#include "kernels/base.h"
#include "tests/support/reference.h"

#include <math.h>
#include <stdlib.h>

static double score(const struct reference_gat *g, int64_t e, int h)
{
    const int32_t *edge = g->edges + 3 * e;
    double s = g->edge_bias ? g->edge_bias[edge[2] * g->heads + h] : 0;
    int64_t at = (int64_t)h * g->dim, width = (int64_t)g->heads * g->dim;

    s += reference_dot(g->a_src + at, g->z + edge[0] * width + at, g->dim);
    s += reference_dot(g->a_dst + at, g->z + edge[1] * width + at, g->dim);
    return s > 0 ? s : g->slope * s;
}

/* Weight of each edge for head h: exp(score) over the sum of those with the same target. */
static void weights(double *w, const struct reference_gat *g, int h)
{
    double *sum = xcalloc((size_t)g->nodes, sizeof *sum);

    for (int64_t e = 0; e < g->n_edges; e++)
        sum[g->edges[3 * e + 1]] += w[e] = exp(score(g, e, h));
    for (int64_t e = 0; e < g->n_edges; e++)
        w[e] /= sum[g->edges[3 * e + 1]];
    free(sum);
}

void reference_gat(double *y, double *alpha, const struct reference_gat *g)
{
    int64_t width = (int64_t)g->heads * g->dim, cols = g->mean ? g->dim : width;
    double *w = xmalloc((size_t)g->n_edges * sizeof *w);

    for (int64_t i = 0; i < g->nodes * cols && g->bias; i++)
        y[i] += g->bias[i % cols];
    for (int h = 0; h < g->heads; h++) {
        weights(w, g, h);
        for (int64_t e = 0; e < g->n_edges; e++) {
            const int32_t *edge = g->edges + 3 * e;
            double share = w[e] * (g->p > 0 ? reference_keep(g->rng, g->site, e, h, g->p) : 1);
            reference_add(y + edge[1] * cols + (g->mean ? 0 : h * g->dim), share / (g->mean ? g->heads : 1),
                          g->z + edge[0] * width + h * g->dim, g->dim);
            if (alpha)
                alpha[e * g->heads + h] = w[e];
        }
    }
    free(w);
}
