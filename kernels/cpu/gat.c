#include "kernels/cpu/row.h"
#include "kernels/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Everything one aggregation reads, as plain arrays; z is widened once when it is BF16. */
struct view {
    const int32_t *offsets, *sources, *types, *targets, *out_offsets, *out_edges;
    const float *z, *a_src, *a_dst, *edge_bias;
    float *owned;                            /* z when widened */
    float *src, *dst;                        /* [N, H] a_src . z_j and a_dst . z_i */
    int64_t nodes, edges, heads, dim, width; /* width = heads * dim */
    float slope, share;                      /* share: what a head's output is multiplied by */
    float *keep;                             /* [E, H] what dropout multiplies coefficients by; NULL without */
};

static float *widen(const struct tensor *t)
{
    int64_t n = tensor_size(t);
    float *out = floats_new(n);

    row_load(out, t, 0, n);
    return out;
}

static void node_scores(struct view *g)
{
#pragma omp parallel for schedule(static) if (g->nodes * g->width > PARALLEL_MIN)
    for (int64_t i = 0; i < g->nodes; i++)
        for (int64_t h = 0; h < g->heads; h++) {
            const float *z = g->z + i * g->width + h * g->dim, *a = g->a_src + h * g->dim, *b = g->a_dst + h * g->dim;
            g->src[i * g->heads + h] = row_dot(a, z, g->dim);
            g->dst[i * g->heads + h] = row_dot(b, z, g->dim);
        }
}

/* keep[e, h] = 0 or 1 / (1 - p): a block of random words serves four heads. */
static float *draw_keep(const struct view *v, const int32_t *rng, float p, uint32_t site)
{
    float *keep = floats_new(v->edges * v->heads), scale = 1 / (1 - p);
    uint32_t threshold = rng_threshold(p);

#pragma omp parallel for schedule(static) if (v->edges * v->heads > PARALLEL_MIN / 16)
    for (int64_t e = 0; e < v->edges; e++)
        for (int64_t h = 0; h < v->heads; h += 4) {
            struct philox w = rng_quad(rng, site, (uint32_t)e, (uint32_t)(h / 4));
            for (int64_t k = h; k < v->heads && k < h + 4; k++)
                keep[e * v->heads + k] = w.v[k - h] < threshold ? 0 : scale;
        }
    return keep;
}

static struct view view_open(struct ctx *c, const struct tensor *z, const struct gat *g, uint32_t site)
{
    const struct graph *gr = g->graph;
    struct view v = { .offsets = gr->offsets->data,
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
                      .share = g->mean ? 1.0f / (float)g->heads : 1 };

    v.keep = g->p > 0 ? draw_keep(&v, c->rng->data, g->p, site) : NULL;
    v.owned = z->dtype == BF16 ? widen(z) : NULL;
    v.z = v.owned ? v.owned : z->data;
    v.src = floats_new(2 * v.nodes * v.heads);
    v.dst = v.src + v.nodes * v.heads;
    node_scores(&v);
    return v;
}

static void view_close(struct view *v)
{
    free(v->keep);
    free(v->owned);
    free(v->src);
}

/* The argument of LeakyReLU for edge e into i. */
static inline float score(const struct view *v, int64_t e, int64_t i, int64_t h)
{
    float s = v->src[v->sources[e] * v->heads + h] + v->dst[i * v->heads + h];
    return v->edge_bias ? s + v->edge_bias[v->types[e] * v->heads + h] : s;
}

/* What dropout multiplies the coefficient of edge e and head h by. */
static inline float kept(const struct view *v, int64_t e, int64_t h)
{
    return v->keep ? v->keep[e * v->heads + h] : 1;
}

/* alpha[e, h] for all edges into i. */
static void softmax_edges(float *alpha, const struct view *v, int64_t i, int64_t h)
{
    float max = -INFINITY, sum = 0;

    for (int64_t e = v->offsets[i]; e < v->offsets[i + 1]; e++) {
        float s = score(v, e, i, h);
        s = s > 0 ? s : v->slope * s;
        alpha[e * v->heads + h] = s;
        max = fmaxf(max, s);
    }
    for (int64_t e = v->offsets[i]; e < v->offsets[i + 1]; e++)
        sum += alpha[e * v->heads + h] = expf(alpha[e * v->heads + h] - max);
    for (int64_t e = v->offsets[i]; e < v->offsets[i + 1]; e++)
        alpha[e * v->heads + h] /= sum;
}

/* Head h of node i into out[dim]: += the weighted sum of its sources. */
static void gather_head(float *out, const float *alpha, const struct view *v, int64_t i, int64_t h)
{
    for (int64_t e = v->offsets[i]; e < v->offsets[i + 1]; e++) {
        float w = v->share * kept(v, e, h) * alpha[e * v->heads + h];
        row_add_scaled(out, w, v->z + v->sources[e] * v->width + h * v->dim, v->dim);
    }
}

void cpu_gat(struct ctx *c, struct tensor *y, struct tensor *alpha, const struct tensor *z, const struct gat *g,
             uint32_t site)
{
    struct view v = view_open(c, z, g, site);
    int64_t cols = tensor_cols(y), step = g->mean ? 0 : v.dim;

#pragma omp parallel if (v.nodes * v.width > PARALLEL_MIN)
    {
        float *out = floats_new(cols);
#pragma omp for schedule(dynamic, 16)
        for (int64_t i = 0; i < v.nodes; i++) {
            for (int64_t d = 0; d < cols; d++)
                out[d] = g->bias ? ((const float *)g->bias->data)[d] : 0;
            for (int64_t h = 0; h < v.heads; h++) {
                softmax_edges(alpha->data, &v, i, h);
                gather_head(out + h * step, alpha->data, &v, i, h);
            }
            row_store((struct grad){ y, false }, i * cols, out, cols);
        }
        free(out);
    }
    view_close(&v);
}

/* ds[e, h], the gradient of the argument of LeakyReLU for the edges into i, and its sum by target. */
static void edge_gradients(float *ds, float *into, const float *alpha, const float *dy, const struct view *v, int64_t i,
                           int64_t h)
{
    float mean = 0, sum = 0;

    for (int64_t e = v->offsets[i]; e < v->offsets[i + 1]; e++) {
        float dot = v->share * kept(v, e, h) * row_dot(dy, v->z + v->sources[e] * v->width + h * v->dim, v->dim);
        ds[e * v->heads + h] = dot;
        mean += alpha[e * v->heads + h] * dot;
    }
    for (int64_t e = v->offsets[i]; e < v->offsets[i + 1]; e++) {
        float slope = score(v, e, i, h) > 0 ? 1 : v->slope;
        sum += ds[e * v->heads + h] = slope * alpha[e * v->heads + h] * (ds[e * v->heads + h] - mean);
    }
    into[i * v->heads + h] = sum;
}

/* Gradients that meet in one pass of the backward; dy is [N, cols], its head h at column h * step. */
struct back {
    const float *dy, *alpha;
    float *ds, *into, *out; /* [E, H]; [N, H] sums of ds by target and by source */
    int64_t cols, step;
};

/* What reaches head h of node j: as a source of messages, and through both of its scores. */
static void node_gradient(float *dz, const struct view *v, struct back *b, int64_t j, int64_t h)
{
    const float *a = v->a_src + h * v->dim, *t = v->a_dst + h * v->dim;
    float out = 0, into = b->into[j * v->heads + h];

    memset(dz, 0, (size_t)v->dim * sizeof *dz);
    for (int64_t k = v->out_offsets[j]; k < v->out_offsets[j + 1]; k++) {
        int64_t e = v->out_edges[k];
        float w = v->share * kept(v, e, h) * b->alpha[e * v->heads + h];
        row_add_scaled(dz, w, b->dy + v->targets[e] * b->cols + h * b->step, v->dim);
        out += b->ds[e * v->heads + h];
    }
    row_add_scaled(dz, out, a, v->dim);
    row_add_scaled(dz, into, t, v->dim);
    b->out[j * v->heads + h] = out;
}

/* da[h, :] (+)= sum_j s[j, h] z_j */
static void vector_gradient(struct grad da, const float *s, const struct view *v)
{
    if (!da.t)
        return;
#pragma omp parallel if (v->nodes * v->width > PARALLEL_MIN)
    {
        float *sum = floats_new(v->dim);
#pragma omp for schedule(static)
        for (int64_t h = 0; h < v->heads; h++) {
            memset(sum, 0, (size_t)v->dim * sizeof *sum);
            for (int64_t j = 0; j < v->nodes; j++)
                row_add_scaled(sum, s[j * v->heads + h], v->z + j * v->width + h * v->dim, v->dim);
            row_store(da, h * v->dim, sum, v->dim);
        }
        free(sum);
    }
}

/* Sums of ds by relation, and of dy by column. */
static void bias_gradients(struct grad dedge_bias, struct grad dbias, const struct view *v, const struct back *b)
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

void cpu_gat_backward(struct ctx *c, struct grad dz, struct grad da_src, struct grad da_dst, struct grad dedge_bias,
                      struct grad dbias, const struct tensor *dy, const struct tensor *alpha, const struct tensor *z,
                      const struct gat *g, uint32_t site)
{
    struct view v = view_open(c, z, g, site);
    float *owned = dy->dtype == BF16 ? widen(dy) : NULL, *room = floats_new((v.edges + 2 * v.nodes) * v.heads);
    struct back b = { .dy = owned ? owned : dy->data,
                      .alpha = alpha->data,
                      .ds = room,
                      .into = room + v.edges * v.heads,
                      .out = room + (v.edges + v.nodes) * v.heads,
                      .cols = tensor_cols(dy),
                      .step = g->mean ? 0 : v.dim };

#pragma omp parallel if (v.nodes * v.width > PARALLEL_MIN)
    {
        float *row = floats_new(v.width);
#pragma omp for schedule(dynamic, 16)
        for (int64_t i = 0; i < v.nodes; i++)
            for (int64_t h = 0; h < v.heads; h++)
                edge_gradients(b.ds, b.into, b.alpha, b.dy + i * b.cols + h * b.step, &v, i, h);
#pragma omp for schedule(dynamic, 16)
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
