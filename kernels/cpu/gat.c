/*
 * Graph attention (Velickovic et al. 2018): z_j of the sources j of a node's edges, weighted by a softmax of scores.
 * The score of an edge j -> i is LeakyReLU(a_src z_j + a_dst z_i + the bias of its relation).
 *
 * Edges are sorted by target. The forward and the gradients of edges therefore run over blocks of nodes, each with a
 * contiguous run of edges. The gradients of nodes run over the edges out of a node, by a second index. Every sum has
 * one writer and one order, so that results do not depend on the number of threads.
 */
#include "kernels/cpu/activation.h"
#include "kernels/cpu/dropout_mask.h"
#include "kernels/cpu/row.h"
#include "kernels/cpu/vmath.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NODE_BLOCK = 16 }; /* nodes a thread takes at a time */

/* Everything one aggregation reads, as plain arrays; z is widened once when it is BF16. */
struct gat_call {
    const int32_t *offsets, *sources, *types, *targets, *out_offsets, *out_edges;
    const float *z, *a_src, *a_dst, *edge_bias;
    float *owned;                            /* z when widened */
    float *src, *dst;                        /* [N, H] a_src . z_j and a_dst . z_i */
    float *keep;                             /* [E, H] what coefficients are multiplied by: dropout, and 1/H for mean */
    int64_t nodes, edges, heads, dim, width; /* width = heads * dim */
    float slope;
    bool parallel;
};

static float *widen(const struct tensor *t)
{
    int64_t n = tensor_size(t);
    float *out = floats_new(n);

#pragma omp parallel for schedule(static) if (n > PARALLEL_MIN)
    for (int64_t at = 0; at < n; at += ROW_BLOCK)
        row_load(out + at, t, at, run_length(at, n));
    return out;
}

static int64_t block_end(const struct gat_call *v, int64_t from)
{
    return from + NODE_BLOCK < v->nodes ? from + NODE_BLOCK : v->nodes;
}

CPU_CLONES static void score_block(const struct gat_call *v, int64_t from, int64_t to)
{
    for (int64_t i = from; i < to; i++)
        for (int64_t h = 0; h < v->heads; h++) {
            const float *z = v->z + i * v->width + h * v->dim;
            v->src[i * v->heads + h] = short_dot(v->a_src + h * v->dim, z, v->dim);
            v->dst[i * v->heads + h] = short_dot(v->a_dst + h * v->dim, z, v->dim);
        }
}

/* keep[e, h] = 0 or share / (1 - p) for DROPOUT_MASK_LANES edges from `first` on: a block of random words serves four
 * heads. */
static void keep_edges(const struct gat_call *v, const int32_t *rng, uint32_t site, int64_t first, float p, float share)
{
    float lanes[4][DROPOUT_MASK_LANES];
    int64_t n = v->edges - first < DROPOUT_MASK_LANES ? v->edges - first : DROPOUT_MASK_LANES;

    for (int64_t h = 0; h < v->heads; h++) {
        if (h % 4 == 0)
            dropout_mask_lanes(lanes, rng, site, (uint32_t)first, 1, (uint32_t)(h / 4), p);
        for (int64_t l = 0; l < n; l++)
            v->keep[(first + l) * v->heads + h] = share * lanes[h % 4][l];
    }
}

static void draw_keep(const struct gat_call *v, const struct tensor *rng, uint32_t site, float p, float share)
{
    if (p <= 0) {
        for (int64_t k = 0; k < v->edges * v->heads; k++)
            v->keep[k] = share;
        return;
    }
#pragma omp parallel for schedule(static) if (v->parallel)
    for (int64_t e = 0; e < v->edges; e += DROPOUT_MASK_LANES)
        keep_edges(v, rng->data, site, e, p, share);
}

static struct gat_call view_open(struct ctx *c, const struct tensor *z, const struct gat *g, uint32_t site)
{
    const struct graph *gr = g->graph;
    struct gat_call v = { .offsets = gr->offsets->data,
                          .sources = gr->sources->data,
                          .types = gr->types->data,
                          .targets = gr->targets->data,
                          .out_offsets = gr->out_offsets->data,
                          .out_edges = gr->out_edges->data,
                          .a_src = g->a_src->data,
                          .a_dst = g->a_dst->data,
                          .edge_bias = g->edge_bias ? g->edge_bias->data : NULL,
                          .nodes = gr->nodes,
                          .edges = gr->edges,
                          .heads = g->heads,
                          .width = tensor_cols(z),
                          .dim = tensor_cols(z) / g->heads,
                          .slope = g->slope,
                          .parallel = tensor_size(z) > PARALLEL_MIN };

    /* Every node is read once for each of its edges, so that widening it once is cheaper than at each read. */
    v.owned = z->dtype == BF16 ? widen(z) : NULL;
    v.z = v.owned ? v.owned : z->data;
    /* One allocation holds src, dst and keep. */
    v.src = floats_new((2 * v.nodes + v.edges) * v.heads);
    v.dst = v.src + v.nodes * v.heads;
    v.keep = v.dst + v.nodes * v.heads;
    draw_keep(&v, c->rng, site, g->p, g->mean ? 1.0f / (float)g->heads : 1);
#pragma omp parallel for schedule(static) if (v.parallel)
    for (int64_t i = 0; i < v.nodes; i += NODE_BLOCK)
        score_block(&v, i, block_end(&v, i));
    return v;
}

static void view_close(struct gat_call *v)
{
    free(v->owned);
    free(v->src);
}

/* The argument of LeakyReLU for edge e into i. */
static inline float score(const struct gat_call *v, int64_t e, int64_t i, int64_t h)
{
    float s = v->src[v->sources[e] * v->heads + h] + v->dst[i * v->heads + h];
    return v->edge_bias ? s + v->edge_bias[v->types[e] * v->heads + h] : s;
}

/* Computes the argument of the exponential of alpha[e, h], for all edges into i. */
static inline void exponents(float *alpha, const struct gat_call *v, int64_t i, int64_t h)
{
    float max = -INFINITY;

    for (int64_t e = v->offsets[i]; e < v->offsets[i + 1]; e++) {
        float s = score(v, e, i, h);
        s = s > 0 ? s : v->slope * s;
        alpha[e * v->heads + h] = s;
        max = s > max ? s : max;
    }
    for (int64_t e = v->offsets[i]; e < v->offsets[i + 1]; e++)
        /* The softmax is of differences from the largest score, whose exponentials cannot overflow. */
        alpha[e * v->heads + h] -= max;
}

static inline void normalise(float *alpha, const struct gat_call *v, int64_t i, int64_t h)
{
    float sum = 0;

    for (int64_t e = v->offsets[i]; e < v->offsets[i + 1]; e++)
        sum += alpha[e * v->heads + h];
    for (int64_t e = v->offsets[i]; e < v->offsets[i + 1]; e++)
        alpha[e * v->heads + h] /= sum;
}

/* alpha[e, h] for all edges into the nodes of a block, whose exponentials are taken in one run. */
CPU_CLONES static void softmax_block(float *alpha, const struct gat_call *v, int64_t from, int64_t to)
{
    for (int64_t i = from; i < to; i++)
        for (int64_t h = 0; h < v->heads; h++)
            exponents(alpha, v, i, h);
    /* The edges of a block lie side by side in [E, H], so that one loop takes all exponentials in whole vectors. */
    for (int64_t k = v->offsets[from] * v->heads; k < v->offsets[to] * v->heads; k++)
        alpha[k] = vexp(alpha[k]);
    for (int64_t i = from; i < to; i++)
        for (int64_t h = 0; h < v->heads; h++)
            normalise(alpha, v, i, h);
}

/* Node i into out, head h at column h * step: += the weighted sum of its sources. */
CPU_CLONES static void gather_node(float *out, const float *alpha, const struct gat_call *v, int64_t i, int64_t step)
{
    for (int64_t e = v->offsets[i]; e < v->offsets[i + 1]; e++)
        for (int64_t h = 0; h < v->heads; h++) {
            float w = v->keep[e * v->heads + h] * alpha[e * v->heads + h];
            short_add_scaled(out + h * step, w, v->z + v->sources[e] * v->width + h * v->dim, v->dim);
        }
}

CPU_CLONES static void multiply_by(float *restrict y, const float *restrict x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] *= x[i];
}

/* Multiplies row i of [N, cols] by the mask of the result's dropout; keep holds a row. */
static void drop_row(float *row, float *keep, struct ctx *c, const struct gat *g, uint32_t site, int64_t i,
                     int64_t cols)
{
    if (g->out_p <= 0)
        return;
    dropout_mask_run(keep, c->rng->data, site + (g->p > 0), (uint32_t)i, 0, cols, g->out_p);
    multiply_by(row, keep, cols);
}

void cpu_gat(struct ctx *c, struct tensor *y, struct tensor *pre, struct tensor *alpha, const struct tensor *z,
             const struct gat *g, uint32_t site)
{
    struct gat_call v = view_open(c, z, g, site);
    /* With a mean, all heads add to the same columns (step 0), and keep has the factor 1 / heads. */
    int64_t cols = tensor_cols(y), step = g->mean ? 0 : v.dim;

#pragma omp parallel if (v.parallel)
    {
        /* The second half is the mask of a row. */
        float *out = floats_new(2 * cols);
#pragma omp for schedule(dynamic)
        for (int64_t from = 0; from < v.nodes; from += NODE_BLOCK) {
            softmax_block(alpha->data, &v, from, block_end(&v, from));
            for (int64_t i = from; i < block_end(&v, from); i++) {
                for (int64_t d = 0; d < cols; d++)
                    out[d] = g->bias ? ((const float *)g->bias->data)[d] : 0;
                gather_node(out, alpha->data, &v, i, step);
                if (pre)
                    row_store((struct destination){ pre, false }, i * cols, out, cols);
                if (g->act != ACT_NONE)
                    activation_run(out, out, cols, g->act);
                drop_row(out, out + cols, c, g, site, i, cols);
                row_store((struct destination){ y, false }, i * cols, out, cols);
            }
        }
        free(out);
    }
    view_close(&v);
}

/* Gradients that meet in one pass of the backward; dy is [N, cols], its head h at column h * step. */
struct gat_back {
    const float *dy, *alpha;
    float *ds, *into, *out; /* [E, H]; [N, H] sums of ds by target and by source */
    int64_t cols, step;
};

/* ds[e, h], from the gradient of alpha to that of the argument of LeakyReLU for the edges into i; its sum by target. */
static inline void softmax_gradient(struct gat_back *b, const struct gat_call *v, int64_t i, int64_t h)
{
    /* The gradient of a softmax is alpha (g - sum alpha g), over the edges into the node. */
    float mean = 0, sum = 0;

    for (int64_t e = v->offsets[i]; e < v->offsets[i + 1]; e++)
        mean += b->alpha[e * v->heads + h] * b->ds[e * v->heads + h];
    for (int64_t e = v->offsets[i]; e < v->offsets[i + 1]; e++) {
        float slope = score(v, e, i, h) > 0 ? 1 : v->slope, *ds = &b->ds[e * v->heads + h];
        sum += *ds = slope * b->alpha[e * v->heads + h] * (*ds - mean);
    }
    b->into[i * v->heads + h] = sum;
}

/* ds[e, h] for the edges into the nodes of a block. */
CPU_CLONES static void edge_gradients(struct gat_back *b, const struct gat_call *v, int64_t from, int64_t to)
{
    for (int64_t e = v->offsets[from]; e < v->offsets[to]; e++)
        for (int64_t h = 0; h < v->heads; h++)
            b->ds[e * v->heads + h] =
                v->keep[e * v->heads + h] * short_dot(b->dy + v->targets[e] * b->cols + h * b->step,
                                                      v->z + v->sources[e] * v->width + h * v->dim, v->dim);
    for (int64_t i = from; i < to; i++)
        for (int64_t h = 0; h < v->heads; h++)
            softmax_gradient(b, v, i, h);
}

/* Computes the gradient of head h of node j: as a source of messages, and through both of its scores. */
CPU_CLONES static void node_gradient(float *restrict dz, const struct gat_call *v, struct gat_back *b, int64_t j,
                                     int64_t h)
{
    const float *a_src = v->a_src + h * v->dim, *a_dst = v->a_dst + h * v->dim;
    float out = 0, into = b->into[j * v->heads + h];

    for (int64_t k = v->out_offsets[j]; k < v->out_offsets[j + 1]; k++)
        out += b->ds[v->out_edges[k] * v->heads + h];
    for (int64_t d = 0; d < v->dim; d++)
        /* Scores are linear in z: as a source the node got `out` in all, as a target `into`. */
        dz[d] = out * a_src[d] + into * a_dst[d];
    for (int64_t k = v->out_offsets[j]; k < v->out_offsets[j + 1]; k++) {
        int64_t e = v->out_edges[k];
        float w = v->keep[e * v->heads + h] * b->alpha[e * v->heads + h];
        short_add_scaled(dz, w, b->dy + v->targets[e] * b->cols + h * b->step, v->dim);
    }
    b->out[j * v->heads + h] = out;
}

/* sum[d] = sum_j s[j, h] z[j, h, d] */
CPU_CLONES static void weighted_nodes(float *sum, const float *s, const struct gat_call *v, int64_t h)
{
    memset(sum, 0, (size_t)v->dim * sizeof *sum);
    for (int64_t j = 0; j < v->nodes; j++)
        short_add_scaled(sum, s[j * v->heads + h], v->z + j * v->width + h * v->dim, v->dim);
}

/* da[h, :] (+)= sum_j s[j, h] z_j */
static void vector_gradient(struct destination da, const float *s, const struct gat_call *v)
{
    if (!da.t)
        return;
#pragma omp parallel if (v->parallel)
    {
        float *sum = floats_new(v->dim);
#pragma omp for schedule(static)
        for (int64_t h = 0; h < v->heads; h++) {
            weighted_nodes(sum, s, v, h);
            row_store(da, h * v->dim, sum, v->dim);
        }
        free(sum);
    }
}

/* Sums of ds by relation, and of dy by column. */
static void bias_gradients(struct destination dedge_bias, struct destination dbias, const struct gat_call *v,
                           const struct gat_back *b)
{
    if (dedge_bias.t) {
        int64_t n = tensor_size(dedge_bias.t);
        float *sum = xcalloc((size_t)n, sizeof *sum);
        for (int64_t e = 0; e < v->edges; e++)
            for (int64_t h = 0; h < v->heads; h++)
                sum[v->types[e] * v->heads + h] += b->ds[e * v->heads + h];
        row_store(dedge_bias, 0, sum, n);
        free(sum);
    }
    if (dbias.t) {
        float *sum = xcalloc((size_t)b->cols, sizeof *sum);
        for (int64_t i = 0; i < v->nodes; i++)
            row_add(sum, b->dy + i * b->cols, b->cols);
        row_store(dbias, 0, sum, b->cols);
        free(sum);
    }
}

/* Returns the gradient of the argument of the activation, in F32; NULL: it is dy itself. */
static float *before_activation(struct ctx *c, const struct tensor *dy, const struct tensor *pre, const struct gat *g,
                                uint32_t site)
{
    int64_t cols = tensor_cols(dy), n = tensor_size(dy);

    /* Without an activation and dropout, dy is the gradient already. */
    if (!pre && g->out_p <= 0)
        return dy->dtype == BF16 ? widen(dy) : NULL;
    float *out = floats_new(n);
#pragma omp parallel if (n > PARALLEL_MIN)
    {
        float *buf = floats_new(3 * cols);
#pragma omp for schedule(static)
        for (int64_t i = 0; i < tensor_rows(dy); i++) {
            float *up = pre ? buf : out + i * cols;
            row_load(up, dy, i * cols, cols);
            drop_row(up, buf + cols, c, g, site, i, cols);
            if (pre)
                activation_back_run(out + i * cols, up, row_in(buf + 2 * cols, pre, i * cols, cols), cols, g->act);
        }
        free(buf);
    }
    return out;
}

void cpu_gat_backward(struct ctx *c, struct destination dz, struct destination da_src, struct destination da_dst,
                      struct destination dedge_bias, struct destination dbias, const struct tensor *dy,
                      const struct tensor *pre, const struct tensor *alpha, const struct tensor *z, const struct gat *g,
                      uint32_t site)
{
    struct gat_call v = view_open(c, z, g, site);
    float *owned = before_activation(c, dy, pre, g, site), *room = floats_new((v.edges + 2 * v.nodes) * v.heads);
    struct gat_back b = { .dy = owned ? owned : dy->data,
                          .alpha = alpha->data,
                          .ds = room,
                          .into = room + v.edges * v.heads,
                          .out = room + (v.edges + v.nodes) * v.heads,
                          .cols = tensor_cols(dy),
                          .step = g->mean ? 0 : v.dim };

#pragma omp parallel if (v.parallel)
    {
        float *row = floats_new(v.width);
#pragma omp for schedule(dynamic)
        for (int64_t from = 0; from < v.nodes; from += NODE_BLOCK)
            edge_gradients(&b, &v, from, block_end(&v, from));
/* The end of the loop before is a barrier: a node reads ds of edges of other blocks. */
#pragma omp for schedule(dynamic, NODE_BLOCK)
        for (int64_t j = 0; j < v.nodes; j++) {
            for (int64_t h = 0; h < v.heads; h++)
                node_gradient(row + h * v.dim, &v, &b, j, h);
            if (dz.t)
                row_store(dz, j * v.width, row, v.width);
        }
        free(row);
    }
    vector_gradient(da_src, b.out, &v);
    vector_gradient(da_dst, b.into, &v);
    bias_gradients(dedge_bias, dbias, &v, &b);
    free(room);
    free(owned);
    view_close(&v);
}
