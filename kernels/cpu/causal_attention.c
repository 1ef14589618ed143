/*
 * Causal attention: tiles of keys pass by a block of queries, whose softmax is corrected as its maximum grows.
 *
 * A task is a block of queries of one group of one sequence. It writes its own rows of y and lse, so that threads share
 * nothing. Tasks are dealt out dynamically, since a late query sees more keys than an early one.
 */
#include "kernels/cpu/causal_attention.h"

#include "kernels/cpu/vmath.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A block of query rows against tiles of keys: the online softmax (Milakov and Gimelshein 2018). Each row keeps the
 * maximum of its scores, the sum of its weights relative to this maximum, and its weighted sum of values. A new tile
 * may raise the maximum; sum and output are then rescaled. The scratch is one allocation, so that a thread takes and
 * frees it once. */
struct attention_block attention_block_new(int64_t rows, int64_t pad)
{
    int64_t tile = KEYS * pad, total = rows * (2 * pad + KEYS + 2) + 2 * tile;
    float *at = floats_new(total);

    memset(at, 0, (size_t)total * sizeof *at);
    return (struct attention_block){ .q = at,
                                     .out = at + rows * pad,
                                     .tile = at + 2 * rows * pad,
                                     .turned = at + 2 * rows * pad + tile,
                                     .s = at + 2 * (rows * pad + tile),
                                     .most = at + total - 2 * rows,
                                     .sum = at + total - rows,
                                     .pad = pad };
}

void attention_block_free(struct attention_block *b)
{
    free(b->q);
}

void attention_block_start(const struct attention_block *b, int64_t rows)
{
    memset(b->out, 0, (size_t)(rows * b->pad) * sizeof *b->out);
    for (int64_t r = 0; r < rows; r++) {
        b->most[r] = -INFINITY;
        b->sum[r] = 0;
    }
}

void attention_block_score(const struct attention_block *b, int64_t rows, const float *k, int64_t ld, int64_t n)
{
    transpose(b->turned, KEYS, k, ld, n, b->pad);
    tile_gemm_run(&(struct tile_gemm){ b->s, b->q, b->turned, rows, whole_lanes(n), b->pad, KEYS, b->pad, 1, KEYS });
}

/* Computes the weights of one row, with zeros up to `from` and from `seen` to width.  The sums so far are rescaled to
 * the new maximum. */
static inline __attribute__((always_inline)) void softmax_row(float *restrict s, float *restrict out,
                                                              float *restrict most, float *restrict sum, int64_t from,
                                                              int64_t seen, int64_t width, int64_t pad)
{
    /* Maximum and sum run down LANES lanes and are joined in a fixed tree. */
    float top[LANES], part[LANES] = { 0 };
    int64_t near = whole_lanes(seen); /* so that nothing depends on how many keys follow */

    for (int64_t j = 0; j < from; j++)
        s[j] = -INFINITY;
    for (int64_t j = seen; j < near; j++)
        s[j] = -INFINITY;
    for (int l = 0; l < LANES; l++)
        top[l] = *most;
    for (int64_t j = 0; j < near; j += LANES)
        for (int l = 0; l < LANES; l++)
            top[l] = s[j + l] > top[l] ? s[j + l] : top[l];
    for (int half = LANES / 2; half; half /= 2)
        for (int l = 0; l < half; l++)
            top[l] = top[l] > top[l + half] ? top[l] : top[l + half];
    /* Before the first key, *most is -INFINITY and shrink is 0, which leaves the zeros of sum and out. */
    float high = top[0], shrink = vexp(*most - high);
    for (int64_t j = 0; j < near; j += LANES)
        for (int l = 0; l < LANES; l++) {
            s[j + l] = vexp(s[j + l] - high);
            part[l] += s[j + l];
        }
    for (int64_t j = 0; j < from; j++)
        s[j] = 0;
    for (int64_t j = seen; j < width; j++)
        s[j] = 0; /* instead of the smallest number that vexp returns */
    *most = high;
    *sum = *sum * shrink + sum_lanes(part);
    for (int64_t d = 0; shrink < 1 && d < pad; d++)
        out[d] *= shrink;
}

CPU_CLONES static void softmax_rows(const struct attention_block *b, int64_t first, int64_t rows, int64_t from,
                                    int64_t seen, int64_t width)
{
    for (int64_t r = first; r < first + rows; r++)
        softmax_row(b->s + r * KEYS, b->out + r * b->pad, b->most + r, b->sum + r, from, seen, width, b->pad);
}

void attention_block_weigh(const struct attention_block *b, int64_t first, int64_t rows, int64_t from, int64_t seen,
                           int64_t n)
{
    int64_t width = whole_lanes(n);

    /* A row that sees no key of this tile has weights 0 and keeps its sums. */
    if (seen > from)
        softmax_rows(b, first, rows, from, seen, width);
    for (int64_t r = first; seen <= from && r < first + rows; r++)
        memset(b->s + r * KEYS, 0, (size_t)width * sizeof *b->s);
}

void attention_block_add(const struct attention_block *b, int64_t rows, const float *v, int64_t ld, int64_t n)
{
    tile_gemm_add(&(struct tile_gemm){ b->out, b->s, v, rows, b->pad, n, b->pad, KEYS, 1, ld });
}

struct causal_job causal_job_of_form(const struct tensor *q, const struct tensor *k, const struct tensor *v,
                                     const struct attention_form *form)
{
    int64_t dim = tensor_cols(q) / form->heads;

    return (struct causal_job){ .q = q,
                                .k = k,
                                .v = v,
                                .dim = dim,
                                .pad = whole_lanes(dim),
                                .groups = form->groups,
                                .each = form->heads / form->groups,
                                .scale = form->scale,
                                .bias = form->bias ? form->bias->data : NULL,
                                .reach = form->bias ? tensor_cols(form->bias) / 2 : 0,
                                .window = form->window,
                                .cap = form->cap };
}

struct causal_job causal_job_of(const struct tensor *q, const struct tensor *k, const struct tensor *v,
                                const struct causal *s, const struct attention_form *form)
{
    struct causal_job job = causal_job_of_form(q, k, v, form);

    job.offsets = s->qs.offsets->data;
    job.key_start = s->key_start->data;
    job.key_len = s->key_len->data;
    if (s->prefix_len) {
        job.prefix_start = s->prefix_start->data;
        job.prefix_len = s->prefix_len->data;
    }
    job.n = s->qs.n;
    job.max_len = s->qs.max_len;
    job.max_keys = s->max_keys;
    return job;
}

int64_t causal_block(const struct causal_job *job)
{
    return job->each < BLOCK_ROWS ? BLOCK_ROWS / job->each : 1;
}

bool causal_parallel(const struct causal_job *job, int64_t numbers)
{
    return numbers * job->max_keys > PARALLEL_MIN;
}

struct causal_span causal_span_of(const struct causal_job *job, int64_t sequence)
{
    struct causal_span a = { .number = sequence,
                             .q_from = job->offsets[sequence],
                             .key_from = job->key_start[sequence],
                             .n_keys = job->key_len[sequence],
                             .prefix_from = job->prefix_len ? job->prefix_start[sequence] : 0,
                             .n_prefix = job->prefix_len ? job->prefix_len[sequence] : 0 };

    a.n_queries = job->offsets[sequence + 1] - a.q_from;
    a.ahead = a.n_keys - a.n_queries;
    return a;
}

int64_t causal_tiles_seen(const struct causal_span *a, int64_t end)
{
    return causal_tiles(a->n_prefix) + causal_tiles(a->ahead + end);
}

struct causal_tile causal_tile_of(const struct causal_span *a, int64_t i, int64_t end)
{
    /* Tiles of the prefix come first. Its keys end at position 0, where the own keys of the sequence begin. */
    int64_t before = causal_tiles(a->n_prefix), from = KEYS * (i < before ? i : i - before);
    int64_t left = (i < before ? a->n_prefix : a->ahead + end) - from;

    return (struct causal_tile){ .row = (i < before ? a->prefix_from : a->key_from) + from,
                                 .n = left < KEYS ? left : KEYS,
                                 .at = i < before ? from - a->n_prefix : from };
}

CPU_CLONES static void causal_cap_rows(float *scores, float *slopes, float cap, int64_t rows, int64_t width)
{
    float inverse = 1.0f / cap;

    for (int64_t r = 0; r < rows; r++)
        for (int64_t j = r * KEYS; j < r * KEYS + width; j++) {
            float x = vtanh(scores[j] * inverse);
            scores[j] = cap * x;
            if (slopes)
                slopes[j] = 1 - x * x;
        }
}

void causal_cap_scores(float *scores, float *slopes, const struct causal_job *job, int64_t rows, int64_t width)
{
    causal_cap_rows(scores, slopes, job->cap, rows, width);
}

void causal_add_bias(float *scores, const struct causal_job *job, const struct causal_span *a,
                     const struct causal_tile *tile, int64_t group, int64_t from, int64_t n)
{
    int64_t reach = job->reach;

    for (int64_t r = 0; r < n * job->each; r++) {
        /* The middle of the table belongs to distance 0. Larger distances share its last cells. */
        const float *table = job->bias + (group * job->each + r % job->each) * (2 * reach + 1) + reach;
        int64_t first = tile->at - (a->ahead + from + r / job->each); /* distance of the first key */
        for (int64_t j = 0; j < tile->n; j++) {
            int64_t far = first + j;
            scores[r * KEYS + j] += table[far < -reach ? -reach : far > reach ? reach : far];
        }
    }
}

CPU_CLONES static void times(float *restrict x, float factor, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        x[i] *= factor;
}

void causal_load_rows(float *rows, const struct causal_job *job, const struct tensor *x, const struct causal_span *a,
                      int64_t group, int64_t from, int64_t n, float scale)
{
    int64_t width = job->each * job->dim, at = (a->q_from + from) * tensor_cols(x) + group * width;

    for (int64_t t = 0; t < n; t++, at += tensor_cols(x))
        tile_load(rows + t * job->each * job->pad, job->pad, x, at, job->dim, job->each, job->dim);
    if (scale != 1)
        times(rows, scale, n * job->each * job->pad);
}

void causal_store_rows(struct destination x, const struct causal_job *job, const float *rows,
                       const struct causal_span *a, int64_t group, int64_t from, int64_t n)
{
    int64_t cols = tensor_cols(x.t), at = (a->q_from + from) * cols + group * job->each * job->dim;

    for (int64_t t = 0; t < n; t++, at += cols)
        tile_store(x, at, job->dim, rows + t * job->each * job->pad, job->pad, job->each, job->dim);
}

/* Returns a tile of k or v as f32: in place, or converted. */
static const float *tile_in(const struct causal_job *job, const struct tensor *x, const struct causal_tile *tile,
                            int64_t group, float *buf, int64_t *ld)
{
    int64_t stride = tensor_cols(x), at = tile->row * stride + group * job->dim;
    /* f32 rows of whole vectors are read in place; others are converted into the buffer, padded with zeros. */
    bool as_it_lies = x->dtype == F32 && job->pad == job->dim;

    *ld = as_it_lies ? stride : job->pad;
    if (as_it_lies)
        return (const float *)x->data + at;
    tile_load(buf, job->pad, x, at, stride, tile->n, job->dim);
    return buf;
}

static void forward_tile(const struct causal_job *job, const struct causal_span *a, const struct attention_block *f,
                         const struct causal_tile *tile, int64_t group, int64_t from, int64_t n)
{
    int64_t each = job->each, ld;
    const float *k = tile_in(job, job->k, tile, group, f->tile, &ld);

    attention_block_score(f, n * each, k, ld, tile->n);
    if (job->cap > 0)
        causal_cap_scores(f->s, NULL, job, n * each, whole_lanes(tile->n));
    if (job->bias)
        causal_add_bias(f->s, job, a, tile, group, from, n);
    for (int64_t t = 0; t < n; t++)
        attention_block_weigh(f, t * each, each, causal_passed(job, a, tile, from + t), causal_seen(a, tile, from + t),
                              tile->n);
    /* The buffer of k is free by now and takes v. */
    const float *v = tile_in(job, job->v, tile, group, f->tile, &ld);
    attention_block_add(f, n * each, v, ld, tile->n);
}

/* Computes queries [from, from + n) of one group. */
static void forward_block(const struct causal_job *job, const struct causal_span *a, const struct attention_block *f,
                          struct tensor *y, float *lse, int64_t group, int64_t from, int64_t n)
{
    int64_t rows = n * job->each, tiles = causal_tiles_seen(a, from + n);

    causal_load_rows(f->q, job, job->q, a, group, from, n, job->scale);
    attention_block_start(f, rows);
    for (int64_t i = 0; i < tiles; i++) {
        struct causal_tile tile = causal_tile_of(a, i, from + n);
        /* A tile that lies before the window of the first query lies before all windows of the block. */
        if (causal_passed(job, a, &tile, from) == tile.n)
            continue;
        forward_tile(job, a, f, &tile, group, from, n);
    }
    for (int64_t r = 0; r < rows; r++) {
        /* The sum of the weights is known only after the last tile, so that the division comes last. */
        times(f->out + r * job->pad, 1.0f / f->sum[r], job->pad);
        lse[((a->q_from + from + r / job->each) * job->groups + group) * job->each + r % job->each] =
            f->most[r] + vlog(f->sum[r]);
    }
    causal_store_rows((struct destination){ y, false }, job, f->out, a, group, from, n);
}

void cpu_causal_attention(struct ctx *c, struct tensor *y, struct tensor *lse, const struct tensor *q,
                          const struct tensor *k, const struct tensor *v, const struct causal *s,
                          const struct attention_form *form)
{
    (void)c;
    struct causal_job job = causal_job_of(q, k, v, s, form);
    int64_t block = causal_block(&job), blocks = (job.max_len + block - 1) / block, groups = job.groups;
    int64_t tasks = job.n * groups * blocks;
#pragma omp parallel if (causal_parallel(&job, tensor_size(y)))
    {
        struct attention_block f = attention_block_new(block * job.each, job.pad);
#pragma omp for schedule(dynamic)
        for (int64_t i = 0; i < tasks; i++) {
            struct causal_span a = causal_span_of(&job, i / blocks / groups);
            int64_t from = (blocks - 1 - i % blocks) * block, left = a.n_queries - from; /* the longest first */
            if (left > 0)
                forward_block(&job, &a, &f, y, lse->data, i / blocks % groups, from, left < block ? left : block);
        }
        attention_block_free(&f);
    }
}
