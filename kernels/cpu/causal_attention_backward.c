/*
 * The backward of causal attention.  One task is a group of one sequence and of all sequences with this prefix, so that
 * a key's gradient is summed in one place and in one order.  A block keeps the weights of all its keys and their
 * gradients.  The sum of p dp therefore precedes the first ds, and no score is computed twice.
 */
#include "kernels/cpu/causal_attention.h"

#include "kernels/cpu/vmath.h"

#include <stdlib.h>
#include <string.h>

/* The inputs and outputs of the backward. */
struct gradients {
    struct destination dq, dk, dv;
    const struct tensor *dy;
    const float *lse;
    const int32_t *last;
    float *dbias; /* [sequences, heads, reach + 1], by distance 0 .. reach to earlier keys; NULL: not needed */
    int64_t reach;
};

/* The scratch of a thread.  Every key tile has k, v, dk and dv [KEYS, pad], the transposes of k and v [pad, KEYS], and
 * p and ds [rows, KEYS].  With capped scores it also has their slopes [rows, KEYS].  A block has q, dy and dq [rows,
 * pad], and lse and delta [rows]. */
struct causal_back {
    float *k, *v, *dk, *dv, *k_turned, *v_turned, *p, *ds, *capped, *q, *dy, *dq, *lse, *delta;
};

static struct causal_back back_new(const struct causal_job *job)
{
    int64_t tiles = causal_tiles(job->max_keys) + 1, rows = causal_block(job) * job->each; /* + 1: two parts are cut */
    int64_t keys = tiles * KEYS * job->pad, scores = tiles * rows * KEYS, block = rows * job->pad;
    /* Squares of scores are p and ds, and the slopes of capped scores. */
    int64_t held = job->cap > 0 ? 3 : 2, total = 6 * keys + held * scores + 3 * block + 2 * rows;
    float *at = floats_new(total), *squares = at + 6 * keys, *blocks = squares + held * scores;

    memset(at, 0, (size_t)total * sizeof *at); /* the padding of a head stays zero */
    return (struct causal_back){ .k = at,
                                 .v = at + keys,
                                 .dk = at + 2 * keys,
                                 .dv = at + 3 * keys,
                                 .k_turned = at + 4 * keys,
                                 .v_turned = at + 5 * keys,
                                 .p = squares,
                                 .ds = squares + scores,
                                 .capped = job->cap > 0 ? squares + 2 * scores : NULL,
                                 .q = blocks,
                                 .dy = blocks + block,
                                 .dq = blocks + 2 * block,
                                 .lse = blocks + 3 * block,
                                 .delta = blocks + 3 * block + rows };
}

/* Loads keys and values of tiles [first, all tiles of the sequence) and clears their gradients. */
static void load_keys(const struct causal_job *job, const struct causal_span *a, const struct causal_back *b,
                      int64_t group, int64_t first)
{
    int64_t stride = tensor_cols(job->k), size = KEYS * job->pad, tiles = causal_tiles_seen(a, a->n_queries);

    for (int64_t i = first; i < tiles; i++) {
        struct causal_tile tile = causal_tile_of(a, i, a->n_queries);
        int64_t at = tile.row * stride + group * job->dim;
        tile_load(b->k + i * size, job->pad, job->k, at, stride, tile.n, job->dim);
        tile_load(b->v + i * size, job->pad, job->v, at, stride, tile.n, job->dim);
        /* Scores and dp are products with k and v turned, dq is one with k as it lies. */
        transpose(b->k_turned + i * size, KEYS, b->k + i * size, job->pad, tile.n, job->pad);
        transpose(b->v_turned + i * size, KEYS, b->v + i * size, job->pad, tile.n, job->pad);
    }
    if (tiles > first) {
        memset(b->dk + first * size, 0, (size_t)((tiles - first) * size) * sizeof *b->dk);
        memset(b->dv + first * size, 0, (size_t)((tiles - first) * size) * sizeof *b->dv);
    }
}

static void store_keys(const struct causal_job *job, const struct causal_span *a, const struct causal_back *b,
                       const struct gradients *g, int64_t group, int64_t first)
{
    int64_t stride = tensor_cols(job->k), size = KEYS * job->pad, tiles = causal_tiles_seen(a, a->n_queries);

    for (int64_t i = first; i < tiles; i++) {
        struct causal_tile tile = causal_tile_of(a, i, a->n_queries);
        int64_t at = tile.row * stride + group * job->dim;
        if (g->dk.t)
            tile_store(g->dk, at, stride, b->dk + i * size, job->pad, tile.n, job->dim);
        if (g->dv.t)
            tile_store(g->dv, at, stride, b->dv + i * size, job->pad, tile.n, job->dim);
    }
}

/* p = exp(p - lse) for keys [from, seen) of `width`, zeros beside; returns the sum of p dp */
static inline __attribute__((always_inline)) float weights_row(float *restrict p, const float *restrict dp, float lse,
                                                               int64_t from, int64_t seen, int64_t width)
{
    float part[LANES] = { 0 };

    for (int64_t j = 0; j < width; j += LANES)
        for (int l = 0; l < LANES; l++) {
            float e = vexp(p[j + l] - lse);
            p[j + l] = j + l >= from && j + l < seen ? e : 0;
            part[l] += p[j + l] * dp[j + l];
        }
    return sum_lanes(part);
}

CPU_CLONES static void weights(float *p, const float *dp, const struct causal_job *job, const struct causal_back *b,
                               const struct causal_span *a, const struct causal_tile *tile, int64_t from, int64_t n)
{
    int64_t width = whole_lanes(tile->n), each = job->each;

    for (int64_t t = 0; t < n; t++) {
        int64_t passed = causal_passed(job, a, tile, from + t), seen = causal_seen(a, tile, from + t);
        for (int64_t r = t * each; r < (t + 1) * each; r++)
            b->delta[r] += weights_row(p + r * KEYS, dp + r * KEYS, b->lse[r], passed, seen, width);
    }
}

/* ds = p (ds - delta) */
CPU_CLONES static void score_slopes(float *restrict ds, const float *restrict p, const float *restrict delta,
                                    int64_t rows, int64_t width)
{
    for (int64_t r = 0; r < rows; r++)
        for (int64_t j = 0; j < width; j++)
            ds[r * KEYS + j] = p[r * KEYS + j] * (ds[r * KEYS + j] - delta[r]);
}

/* Adds the gradients of scores to those of their biases. */
static void bias_slopes(const struct causal_job *job, const struct gradients *g, const float *ds,
                        const struct causal_span *a, const struct causal_tile *tile, int64_t head, int64_t from,
                        int64_t n)
{
    for (int64_t r = 0; r < n * job->each; r++) {
        float *table = g->dbias + (head + r % job->each) * (g->reach + 1);
        int64_t t = from + r / job->each, seen = causal_seen(a, tile, t), first = a->ahead + t - tile->at;
        for (int64_t j = causal_passed(job, a, tile, t); j < seen; j++)
            table[first - j < g->reach ? first - j : g->reach] += ds[r * KEYS + j];
    }
}

/* dbias (+)= the sequences' shares in order; keys behind a query are never seen. */
static void store_bias_slopes(struct destination dbias, const struct causal_job *job, const struct gradients *g)
{
    int64_t heads = job->groups * job->each, cells = g->reach + 1, middle = job->reach;
    float *out = dbias.t->data;

    if (!dbias.add)
        memset(out, 0, tensor_bytes(dbias.t));
    for (int64_t h = 0; h < heads; h++)
        for (int64_t d = 0; d < cells; d++) {
            float sum = 0;
            for (int64_t s = 0; s < job->n; s++)
                sum += g->dbias[(s * heads + h) * cells + d];
            out[h * (2 * middle + 1) + middle - d] += sum;
        }
}

static void load_block(const struct causal_job *job, const struct causal_span *a, const struct causal_back *b,
                       const struct gradients *g, int64_t group, int64_t from, int64_t n)
{
    causal_load_rows(b->q, job, job->q, a, group, from, n, job->scale);
    causal_load_rows(b->dy, job, g->dy, a, group, from, n, 1);
    for (int64_t r = 0; r < n * job->each; r++) {
        b->lse[r] = g->lse[((a->q_from + from + r / job->each) * job->groups + group) * job->each + r % job->each];
        b->delta[r] = 0;
    }
}

/* x *= y, rows KEYS apart */
CPU_CLONES static void multiply(float *restrict x, const float *restrict y, int64_t rows, int64_t width)
{
    for (int64_t r = 0; r < rows; r++)
        for (int64_t j = r * KEYS; j < r * KEYS + width; j++)
            x[j] *= y[j];
}

/* Adds the gradients from and to the i-th tile of keys.  q is already scaled, so dk is ds q. */
static void back_tile(const struct causal_job *job, const struct causal_span *a, const struct causal_back *b,
                      const struct gradients *g, int64_t group, int64_t from, int64_t n, int64_t i)
{
    struct causal_tile tile = causal_tile_of(a, i, from + n);
    int64_t rows = n * job->each, keys = tile.n, pad = job->pad, size = KEYS * pad;
    float *p = b->p + i * rows * KEYS, *ds = b->ds + i * rows * KEYS;

    if (causal_passed(job, a, &tile, from) == keys)
        return;
    /* delta is complete now: all tiles have added their p dp. */
    score_slopes(ds, p, b->delta, rows, whole_lanes(keys));
    if (g->dbias)
        bias_slopes(job, g, ds, a, &tile, (a->number * job->groups + group) * job->each, from, n);
    if (b->capped)
        /* The gradient of the bias is that of the capped score; the gradient of the score itself has the cap's
         * slope. */
        multiply(ds, b->capped + i * rows * KEYS, rows, whole_lanes(keys));
    if (g->dq.t)
        tile_gemm_add(&(struct tile_gemm){ b->dq, ds, b->k + i * size, rows, pad, keys, pad, KEYS, 1, pad });
    if (g->dk.t)
        tile_gemm_add(&(struct tile_gemm){ b->dk + i * size, ds, b->q, keys, pad, rows, pad, 1, KEYS, pad });
    if (g->dv.t)
        tile_gemm_add(&(struct tile_gemm){ b->dv + i * size, p, b->dy, keys, pad, rows, pad, 1, KEYS, pad });
}

/* The weights of the i-th tile of keys, and what their slopes are made of. */
static void weigh_tile(const struct causal_job *job, const struct causal_span *a, const struct causal_back *b,
                       int64_t group, int64_t from, int64_t n, int64_t i)
{
    struct causal_tile tile = causal_tile_of(a, i, from + n);
    int64_t rows = n * job->each, pad = job->pad, size = KEYS * pad, width = whole_lanes(tile.n);
    float *p = b->p + i * rows * KEYS, *dp = b->ds + i * rows * KEYS;

    if (causal_passed(job, a, &tile, from) == tile.n)
        return;
    tile_gemm_run(&(struct tile_gemm){ p, b->q, b->k_turned + i * size, rows, width, pad, KEYS, pad, 1, KEYS });
    tile_gemm_run(&(struct tile_gemm){ dp, b->dy, b->v_turned + i * size, rows, width, pad, KEYS, pad, 1, KEYS });
    if (b->capped)
        causal_cap_scores(p, b->capped + i * rows * KEYS, job, rows, width);
    if (job->bias)
        causal_add_bias(p, job, a, &tile, group, from, n);
    weights(p, dp, job, b, a, &tile, from, n);
}

/* Queries [from, from + n) of one group. */
static void back_block(const struct causal_job *job, const struct causal_span *a, const struct causal_back *b,
                       const struct gradients *g, int64_t group, int64_t from, int64_t n)
{
    int64_t rows = n * job->each, pad = job->pad, tiles = causal_tiles_seen(a, from + n);

    load_block(job, a, b, g, group, from, n);
    for (int64_t i = 0; i < tiles; i++)
        weigh_tile(job, a, b, group, from, n, i);
    memset(b->dq, 0, (size_t)(rows * pad) * sizeof *b->dq);
    for (int64_t i = 0; i < tiles; i++)
        back_tile(job, a, b, g, group, from, n, i);
    if (g->dq.t) {
        /* q was scaled when it was loaded, so that its gradient is scaled when it is stored. */
        for (int64_t r = 0; r < rows * pad; r++)
            b->dq[r] *= job->scale;
        causal_store_rows(g->dq, job, b->dq, a, group, from, n);
    }
}

static void back_span(const struct causal_job *job, const struct causal_span *a, const struct causal_back *b,
                      const struct gradients *g, int64_t group)
{
    int64_t block = causal_block(job);

    for (int64_t from = 0; from < a->n_queries; from += block)
        back_block(job, a, b, g, group, from, a->n_queries - from < block ? a->n_queries - from : block);
}

/* A group of a sequence without prefix, and of those it is the prefix of: its keys are their first tiles. */
static void back_family(const struct causal_job *job, const struct causal_back *b, const struct gradients *g,
                        int64_t sequence, int64_t group)
{
    struct causal_span a = causal_span_of(job, sequence);
    int64_t last = a.n_keys && g->last ? g->last[sequence] : sequence, first = causal_tiles(a.n_keys);

    if (a.n_prefix)
        return;
    /* Queries of the prefix see its own keys. Then every sequence behind it puts its keys into the tiles from
     * `first` on, and adds to the gradients of the prefix as well. */
    load_keys(job, &a, b, group, 0);
    back_span(job, &a, b, g, group);
    for (int64_t s = sequence + 1; s <= last; s++) {
        struct causal_span other = causal_span_of(job, s);
        load_keys(job, &other, b, group, first);
        back_span(job, &other, b, g, group);
        store_keys(job, &other, b, g, group, first);
    }
    store_keys(job, &a, b, g, group, 0);
}

void cpu_causal_attention_backward(struct ctx *c, struct destination dq, struct destination dk, struct destination dv,
                                   struct destination dbias, struct tensor *sums, const struct tensor *dy,
                                   const struct tensor *y, const struct tensor *lse, const struct tensor *q,
                                   const struct tensor *k, const struct tensor *v, const struct causal *s,
                                   const struct attention_form *form)
{
    (void)c, (void)sums;
    (void)y; /* sum p dp is the same number as sum y dy, without the rounding of y */
    struct causal_job job = causal_job_of(q, k, v, s, form);
    struct gradients g = { dq, dk, dv, dy, lse->data, job.prefix_len ? s->last->data : NULL, NULL, 0 };
    int64_t groups = job.groups;

    /* No distance is larger than the number of keys, so that a table of that length suffices. */
    g.reach = job.reach < job.max_keys ? job.reach : job.max_keys;
    if (dbias.t)
        g.dbias = xcalloc((size_t)(job.n * form->heads * (g.reach + 1) + 1), sizeof *g.dbias);
#pragma omp parallel if (causal_parallel(&job, tensor_size(dy)))
    {
        struct causal_back b = back_new(&job);
#pragma omp for schedule(dynamic)
        for (int64_t i = 0; i < job.n * groups; i++)
            back_family(&job, &b, &g, i / groups, i % groups);
        free(b.k);
    }
    if (dbias.t)
        store_bias_slopes(dbias, &job, &g);
    free(g.dbias);
}
