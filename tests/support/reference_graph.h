/*
 * reference_graph.h - graph attention in double.
 */
#ifndef TESTS_REFERENCE_GRAPH_H
#define TESTS_REFERENCE_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

struct reference_gat {
    const double *z, *a_src, *a_dst, *edge_bias, *bias; /* the last two may be NULL */
    const int32_t *edges;                               /* source, target, type of each, three in a row, by target */
    int64_t n_edges, nodes;
    int heads, dim;
    bool mean;
    double slope;
    float p;
    const int32_t *rng;
    uint32_t site;
};

/* y[nodes, heads * dim or dim] += the layer; alpha [n_edges, heads] (NULL: not wanted) = the coefficients. */
void reference_gat(double *y, double *alpha, const struct reference_gat *g);

#endif
