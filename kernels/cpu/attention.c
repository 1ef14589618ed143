/*
 * Attention over packed sequences: one head of one sequence at a time, in f32, in a thread's own scratch.
 *
 * Scores are kept transposed, [keys, queries]: sixteen queries share a vector, so that maximum, sum, softmax and
 * dropout of a query run down a lane and never across one.  Queries are padded to whole vectors; nothing reads the
 * padding.
 */
#include "kernels/attention_view.h"
#include "kernels/cpu/dropout_mask.h"
#include "kernels/cpu/tile.h"
#include "kernels/cpu/vmath.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { QUERY_BLOCK = 64 };
_Static_assert((int)LANES == (int)DROPOUT_MASK_LANES, "dropout is drawn for the queries of a vector");

/* Sixteen queries: s = softmax(scale s) down the keys, lse = log sum exp of the scaled scores. */
static inline __attribute__((always_inline)) void softmax_lanes(float *restrict s, float *restrict lse, int64_t n_keys,
                                                                int64_t width, float scale)
{
    /* One array element for each query: every loop over l is one vector operation. */
    float max[LANES], sum[LANES];

    for (int l = 0; l < LANES; l++) {
        max[l] = -INFINITY;
        sum[l] = 0;
    }
    for (int64_t j = 0; j < n_keys; j++)
        for (int l = 0; l < LANES; l++)
            max[l] = s[j * width + l] > max[l] ? s[j * width + l] : max[l];
    for (int64_t j = 0; j < n_keys; j++)
        for (int l = 0; l < LANES; l++) {
            float e = vexp((s[j * width + l] - max[l]) * scale);
            s[j * width + l] = e;
            sum[l] += e;
        }
    for (int l = 0; l < LANES; l++) {
        lse[l] = max[l] * scale + vlog(sum[l]);
        sum[l] = 1.0f / sum[l];
    }
    for (int64_t j = 0; j < n_keys; j++)
        for (int l = 0; l < LANES; l++)
            s[j * width + l] *= sum[l];
}

CPU_CLONES static void softmax(float *s, float *lse, int64_t n_keys, int64_t width, float scale)
{
    for (int64_t i = 0; i < width; i += LANES)
        softmax_lanes(s + i, lse + i, n_keys, width, scale);
}

/* s = exp(scale s - lse) */
CPU_CLONES static void softmax_again(float *restrict s, const float *restrict lse, int64_t n_keys, int64_t width,
                                     float scale)
{
    for (int64_t j = 0; j < n_keys; j++, s += width)
        for (int64_t i = 0; i < width; i++)
            s[i] = vexp(s[i] * scale - lse[i]);
}

/* ds = scale p (dp - sum of p dp down the keys), into dp; sum has room for width numbers */
CPU_CLONES static void softmax_back(float *restrict dp, const float *restrict p, float *restrict sum, int64_t n_keys,
                                    int64_t width, float scale)
{
    memset(sum, 0, (size_t)width * sizeof *sum);
    for (int64_t j = 0; j < n_keys; j++)
        for (int64_t i = 0; i < width; i++)
            sum[i] += p[j * width + i] * dp[j * width + i];
    for (int64_t j = 0; j < n_keys; j++)
        for (int64_t i = 0; i < width; i++)
            dp[j * width + i] = scale * p[j * width + i] * (dp[j * width + i] - sum[i]);
}

/* Multiplies x, and `also` if it is not NULL, by keep, for sixteen queries by at most four keys. */
CPU_CLONES static void drop_tile(float *restrict x, float *restrict also, const float keep[restrict 4][LANES],
                                 int64_t n_keys, int64_t width)
{
    for (int64_t k = 0; k < n_keys && k < 4; k++) {
        for (int l = 0; l < LANES; l++)
            x[k * width + l] *= keep[k][l];
        for (int l = 0; also && l < LANES; l++)
            also[k * width + l] *= keep[k][l];
    }
}

/* The arguments of the kernels, prepared once per call. */
struct job {
    const struct tensor *q, *kv;
    struct attention_view v;
    const int32_t *q_offsets, *k_offsets, *rng;
    const float *bias; /* [heads, 2 reach + 1], or NULL */
    int heads;
    float p, scale;
    uint32_t site;
    int64_t reach;
    int64_t longest_q, longest_k, pad; /* padded to whole vectors; pad: the width of a head */
};

static struct job job_of(struct ctx *c, const struct tensor *q, const struct tensor *kv, const struct seqs *qs,
                         const struct seqs *ks, const struct attention_form *form, uint32_t site)
{
    struct attention_view v = attention_view_of(q, kv, form->heads);
    return (struct job){ .q = q,
                         .kv = kv,
                         .v = v,
                         .q_offsets = qs->offsets->data,
                         .k_offsets = ks->offsets->data,
                         .rng = form->p > 0 ? c->rng->data : NULL,
                         .bias = form->bias ? form->bias->data : NULL,
                         .heads = form->heads,
                         .p = form->p,
                         .scale = form->scale,
                         .site = site,
                         .reach = form->bias ? tensor_cols(form->bias) / 2 : 0,
                         .longest_q = whole_lanes(qs->max_len),
                         .longest_k = whole_lanes(ks->max_len),
                         .pad = whole_lanes(v.head_dim) };
}

/* One head of one sequence. */
struct head {
    int64_t h, q_from, n_queries, k_from, n_keys, dim, pad;
};

static struct head head_of(const struct job *job, int64_t task)
{
    int64_t i = task / job->heads;
    struct head a = { .h = task % job->heads,
                      .q_from = job->q_offsets[i],
                      .k_from = job->k_offsets[i],
                      .dim = job->v.head_dim,
                      .pad = job->pad };
    a.n_queries = job->q_offsets[i + 1] - a.q_from;
    a.n_keys = job->k_offsets[i + 1] - a.k_from;
    return a;
}

/* x[n_keys, width], and also when it is not NULL, *= 0 or 1 / (1 - p); column 0 is query `from` of the head. */
static void drop(const struct job *job, const struct head *a, float *x, float *also, int64_t from, int64_t width)
{
    float keep[4][LANES];

    for (int64_t j = 0; job->p > 0 && j < a->n_keys; j += 4)
        for (int64_t i = 0; i < width; i += LANES) {
            uint32_t first = (uint32_t)((a->q_from + from + i) * job->heads + a->h);
            float *other = also ? also + j * width + i : NULL;
            dropout_mask_lanes(keep, job->rng, job->site, first, (uint32_t)job->heads, (uint32_t)(j / 4), job->p);
            drop_tile(x + j * width + i, other, (const float(*)[LANES])keep, a->n_keys - j, width);
        }
}

/* Returns the cell of the bias table for key j of query i. */
static int64_t bias_cell(const struct job *job, int64_t i, int64_t j)
{
    int64_t ahead = j - i;
    return job->reach + (ahead < -job->reach ? -job->reach : ahead > job->reach ? job->reach : ahead);
}

/* s[keys, width] += bias / scale, so that the softmax's scale leaves the bias; column 0 is query `from` of the head. */
static void add_bias(const struct job *job, const struct head *a, float *s, int64_t from, int64_t n, int64_t width)
{
    const float *bias = job->bias ? job->bias + a->h * (2 * job->reach + 1) : NULL;

    for (int64_t j = 0; bias && j < a->n_keys; j++)
        for (int64_t i = 0; i < n; i++)
            s[j * width + i] += bias[bias_cell(job, from + i, j)] / job->scale;
}

/* Returns the floats of scratch for the forward of one head: k, v, and for a block of queries q, its transpose, y,
 * scores. */
static int64_t forward_scratch(const struct job *job)
{
    return 2 * job->longest_k * job->pad + QUERY_BLOCK * (3 * job->pad + job->longest_k + 1);
}

/* n rows of the head, padded with zeros: x from row `from` on, the head's columns from `column` on. */
static void load_rows(float *dst, const struct head *a, const struct tensor *x, int64_t from, int64_t stride,
                      int64_t column, int64_t n)
{
    tile_load(dst, a->pad, x, from * stride + column + a->h * a->dim, stride, n, a->dim);
    for (int64_t t = 0; t < n && a->pad > a->dim; t++)
        memset(dst + t * a->pad + a->dim, 0, (size_t)(a->pad - a->dim) * sizeof *dst);
}

/* Computes queries [from, from + n) of the head; k and v are ready. */
static void forward_block(const struct job *job, const struct head *a, struct tensor *y, float *lse, const float *k,
                          const float *v, float *scratch, int64_t from, int64_t n)
{
    int64_t pad = a->pad, width = whole_lanes(n);
    float *q = scratch, *q_t = q + QUERY_BLOCK * pad, *out = q_t + QUERY_BLOCK * pad, *s = out + QUERY_BLOCK * pad;
    /* The scratch holds four parts one after the other: q, its transpose and y have QUERY_BLOCK rows of pad numbers,
     * and the scores have the rest. */
    float lses[QUERY_BLOCK];

    load_rows(q, a, job->q, a->q_from + from, job->v.q_stride, 0, n);
    /* The scores are k q^T, keys down and queries across, so that the softmax runs down a lane. */
    transpose(q_t, width, q, pad, n, pad);
    tile_gemm_run(&(struct tile_gemm){ s, k, q_t, a->n_keys, width, pad, width, pad, 1, width });
    add_bias(job, a, s, from, n, width);
    softmax(s, lses, a->n_keys, width, job->scale);
    drop(job, a, s, NULL, from, width);
    /* The weights are read as their transpose, through strides: step 1 from query to query, step `width` from key to
     * key. */
    tile_gemm_run(&(struct tile_gemm){ out, s, v, n, pad, a->n_keys, pad, 1, width, pad });
    tile_store((struct destination){ y, false }, (a->q_from + from) * tensor_cols(y) + a->h * a->dim, tensor_cols(y),
               out, pad, n, a->dim);
    for (int64_t t = 0; t < n; t++)
        lse[(a->q_from + from + t) * job->heads + a->h] = lses[t];
}

static void forward_head(const struct job *job, const struct head *a, struct tensor *y, float *lse, float *scratch)
{
    /* k and v of the head are widened once and serve all blocks of its queries. */
    float *k = scratch, *v = k + a->n_keys * a->pad, *rest = v + a->n_keys * a->pad;

    load_rows(k, a, job->kv, a->k_from, job->v.kv_stride, job->v.k_offset, a->n_keys);
    load_rows(v, a, job->kv, a->k_from, job->v.kv_stride, job->v.v_offset, a->n_keys);
    for (int64_t from = 0; from < a->n_queries; from += QUERY_BLOCK) {
        int64_t n = a->n_queries - from < QUERY_BLOCK ? a->n_queries - from : QUERY_BLOCK;
        forward_block(job, a, y, lse, k, v, rest, from, n);
    }
}

void cpu_attention(struct ctx *c, struct tensor *y, struct tensor *lse, const struct tensor *q, const struct tensor *kv,
                   const struct seqs *qs, const struct seqs *ks, const struct attention_form *form, uint32_t site)
{
    struct job job = job_of(c, q, kv, qs, ks, form, site);
    int64_t tasks = qs->n * job.heads;
#pragma omp parallel if (tensor_size(y) > PARALLEL_MIN)
    {
        float *scratch = floats_new(forward_scratch(&job));
#pragma omp for schedule(static, 4)
        for (int64_t i = 0; i < tasks; i++) {
            struct head a = head_of(&job, i);
            forward_head(&job, &a, y, lse->data, scratch);
        }
        free(scratch);
    }
}

/* Scratch of the backward of one head: rows [n, dim], and [keys, queries] squares like the scores. */
struct attention_back {
    float *q, *k, *v, *dy, *turned, *out; /* turned: q, then dy, transposed; out: dq, dk or dv before it is stored */
    float *weights, *dropped, *ds;        /* dropped is weights when there is no dropout */
    float *lse;
};

enum { BACK_ROWS = 6, BACK_SQUARES = 3 };

static int64_t back_scratch(const struct job *job)
{
    int64_t longest = job->longest_q > job->longest_k ? job->longest_q : job->longest_k;
    return BACK_ROWS * longest * job->pad + (BACK_SQUARES * job->longest_k + 1) * job->longest_q;
}

static struct attention_back back_of(const struct job *job, float *scratch)
{
    int64_t longest = job->longest_q > job->longest_k ? job->longest_q : job->longest_k;
    int64_t rows = longest * job->pad, square = job->longest_q * job->longest_k;
    float *squares = scratch + BACK_ROWS * rows;
    struct attention_back b = { .q = scratch,
                                .k = scratch + rows,
                                .v = scratch + 2 * rows,
                                .dy = scratch + 3 * rows,
                                .turned = scratch + 4 * rows,
                                .out = scratch + 5 * rows,
                                .weights = squares,
                                .ds = squares + square,
                                .lse = squares + BACK_SQUARES * square };
    /* Without dropout both names are one square, and the copy of the weights is saved. */
    b.dropped = job->p > 0 ? squares + 2 * square : b.weights;
    return b;
}

static void back_load(const struct job *job, const struct head *a, const struct attention_back *b,
                      const struct tensor *dy, const float *lse)
{
    load_rows(b->q, a, job->q, a->q_from, job->v.q_stride, 0, a->n_queries);
    load_rows(b->k, a, job->kv, a->k_from, job->v.kv_stride, job->v.k_offset, a->n_keys);
    load_rows(b->v, a, job->kv, a->k_from, job->v.kv_stride, job->v.v_offset, a->n_keys);
    load_rows(b->dy, a, dy, a->q_from, tensor_cols(dy), 0, a->n_queries);
    /* Queries of the padding get lse 0, so that their weights are finite; the products below read only n_queries of
     * them. */
    for (int64_t t = 0; t < whole_lanes(a->n_queries); t++)
        b->lse[t] = t < a->n_queries ? lse[(a->q_from + t) * job->heads + a->h] : 0;
}

/* Computes the weights from the scores and lse, with and without dropout, and the gradient of the scores. */
static void back_scores(const struct job *job, const struct head *a, const struct attention_back *b)
{
    int64_t pad = a->pad, width = whole_lanes(a->n_queries), keys = a->n_keys;

    transpose(b->turned, width, b->q, pad, a->n_queries, pad);
    tile_gemm_run(&(struct tile_gemm){ b->weights, b->k, b->turned, keys, width, pad, width, pad, 1, width });
    add_bias(job, a, b->weights, 0, a->n_queries, width);
    softmax_again(b->weights, b->lse, keys, width, job->scale);
    if (b->dropped != b->weights)
        memcpy(b->dropped, b->weights, (size_t)(keys * width) * sizeof *b->weights);

    /* The gradient of the dropped weights is v dy^T. The same mask goes over it and over the weights, which dv needs
     * dropped. */
    transpose(b->turned, width, b->dy, pad, a->n_queries, pad);
    tile_gemm_run(&(struct tile_gemm){ b->ds, b->v, b->turned, keys, width, pad, width, pad, 1, width });
    drop(job, a, b->dropped, b->ds, 0, width);
    softmax_back(b->ds, b->weights, b->lse, keys, width, job->scale); /* lse is no longer needed */
}

static void back_store(const struct job *job, const struct head *a, const struct attention_back *b,
                       struct destination dq, struct destination dkv)
{
    int64_t dim = a->dim, pad = a->pad, at = a->h * dim, n = a->n_queries, width = whole_lanes(n), keys = a->n_keys;

    /* dq = ds^T k. The square is read through its strides, as its transpose. */
    if (dq.t) {
        tile_gemm_run(&(struct tile_gemm){ b->out, b->ds, b->k, n, pad, keys, pad, 1, width, pad });
        tile_store(dq, a->q_from * job->v.q_stride + at, job->v.q_stride, b->out, pad, n, dim);
    }
    /* dk = ds q and dv = dropped dy. Both go into one tensor, at their own offsets. */
    if (dkv.t) {
        tile_gemm_run(&(struct tile_gemm){ b->out, b->ds, b->q, keys, pad, n, pad, width, 1, pad });
        tile_store(dkv, a->k_from * job->v.kv_stride + job->v.k_offset + at, job->v.kv_stride, b->out, pad, keys, dim);
        tile_gemm_run(&(struct tile_gemm){ b->out, b->dropped, b->dy, keys, pad, n, pad, width, 1, pad });
        tile_store(dkv, a->k_from * job->v.kv_stride + job->v.v_offset + at, job->v.kv_stride, b->out, pad, keys, dim);
    }
}

/* Adds ds of one head, which includes the scale, to its cells of the table. */
static void back_bias(const struct job *job, const struct head *a, const struct attention_back *b, double *cells)
{
    int64_t width = whole_lanes(a->n_queries);

    for (int64_t j = 0; j < a->n_keys; j++)
        for (int64_t i = 0; i < a->n_queries; i++)
            cells[bias_cell(job, i, j)] += (double)(b->ds[j * width + i] / job->scale);
}

/* The table's gradient (+)= the sum over sequences of their parts [sequences, heads, cells]. */
static void sum_bias(struct destination dbias, const double *parts, int64_t sequences)
{
    int64_t n = tensor_size(dbias.t);
    float *to = dbias.t->data;

    for (int64_t i = 0; i < n; i++) {
        double sum = 0;
        for (int64_t s = 0; s < sequences; s++)
            sum += parts[s * n + i];
        to[i] = (dbias.add ? to[i] : 0.0f) + (float)sum;
    }
}

void cpu_attention_backward(struct ctx *c, struct destination dq, struct destination dkv, struct destination dbias,
                            const struct tensor *dy, const struct tensor *y, const struct tensor *lse,
                            const struct tensor *q, const struct tensor *kv, const struct seqs *qs,
                            const struct seqs *ks, const struct attention_form *form, uint32_t site)
{
    (void)y; /* sum p dp is the same number as sum y dy, without the rounding of y */
    struct job job = job_of(c, q, kv, qs, ks, form, site);
    /* Self-attention keeps q, k and v in one tensor, whose gradient is dq's destination. */
    struct destination kv_grad = q == kv ? dq : dkv;
    int64_t tasks = qs->n * job.heads, cells = dbias.t ? tensor_cols(dbias.t) : 0;
    double *parts = xcalloc((size_t)(tasks * cells) + 1, sizeof *parts); /* a cell may sum a million numbers */
/* A task is a head of a sequence. No two tasks share a row of a gradient, and the biases have a part for each task,
 * so that the sums have one order for any number of threads. */
#pragma omp parallel if (tensor_size(dy) > PARALLEL_MIN)
    {
        float *scratch = floats_new(back_scratch(&job));
        struct attention_back b = back_of(&job, scratch);
#pragma omp for schedule(static, 4)
        for (int64_t i = 0; i < tasks; i++) {
            struct head a = head_of(&job, i);
            back_load(&job, &a, &b, dy, lse->data);
            back_scores(&job, &a, &b);
            back_store(&job, &a, &b, dq, kv_grad);
            if (dbias.t)
                back_bias(&job, &a, &b, parts + i * cells);
        }
        free(scratch);
    }
    if (dbias.t)
        sum_bias(dbias, parts, qs->n);
    free(parts);
}
