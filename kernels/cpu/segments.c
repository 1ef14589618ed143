/*
 * Kernels over segments of rows and over graphs. A thread takes whole segments or whole nodes, so that each result
 * has one writer.
 */
#include "kernels/cpu/row.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void softmax_run(float *y, const float *x, int64_t n)
{
    float max = -INFINITY, sum = 0;

    for (int64_t t = 0; t < n; t++)
        max = fmaxf(max, x[t]);
    for (int64_t t = 0; t < n; t++)
        sum += y[t] = expf(x[t] - max);
    for (int64_t t = 0; t < n; t++)
        y[t] /= sum;
}

void cpu_segment_softmax(struct ctx *c, struct tensor *y, const struct tensor *x, const struct seqs *s)
{
    const int32_t *offsets = s->offsets->data;
    const float *in = x->data;
    float *out = y->data;

    (void)c;
#pragma omp parallel for schedule(dynamic, 16) if (tensor_size(x) > PARALLEL_MIN)
    for (int64_t i = 0; i < s->n; i++)
        softmax_run(out + offsets[i], in + offsets[i], offsets[i + 1] - offsets[i]);
}

void cpu_segment_softmax_backward(struct ctx *c, struct destination dx, const struct tensor *dy, const struct tensor *y,
                                  const struct seqs *s)
{
    const int32_t *offsets = s->offsets->data;
    const float *up = dy->data, *p = y->data;
    float *out = dx.t ? dx.t->data : NULL;

    (void)c;
    if (!out)
        return;
#pragma omp parallel for schedule(dynamic, 16) if (tensor_size(y) > PARALLEL_MIN)
    for (int64_t i = 0; i < s->n; i++) {
        float sum = 0;
        for (int64_t t = offsets[i]; t < offsets[i + 1]; t++)
            sum += up[t] * p[t];
        for (int64_t t = offsets[i]; t < offsets[i + 1]; t++)
            out[t] = (dx.add ? out[t] : 0) + p[t] * (up[t] - sum);
    }
}

static float mean_factor(const int32_t *offsets, int64_t s, enum pool pool)
{
    int32_t n = offsets[s + 1] - offsets[s];
    return pool == POOL_MEAN && n > 0 ? 1.0f / (float)n : 1.0f;
}

void cpu_segment_pool(struct ctx *c, struct tensor *y, const struct tensor *x, const struct seqs *s, enum pool pool)
{
    const int32_t *offsets = s->offsets->data;
    int64_t cols = tensor_cols(x);

    (void)c;
#pragma omp parallel if (tensor_size(x) > PARALLEL_MIN)
    {
        float *buf = floats_new(2 * cols), *sum = buf + cols;
#pragma omp for schedule(dynamic, 4)
        for (int64_t i = 0; i < s->n; i++) {
            float factor = mean_factor(offsets, i, pool);
            memset(sum, 0, (size_t)cols * sizeof *sum);
            for (int64_t t = offsets[i]; t < offsets[i + 1]; t++)
                row_add(sum, row_in(buf, x, t * cols, cols), cols);
            for (int64_t j = 0; j < cols; j++)
                sum[j] *= factor;
            row_store((struct destination){ y, false }, i * cols, sum, cols);
        }
        free(buf);
    }
}

void cpu_segment_pool_backward(struct ctx *c, struct destination dx, const struct tensor *dy, const struct seqs *s,
                               enum pool pool)
{
    const int32_t *offsets = s->offsets->data;
    int64_t cols = tensor_cols(dy);

    (void)c;
    if (!dx.t)
        return;
#pragma omp parallel if (tensor_size(dx.t) > PARALLEL_MIN)
    {
        float *buf = floats_new(2 * cols), *out = buf + cols;
#pragma omp for schedule(dynamic, 4)
        for (int64_t i = 0; i < s->n; i++) {
            float factor = mean_factor(offsets, i, pool);
            const float *row = row_in(buf, dy, i * cols, cols);
            for (int64_t j = 0; j < cols; j++)
                out[j] = factor * row[j];
            for (int64_t t = offsets[i]; t < offsets[i + 1]; t++)
                row_store(dx, t * cols, out, cols);
        }
        free(buf);
    }
}

void cpu_segment_score(struct ctx *c, struct tensor *y, struct tensor *pooled, const struct tensor *x,
                       const struct tensor *w, const struct tensor *b, const struct seqs *s, enum pool pool, float p,
                       uint32_t site)
{
    struct destination dropped = { pooled, false };
    const float *weight = w->data, *row = pooled->data, *bias = b->data;
    float *out = y->data;

    cpu_segment_pool(c, pooled, x, s, pool);
    if (p > 0)
        cpu_dropout(c, dropped, pooled, p, site);
    for (int64_t i = 0; i < s->n; i++, row += tensor_cols(x)) {
        out[i] = *bias;
        for (int64_t j = 0; j < tensor_cols(x); j++)
            out[i] += weight[j] * row[j];
    }
}

/* dw (+)= sum of dy[s] pooled[s,:];  db (+)= sum of dy */
static void score_vectors(struct destination dw, struct destination db, const float *dy, const struct tensor *pooled)
{
    int64_t n = tensor_rows(pooled), cols = tensor_cols(pooled);
    const float *row = pooled->data;
    float *weight = dw.t ? dw.t->data : NULL, *bias = db.t ? db.t->data : NULL;

    if (weight && !dw.add)
        memset(weight, 0, (size_t)cols * sizeof *weight);
    if (bias && !db.add)
        *bias = 0;
    for (int64_t i = 0; i < n; i++, row += cols) {
        for (int64_t j = 0; weight && j < cols; j++)
            weight[j] += dy[i] * row[j];
        if (bias)
            *bias += dy[i];
    }
}

void cpu_segment_score_backward(struct ctx *c, struct destination dx, struct destination dw, struct destination db,
                                const struct tensor *dy, const struct tensor *pooled, const struct tensor *w,
                                const struct seqs *s, enum pool pool, float p, uint32_t site)
{
    int64_t n = tensor_size(pooled), cols = tensor_cols(pooled);
    const float *weight = w->data, *up = dy->data;

    score_vectors(dw, db, up, pooled);
    if (!dx.t)
        return;
    struct tensor rows = *pooled;
    float *row = rows.data = floats_new(n);
    struct destination dropped = { &rows, false };
    for (int64_t i = 0; i < n; i++)
        row[i] = up[i / cols] * weight[i % cols];
    if (p > 0)
        cpu_dropout(c, dropped, &rows, p, site);
    cpu_segment_pool_backward(c, dx, &rows, s, pool);
    free(row);
}

/* a[t] = softmax of gate over rows [from, to); the largest gate is taken out first, so nothing overflows. */
static void softmax_rows(float *a, const float *gate, int64_t from, int64_t to)
{
    float max = -INFINITY, sum = 0;

    for (int64_t t = from; t < to; t++)
        max = fmaxf(max, gate[t]);
    for (int64_t t = from; t < to; t++)
        sum += a[t] = expf(gate[t] - max);
    for (int64_t t = from; t < to; t++)
        a[t] /= sum;
}

void cpu_attention_pool(struct ctx *c, struct tensor *y, struct tensor *a, const struct tensor *x,
                        const struct tensor *gate, const struct seqs *s)
{
    const int32_t *offsets = s->offsets->data;
    int64_t cols = tensor_cols(x);
    float *weight = a->data;

    (void)c;
#pragma omp parallel if (tensor_size(x) > PARALLEL_MIN)
    {
        float *buf = floats_new(2 * cols), *sum = buf + cols;
#pragma omp for schedule(dynamic, 4)
        for (int64_t i = 0; i < s->n; i++) {
            softmax_rows(weight, gate->data, offsets[i], offsets[i + 1]);
            memset(sum, 0, (size_t)cols * sizeof *sum);
            for (int64_t t = offsets[i]; t < offsets[i + 1]; t++)
                row_add_scaled(sum, weight[t], row_in(buf, x, t * cols, cols), cols);
            row_store((struct destination){ y, false }, i * cols, sum, cols);
        }
        free(buf);
    }
}

/* Computes the backward of one segment: dgate_t = a_t (dy . x_t - dy . y).  room holds three rows. */
static void segment_backward(struct destination dx, struct destination dgate, const float *dy, const struct tensor *x,
                             const float *a, int64_t from, int64_t to, int64_t cols, float *room)
{
    float *buf = room, *out = room + cols, *dg = dgate.t ? dgate.t->data : NULL;
    float mean = 0;

    for (int pass = 0; dg && pass < 2; pass++) /* first dy . y, then the gradients */
        for (int64_t t = from; t < to; t++) {
            float dot = row_dot(dy, row_in(buf, x, t * cols, cols), cols);
            if (pass == 0)
                mean += a[t] * dot;
            else
                dg[t] = (dgate.add ? dg[t] : 0) + a[t] * (dot - mean);
        }
    for (int64_t t = from; dx.t && t < to; t++) {
        for (int64_t j = 0; j < cols; j++)
            out[j] = a[t] * dy[j];
        row_store(dx, t * cols, out, cols);
    }
}

void cpu_attention_pool_backward(struct ctx *c, struct destination dx, struct destination dgate,
                                 const struct tensor *dy, const struct tensor *x, const struct tensor *a,
                                 const struct seqs *s)
{
    const int32_t *offsets = s->offsets->data;
    int64_t cols = tensor_cols(x);

    (void)c;
#pragma omp parallel if (tensor_size(x) > PARALLEL_MIN)
    {
        float *room = floats_new(3 * cols);
#pragma omp for schedule(dynamic, 4)
        for (int64_t i = 0; i < s->n; i++) {
            const float *row = row_in(room + 2 * cols, dy, i * cols, cols);
            segment_backward(dx, dgate, row, x, a->data, offsets[i], offsets[i + 1], cols, room);
        }
        free(room);
    }
}

/* The edges of a node, in one direction. */
struct neighbours {
    const int32_t *offsets, *edges, *others; /* edges NULL: k itself is the edge */
    const float *w;
};

static struct neighbours neighbours_of(const struct graph *g, const struct tensor *w, bool back)
{
    return (struct neighbours){ .offsets = (back ? g->out_offsets : g->offsets)->data,
                                .edges = back ? g->out_edges->data : NULL,
                                .others = (back ? g->targets : g->sources)->data,
                                .w = w->data };
}

CPU_CLONES static void add_weighted(float *sum, float w, const float *x, int64_t n)
{
    for (int64_t j = 0; j < n; j++)
        sum[j] += w * x[j];
}

static void sum_node(float *sum, float *buf, const struct neighbours *b, const struct tensor *x, int64_t i,
                     int64_t cols)
{
    memset(sum, 0, (size_t)cols * sizeof *sum);
    for (int32_t k = b->offsets[i]; k < b->offsets[i + 1]; k++) {
        int32_t e = b->edges ? b->edges[k] : k;
        add_weighted(sum, b->w[e], row_in(buf, x, b->others[e] * cols, cols), cols);
    }
}

void cpu_propagate(struct ctx *c, struct destination y, const struct tensor *x, const struct tensor *w,
                   const struct graph *g, bool back)
{
    struct neighbours b = neighbours_of(g, w, back);
    int64_t cols = tensor_cols(x);

    (void)c;
#pragma omp parallel if (tensor_size(x) > PARALLEL_MIN)
    {
        float *buf = floats_new(2 * cols), *sum = buf + cols;
#pragma omp for schedule(dynamic, 16)
        for (int64_t i = 0; i < g->nodes; i++) {
            sum_node(sum, buf, &b, x, i, cols);
            row_store(y, i * cols, sum, cols);
        }
        free(buf);
    }
}
