/*
 * gat.cuh - the arguments of the GAT's kernels, their dropout, and the kernels with a warp per node.
 */
#ifndef KERNELS_CUDA_GAT_CUH
#define KERNELS_CUDA_GAT_CUH

#include "kernels/cuda/activation.cuh"

#include <initializer_list>

constexpr int VECTORS = 3; /* gradients of a_src, a_dst and bias */

/* Arguments of an aggregation. */
template <typename T>
struct gat_view {
    const int *offsets, *sources, *types, *targets, *out_offsets, *out_edges, *rng;
    const T *z;
    const float *a_src, *a_dst, *edge_bias;
    float *weight; /* scratch [E, H]: the coefficients after dropout and averaging */
    int64_t nodes, edges;
    int heads, dim;
    float slope, keep_scale, share; /* share: factor of a head's output, 1 / heads for a mean */
    unsigned threshold, site;
    bool drop, mean;
    int outputs; /* heads of y */
    int act;     /* of y, followed by its dropout */
    float out_scale;
    unsigned out_threshold, out_site;
    bool out_drop;
};

/* Returns the factor of the coefficient of edge e and head h: dropout and averaging. */
template <typename T>
__device__ inline float edge_share(const gat_view<T> &g, int64_t e, int h)
{
    if (!g.drop)
        return g.share;
    struct philox w = rng_quad(g.rng, g.site, (uint32_t)e, (uint32_t)(h / 4));
    int k = h % 4;
    unsigned word = k == 0 ? w.v[0] : k == 1 ? w.v[1] : k == 2 ? w.v[2] : w.v[3];
    return word < g.threshold ? 0.0f : g.share * g.keep_scale;
}

/* The factors of dropout for columns 4 quad .. 4 quad + 3 of a row of y. */
template <typename T>
__device__ inline void keep_quad(float (&keep)[4], const gat_view<T> &g, int64_t row, int quad)
{
    struct philox w = g.out_drop ? rng_quad(g.rng, g.out_site, (uint32_t)row, (uint32_t)quad) : philox{};
    for (int k = 0; k < 4; k++)
        keep[k] = !g.out_drop ? 1.0f : w.v[k] < g.out_threshold ? 0.0f : g.out_scale;
}

/* The tensors and the scratch memory of a backward. */
template <typename T>
struct gat_gradients {
    T *dz; /* NULL: not wanted */
    bool add;
    T *up; /* the gradient before the activation; dy if there is neither activation nor dropout */
    const T *dy, *pre;
    const float *alpha;
    float *ds, *slopes, *into; /* twice [E, H], [N, H] */
    float *part;               /* [parts, VECTORS, H D] sums over `per` nodes each; NULL: not wanted */
    int64_t parts, per;
};

/* The kernels of gat_warp.cu.  The first function returns 0 if they do not serve these sizes or addresses, else the
 * packs of a lane that the others take.  The second one returns the nodes of a part. */
template <typename T>
int gat_warp_packs(const gat_view<T> &v, std::initializer_list<const void *> rows);
int64_t gat_warp_nodes(int64_t nodes);
template <typename T>
void gat_warp_forward(struct ctx *c, int packs, T *y, T *pre, float *alpha, const float *bias, const gat_view<T> &v);
template <typename T>
void gat_warp_backward(struct ctx *c, int packs, const struct gat_gradients<T> &d, const gat_view<T> &v);

#endif
