/*
 * Attention over packed sequences: one (sequence, head) at a time, in f32, in a thread's own scratch.
 *
 * Sequences are short (20 to 128 tokens), so the whole of a head's keys fits the second cache; k is transposed on the
 * way in, which makes the scores a product of the same shape as the rest.
 */
#include "kernels/cpu/keep.h"
#include "kernels/cpu/row.h"
#include "kernels/cpu/vmath.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LANES = 16, WIDE = 2 * LANES, TILE_ROWS = 4 };
#define MINUS_INFINITY (-1e30f) /* the score of padding; finite, so that differences of two stay numbers */

typedef float lanes __attribute__((vector_size(LANES * sizeof(float)), aligned(4)));

/* y[m,n] = a b with a(i, l) = a[i * row + l * col], b[k, ldb], n a multiple of 16; a may so be read transposed. */
struct product {
    float *y;
    const float *a, *b;
    int64_t m, n, k, ldy, row, col, ldb;
};

/* TILE_ROWS x WIDE of y from (i, j) */
static inline __attribute__((always_inline)) void product_tile(const struct product *p, int64_t i, int64_t j, int rows,
                                                               int vectors)
{
    lanes sum[TILE_ROWS][2];

    for (int r = 0; r < rows; r++)
        for (int v = 0; v < vectors; v++)
            sum[r][v] = (lanes){ 0 };
    for (int64_t l = 0; l < p->k; l++) {
        const float *a = p->a + i * p->row + l * p->col, *b = p->b + l * p->ldb + j;
        for (int r = 0; r < rows; r++)
            for (int v = 0; v < vectors; v++)
                sum[r][v] += a[r * p->row] * *(const lanes *)(b + v * LANES);
    }
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < vectors; v++)
            *(lanes *)(p->y + (i + r) * p->ldy + j + v * LANES) = sum[r][v];
}

CPU_CLONES static void product_run(const struct product *p)
{
    for (int64_t j = 0; j < p->n; j += WIDE) {
        int64_t i = 0;
        if (p->n - j >= WIDE) {
            for (; i + TILE_ROWS <= p->m; i += TILE_ROWS)
                product_tile(p, i, j, TILE_ROWS, 2);
            for (; i < p->m; i++)
                product_tile(p, i, j, 1, 2);
        } else {
            for (; i + TILE_ROWS <= p->m; i += TILE_ROWS)
                product_tile(p, i, j, TILE_ROWS, 1);
            for (; i < p->m; i++)
                product_tile(p, i, j, 1, 1);
        }
    }
}

/* s = softmax(scale s) over n scores; the padding after them becomes about 0.  Returns log sum exp of the scaled ones.
 */
CPU_CLONES static float softmax_row(float *restrict s, int64_t n, int64_t padded, float scale)
{
    float max = MINUS_INFINITY, sum = 0;

    for (int64_t j = n; j < padded; j++)
        s[j] = MINUS_INFINITY;
#pragma omp simd reduction(max : max)
    for (int64_t j = 0; j < padded; j++)
        max = s[j] > max ? s[j] : max;
#pragma omp simd reduction(+ : sum)
    for (int64_t j = 0; j < padded; j++) {
        s[j] = vexp((s[j] - max) * scale);
        sum += s[j];
    }
    float inverse = 1.0f / sum;
#pragma omp simd
    for (int64_t j = 0; j < padded; j++)
        s[j] *= inverse;
    return max * scale + logf(sum);
}

/* s = exp(scale s - lse) */
CPU_CLONES static void recompute_row(float *restrict s, int64_t n, int64_t padded, float scale, float lse)
{
    for (int64_t j = n; j < padded; j++)
        s[j] = MINUS_INFINITY;
#pragma omp simd
    for (int64_t j = 0; j < padded; j++)
        s[j] = vexp(s[j] * scale - lse);
}

CPU_CLONES static void multiply_row(float *restrict y, const float *restrict x, int64_t n)
{
    for (int64_t j = 0; j < n; j++)
        y[j] *= x[j];
}

/* ds = scale p (dp - sum p dp) into dp */
CPU_CLONES static void score_row(float *restrict dp, const float *restrict p, int64_t n, float scale)
{
    float dot = 0;

#pragma omp simd reduction(+ : dot)
    for (int64_t j = 0; j < n; j++)
        dot += p[j] * dp[j];
#pragma omp simd
    for (int64_t j = 0; j < n; j++)
        dp[j] = scale * p[j] * (dp[j] - dot);
}

/* What the kernels need, once per call. */
struct job {
    const struct tensor *q, *kv;
    struct attention_view v;
    const int32_t *q_offsets, *k_offsets, *rng;
    int heads;
    float p, scale;
    uint32_t site;
    int64_t padded; /* longest key sequence, rounded up to whole lanes */
};

static int64_t whole_lanes(int64_t n)
{
    return (n + LANES - 1) / LANES * LANES;
}

static struct job job_of(struct ctx *c, const struct tensor *q, const struct tensor *kv, const struct seqs *qs,
                         const struct seqs *ks, int heads, float p, uint32_t site)
{
    struct attention_view v = attention_view(q, kv, heads);
    struct job job = { q,
                       kv,
                       v,
                       qs->offsets->data,
                       ks->offsets->data,
                       p > 0 ? c->rng->data : NULL,
                       heads,
                       p,
                       1.0f / sqrtf((float)v.head_dim),
                       site,
                       whole_lanes(ks->max_len) };
    return job;
}

/* rows [from, from + n) of one head of x, as [n, D] */
static void load_head(float *dst, const struct tensor *x, int64_t from, int64_t n, int64_t stride, int64_t offset,
                      int64_t dim)
{
    for (int64_t t = 0; t < n; t++)
        row_load(dst + t * dim, x, (from + t) * stride + offset, dim);
}

static void store_head(struct grad y, const float *src, int64_t from, int64_t n, int64_t stride, int64_t offset,
                       int64_t dim)
{
    for (int64_t t = 0; t < n; t++)
        row_store(y, (from + t) * stride + offset, src + t * dim, dim);
}

/* y[dim, ldy] = x[n, dim]^T, columns from n on zero */
static void transpose(float *restrict y, const float *restrict x, int64_t n, int64_t dim, int64_t ldy)
{
    for (int64_t d = 0; d < dim; d++) {
        for (int64_t t = 0; t < n; t++)
            y[d * ldy + t] = x[t * dim + d];
        for (int64_t t = n; t < ldy; t++)
            y[d * ldy + t] = 0;
    }
}

enum { KEEP_RUN = 256 }; /* dropout factors drawn at a time */

/* a, and b unless it is NULL, both [n, padded], times the dropout factors of queries [from, from + n) */
static void drop_rows(const struct job *job, float *a, float *b, int64_t from, int64_t n, int64_t n_keys, int64_t h)
{
    int64_t padded = whole_lanes(n_keys);
    float keep[KEEP_RUN];

    for (int64_t t = 0; job->p > 0 && t < n; t++)
        for (int64_t j = 0; j < n_keys; j += KEEP_RUN) {
            int64_t run = n_keys - j < KEEP_RUN ? n_keys - j : KEEP_RUN;
            keep_run(keep, job->rng, job->site, (uint32_t)((from + t) * job->heads + h), (uint32_t)(j / 4), run,
                     job->p);
            multiply_row(a + t * padded + j, keep, run);
            if (b)
                multiply_row(b + t * padded + j, keep, run);
        }
}

enum { QUERY_BLOCK = 32 };

/* Floats of scratch for the forward of one head: k, its transpose, v, and a block of q, of y and of scores. */
static size_t forward_scratch(const struct job *job)
{
    int64_t dim = job->v.head_dim;
    return (size_t)(3 * job->padded * dim + QUERY_BLOCK * (2 * dim + job->padded));
}

/* Queries [from, from + n); k_t and v are ready. */
static void forward_block(const struct job *job, struct tensor *y, float *lse, const float *k_t, const float *v,
                          float *scratch, int64_t from, int64_t n, int64_t n_keys, int64_t h)
{
    int64_t dim = job->v.head_dim, padded = whole_lanes(n_keys);
    float *q = scratch, *out = q + QUERY_BLOCK * dim, *s = out + QUERY_BLOCK * dim;

    load_head(q, job->q, from, n, job->v.q_stride, h * dim, dim);
    product_run(&(struct product){ s, q, k_t, n, padded, dim, padded, dim, 1, padded });
    for (int64_t t = 0; t < n; t++)
        lse[(from + t) * job->heads + h] = softmax_row(s + t * padded, n_keys, padded, job->scale);
    drop_rows(job, s, NULL, from, n, n_keys, h);
    product_run(&(struct product){ out, s, v, n, dim, n_keys, dim, padded, 1, dim });
    store_head((struct grad){ y, false }, out, from, n, tensor_cols(y), h * dim, dim);
}

static void forward_head(const struct job *job, struct tensor *y, float *lse, float *scratch, int64_t i, int64_t h)
{
    int64_t dim = job->v.head_dim, k_from = job->k_offsets[i], n_keys = job->k_offsets[i + 1] - k_from;
    int64_t q_from = job->q_offsets[i], q_end = job->q_offsets[i + 1], padded = whole_lanes(n_keys);
    float *k = scratch, *k_t = k + padded * dim, *v = k_t + padded * dim;

    load_head(k, job->kv, k_from, n_keys, job->v.kv_stride, job->v.k_offset + h * dim, dim);
    load_head(v, job->kv, k_from, n_keys, job->v.kv_stride, job->v.v_offset + h * dim, dim);
    transpose(k_t, k, n_keys, dim, padded);
    for (int64_t from = q_from; from < q_end; from += QUERY_BLOCK) {
        int64_t n = q_end - from < QUERY_BLOCK ? q_end - from : QUERY_BLOCK;
        forward_block(job, y, lse, k_t, v, v + padded * dim, from, n, n_keys, h);
    }
}

void cpu_attention(struct ctx *c, struct tensor *y, struct tensor *lse, const struct tensor *q, const struct tensor *kv,
                   const struct seqs *qs, const struct seqs *ks, int heads, float p, uint32_t site)
{
    struct job job = job_of(c, q, kv, qs, ks, heads, p, site);
    int64_t tasks = qs->n * heads;
#pragma omp parallel if (tensor_size(y) > PARALLEL_MIN)
    {
        float *scratch = xmalloc(forward_scratch(&job) * sizeof *scratch);
#pragma omp for schedule(static, 4)
        for (int64_t i = 0; i < tasks; i++)
            forward_head(&job, y, lse->data, scratch, i / heads, i % heads);
        free(scratch);
    }
}

/* One head of one sequence on its way back; all [rows, D] or [queries, padded], in scratch. */
struct head {
    int64_t h, q_from, n_queries, k_from, n_keys, padded;
    float *q, *k, *v, *dy, *transposed, *out; /* out: dq, dk or dv before it is stored */
    float *weights, *dropped, *ds;            /* dropped is weights when there is no dropout */
};

static size_t backward_scratch(const struct job *job, int64_t longest_query)
{
    int64_t dim = job->v.head_dim, longest = longest_query > job->padded ? longest_query : job->padded;
    return (size_t)(6 * longest * dim + 3 * longest_query * job->padded);
}

static struct head head_of(const struct job *job, float *scratch, int64_t longest_query, int64_t i, int64_t h)
{
    int64_t dim = job->v.head_dim, longest = longest_query > job->padded ? longest_query : job->padded;
    float *rows[6], *squares = scratch + 6 * longest * dim;

    for (int r = 0; r < 6; r++)
        rows[r] = scratch + r * longest * dim;
    struct head head = { .h = h,
                         .q_from = job->q_offsets[i],
                         .k_from = job->k_offsets[i],
                         .q = rows[0],
                         .k = rows[1],
                         .v = rows[2],
                         .dy = rows[3],
                         .transposed = rows[4],
                         .out = rows[5],
                         .weights = squares,
                         .ds = squares + longest_query * job->padded };
    head.n_queries = job->q_offsets[i + 1] - head.q_from;
    head.n_keys = job->k_offsets[i + 1] - head.k_from;
    head.padded = whole_lanes(head.n_keys);
    head.dropped = job->p > 0 ? squares + 2 * longest_query * job->padded : head.weights;
    return head;
}

static void backward_load(const struct job *job, struct head *a, const struct tensor *dy)
{
    int64_t dim = job->v.head_dim, at = a->h * dim;

    load_head(a->q, job->q, a->q_from, a->n_queries, job->v.q_stride, at, dim);
    load_head(a->k, job->kv, a->k_from, a->n_keys, job->v.kv_stride, job->v.k_offset + at, dim);
    load_head(a->v, job->kv, a->k_from, a->n_keys, job->v.kv_stride, job->v.v_offset + at, dim);
    load_head(a->dy, dy, a->q_from, a->n_queries, tensor_cols(dy), at, dim);
}

/* The weights from the scores and lse, with and without dropout, and the gradient of the scores. */
static void backward_scores(const struct job *job, struct head *a, const float *lse)
{
    int64_t dim = job->v.head_dim, n = a->n_queries, padded = a->padded;

    transpose(a->transposed, a->k, a->n_keys, dim, padded);
    product_run(&(struct product){ a->weights, a->q, a->transposed, n, padded, dim, padded, dim, 1, padded });
    for (int64_t t = 0; t < n; t++)
        recompute_row(a->weights + t * padded, a->n_keys, padded, job->scale, lse[(a->q_from + t) * job->heads + a->h]);
    if (a->dropped != a->weights)
        memcpy(a->dropped, a->weights, (size_t)(n * padded) * sizeof *a->weights);

    transpose(a->transposed, a->v, a->n_keys, dim, padded);
    product_run(&(struct product){ a->ds, a->dy, a->transposed, n, padded, dim, padded, dim, 1, padded });
    drop_rows(job, a->dropped, a->ds, a->q_from, n, a->n_keys, a->h);
    for (int64_t t = 0; t < n; t++)
        score_row(a->ds + t * padded, a->weights + t * padded, padded, job->scale);
}

static void backward_head(const struct job *job, struct head *a, struct grad dq, struct grad dkv)
{
    int64_t dim = job->v.head_dim, at = a->h * dim, n = a->n_queries, keys = a->n_keys, padded = a->padded;

    if (dq.t) {
        product_run(&(struct product){ a->out, a->ds, a->k, n, dim, keys, dim, padded, 1, dim });
        store_head(dq, a->out, a->q_from, n, job->v.q_stride, at, dim);
    }
    if (dkv.t) {
        product_run(&(struct product){ a->out, a->ds, a->q, keys, dim, n, dim, 1, padded, dim });
        store_head(dkv, a->out, a->k_from, keys, job->v.kv_stride, job->v.k_offset + at, dim);
        product_run(&(struct product){ a->out, a->dropped, a->dy, keys, dim, n, dim, 1, padded, dim });
        store_head(dkv, a->out, a->k_from, keys, job->v.kv_stride, job->v.v_offset + at, dim);
    }
}

void cpu_attention_backward(struct ctx *c, struct grad dq, struct grad dkv, const struct tensor *dy,
                            const struct tensor *y, const struct tensor *lse, const struct tensor *q,
                            const struct tensor *kv, const struct seqs *qs, const struct seqs *ks, int heads, float p,
                            uint32_t site)
{
    (void)y; /* sum p dp is the same number as sum y dy, without the rounding of y */
    struct job job = job_of(c, q, kv, qs, ks, heads, p, site);
    int64_t tasks = qs->n * heads;
    struct grad kv_grad = q == kv ? dq : dkv;
#pragma omp parallel if (tensor_size(dy) > PARALLEL_MIN)
    {
        float *scratch = xmalloc(backward_scratch(&job, qs->max_len) * sizeof *scratch);
#pragma omp for schedule(static, 4)
        for (int64_t i = 0; i < tasks; i++) {
            struct head head = head_of(&job, scratch, qs->max_len, i / heads, i % heads);
            backward_load(&job, &head, dy);
            backward_scores(&job, &head, lse->data);
            backward_head(&job, &head, dq, kv_grad);
        }
        free(scratch);
    }
}
