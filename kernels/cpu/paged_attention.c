/*
 * Attention of decoding: each query reads the keys of its row of a page table (kernels/paged.h).
 *
 * A unit is a run of pages that some queries share: its keys are gathered once for all of them. Pages are merged in
 * order, whether they are of one unit or of several. A query whose pages all lie in one unit is finished there. The
 * other ones store partial results, and a second loop merges them. A row's sums therefore have one order, and its bits
 * do not depend on the other requests of the step.
 */
#include "kernels/cpu/causal_attention.h"
#include "kernels/cpu/vmath.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

_Static_assert((int)PAGE_KEYS <= (int)KEYS, "a page is one tile");

struct paged_job {
    struct causal_job heads; /* layout of rows; it has no sequences */
    struct tensor *y;
    const struct paged *p;
    const int32_t *seen, *parts;
    float *partial;        /* [n_parts, heads, dim + 2]: weighted values, maximum, sum */
    int64_t block, blocks; /* queries of a block, blocks of a unit */
};

/* The scratch of a thread: a page's results, and those of the preceding pages. */
struct paged_scratch {
    struct attention_block page;
    float *out, *most, *sum; /* of a block's rows, as in page */
};

/* Some queries of a unit, and one group of heads. */
struct paged_span {
    const struct paged_unit *unit;
    int64_t group, first, n; /* first: row of q */
    int64_t begin, end;      /* no query sees keys before begin or from end on */
};

static struct paged_scratch scratch_new(const struct paged_job *job)
{
    int64_t rows = job->block * job->heads.each, pad = job->heads.pad;
    float *out = floats_new(rows * (pad + 2));

    return (struct paged_scratch){
        .page = attention_block_new(rows, pad), .out = out, .most = out + rows * pad, .sum = out + rows * (pad + 1)
    };
}

static void scratch_free(struct paged_scratch *f)
{
    attention_block_free(&f->page);
    free(f->out);
}

/* Resets the results before the first page. */
static void start(const struct paged_scratch *f, int64_t rows)
{
    memset(f->out, 0, (size_t)(rows * f->page.pad) * sizeof *f->out);
    for (int64_t r = 0; r < rows; r++) {
        f->most[r] = -INFINITY;
        f->sum[r] = 0;
    }
}

/* Merges the results of the next page into those of one row. */
CPU_CLONES static void merge_page(float *restrict out, float *restrict most, float *restrict sum,
                                  const float *restrict next, float next_most, float next_sum, int64_t n)
{
    /* Both sums are relative to their own maximum. They are rescaled to the larger one before they are added. */
    float high = *most > next_most ? *most : next_most, old = vexp(*most - high), new = vexp(next_most - high);

    for (int64_t d = 0; d < n; d++)
        out[d] = out[d] * old + next[d] * new;
    *sum = *sum * old + next_sum * new;
    *most = high;
}

/* y of a query's rows of one group; zeros are positive, whatever they were summed from. */
static void finish(const struct paged_job *job, const struct paged_scratch *f, int64_t t, int64_t group, int64_t row)
{
    int64_t pad = job->heads.pad;
    struct causal_span at = { .q_from = t };

    for (int64_t r = row; r < row + job->heads.each; r++)
        for (int64_t d = 0; d < job->heads.dim; d++)
            f->out[r * pad + d] = f->out[r * pad + d] / f->sum[r] + 0.0f;
    causal_store_rows((struct destination){ job->y, false }, &job->heads, f->out + row * pad, &at, group, 0, 1);
}

static float *partial_of(const struct paged_job *job, int64_t part, int64_t group)
{
    int64_t heads = job->heads.groups * job->heads.each;
    return job->partial + (part * heads + group * job->heads.each) * (job->heads.dim + 2);
}

/* Stores the rows of one group as a partial result. */
static void store_partial(const struct paged_job *job, const float *out, const float *most, const float *sum,
                          int64_t part, int64_t group)
{
    int64_t dim = job->heads.dim;
    float *to = partial_of(job, part, group);

    for (int64_t r = 0; r < job->heads.each; r++, to += dim + 2) {
        memcpy(to, out + r * job->heads.pad, (size_t)dim * sizeof *to);
        to[dim] = most[r];
        to[dim + 1] = sum[r];
    }
}

/* The first n keys of a tile, or their values, as f32. */
static const float *gather(const struct paged_job *job, const struct attention_block *b, const struct tensor *x,
                           const int32_t *rows, int64_t n, int64_t group)
{
    int64_t stride = tensor_cols(x), dim = job->heads.dim;

    for (int64_t j = 0, run; j < n; j += run) {
        /* Keys of consecutive rows are loaded together. */
        for (run = 1; j + run < n && rows[j + run] == rows[j] + run;)
            run++;
        tile_load(b->tile + j * b->pad, b->pad, x, rows[j] * stride + group * dim, stride, run, dim);
    }
    return b->tile;
}

/* Returns the first key that query t sees, if it sees one. */
static int64_t first_of(const struct paged_job *job, int64_t t)
{
    int64_t first = job->heads.window ? job->seen[t] - job->heads.window : 0;
    return first < 0 ? 0 : first;
}

/* Returns whether query t sees any key of a page. */
static bool sees_page(const struct paged_job *job, int64_t t, int64_t page)
{
    return job->seen[t] > page * PAGE_KEYS && first_of(job, t) < (page + 1) * PAGE_KEYS;
}

static bool is_whole(const struct paged_job *job, int64_t t)
{
    return job->parts[t] == job->parts[t + 1];
}

/* Returns the partial result of query t that ends with a page. */
static int64_t part_of(const struct paged_job *job, int64_t t, int64_t page)
{
    return job->parts[t + 1] - paged_pages(job->seen[t]) + page;
}

/* Keys of the tile at `from` before the end of those that query t sees. */
static int64_t seen_of(const struct paged_job *job, int64_t t, int64_t from, int64_t n)
{
    int64_t left = job->seen[t] - from;
    return left < 0 ? 0 : left < n ? left : n;
}

static void add_bias(const struct paged_job *job, const struct attention_block *b, const struct paged_span *s,
                     int64_t from, int64_t n)
{
    int64_t rows = job->heads.each;
    struct causal_tile tile = { .n = n, .at = from };

    for (int64_t t = 0; t < s->n; t++) {
        struct causal_span at = { .ahead = job->seen[s->first + t] - 1 };
        causal_add_bias(b->s + t * rows * KEYS, &job->heads, &at, &tile, s->group, 0, 1);
    }
}

static void attend_tile(const struct paged_job *job, const struct attention_block *b, const struct paged_span *s,
                        int64_t from, int64_t n)
{
    const struct tensor *table = job->p->table;
    const int32_t *rows = (const int32_t *)table->data + s->unit->row * table->shape[1] + from;
    int64_t each = job->heads.each;

    attention_block_score(b, s->n * each, gather(job, b, job->heads.k, rows, n, s->group), b->pad, n);
    if (job->heads.cap > 0)
        causal_cap_scores(b->s, NULL, &job->heads, s->n * each, whole_lanes(n));
    if (job->heads.bias)
        add_bias(job, b, s, from, n);
    for (int64_t t = 0; t < s->n; t++) {
        int64_t passed = first_of(job, s->first + t) - from;
        attention_block_weigh(b, t * each, each,
                              passed < 0   ? 0
                              : passed < n ? passed
                                           : n,
                              seen_of(job, s->first + t, from, n), n);
    }
    attention_block_add(b, s->n * each, gather(job, b, job->heads.v, rows, n, s->group), b->pad, n);
}

/* Merges a page's results into the sums of a unit that begins at page 0, or stores them in memory. */
static void hand_on(const struct paged_job *job, const struct paged_scratch *f, const struct paged_span *s,
                    int64_t page)
{
    const struct attention_block *b = &f->page;
    int64_t each = job->heads.each, pad = b->pad;

    for (int64_t i = 0; i < s->n; i++) {
        int64_t t = s->first + i;
        if (!sees_page(job, t, page))
            continue;
        /* The unit begins later than the query's keys, so that its page is a partial result of its own. */
        if (s->unit->page > 0) {
            store_partial(job, b->out + i * each * pad, b->most + i * each, b->sum + i * each, part_of(job, t, page),
                          s->group);
            continue;
        }
        for (int64_t r = i * each; r < (i + 1) * each; r++)
            merge_page(f->out + r * pad, f->most + r, f->sum + r, b->out + r * pad, b->most[r], b->sum[r], pad);
    }
}

/* Ends a unit that begins at page 0: y of whole queries, and the first partial result of the others. */
static void finish_span(const struct paged_job *job, const struct paged_scratch *f, const struct paged_span *s)
{
    int64_t each = job->heads.each, pad = job->heads.pad;

    for (int64_t i = 0; i < s->n; i++) {
        int64_t t = s->first + i, row = i * each;
        if (job->seen[t] == 0)
            continue;
        if (is_whole(job, t))
            finish(job, f, t, s->group, row);
        else
            store_partial(job, f->out + row * pad, f->most + row, f->sum + row, job->parts[t], s->group);
    }
}

static void attend_span(const struct paged_job *job, const struct paged_scratch *f, const struct paged_span *s)
{
    int64_t rows = s->n * job->heads.each, last = s->unit->page + s->unit->pages;
    int64_t seen = s->begin / PAGE_KEYS, page = s->unit->page > seen ? s->unit->page : seen;
    struct causal_span at = { .q_from = s->first };

    causal_load_rows(f->page.q, &job->heads, job->heads.q, &at, s->group, 0, s->n, job->heads.scale);
    start(f, rows);
    /* Pages outside of all windows of the span are skipped at both ends. */
    for (; page < last && page * PAGE_KEYS < s->end; page++) {
        int64_t left = s->end - page * PAGE_KEYS;
        attention_block_start(&f->page, rows);
        attend_tile(job, &f->page, s, page * PAGE_KEYS, left < PAGE_KEYS ? left : PAGE_KEYS);
        hand_on(job, f, s, page);
    }
    if (s->unit->page == 0)
        finish_span(job, f, s);
}

/* Computes task i of units x groups x blocks. */
static void attend_task(const struct paged_job *job, const struct paged_scratch *f, int64_t i)
{
    const struct paged_unit *unit =
        (const struct paged_unit *)job->p->units->data + i / job->blocks / job->heads.groups;
    struct paged_span s = { .unit = unit, .group = i / job->blocks % job->heads.groups, .begin = INT64_MAX };
    int64_t from = i % job->blocks * job->block, left = unit->queries - from;

    s.first = unit->first + from;
    s.n = left < job->block ? left : job->block;
    for (int64_t t = s.first; t < s.first + s.n; t++) {
        s.end = job->seen[t] > s.end ? job->seen[t] : s.end;
        s.begin = first_of(job, t) < s.begin ? first_of(job, t) : s.begin;
    }
    if (s.n > 0)
        attend_span(job, f, &s);
}

/* Merges the partial results of a query, or writes zeros for padding. */
static void merge_query(const struct paged_job *job, const struct paged_scratch *f, int64_t t)
{
    int64_t dim = job->heads.dim, pad = job->heads.pad, cols = tensor_cols(job->y);
    int64_t first = part_of(job, t, first_of(job, t) / PAGE_KEYS);
    size_t size = dtype_size(job->y->dtype);

    /* Pages before the window have no partial result. Number parts[t] is the sum of all pages but the last ones. */
    first = first > job->parts[t] ? first : job->parts[t];
    if (job->seen[t] == 0)
        memset((char *)job->y->data + (size_t)(t * cols) * size, 0, (size_t)cols * size);
    for (int64_t group = 0; !is_whole(job, t) && group < job->heads.groups; group++) {
        start(f, job->heads.each);
        for (int64_t i = first; i < job->parts[t + 1]; i++)
            for (int64_t r = 0; r < job->heads.each; r++) {
                const float *part = partial_of(job, i, group) + r * (dim + 2);
                memcpy(f->page.out + r * pad, part, (size_t)dim * sizeof *part);
                merge_page(f->out + r * pad, f->most + r, f->sum + r, f->page.out + r * pad, part[dim], part[dim + 1],
                           pad);
            }
        finish(job, f, t, group, 0);
    }
}

void cpu_paged_attention(struct ctx *c, struct tensor *y, const struct tensor *partial, const struct tensor *q,
                         const struct tensor *k, const struct tensor *v, const struct paged *p,
                         const struct attention_form *form)
{
    (void)c;
    struct paged_job job = { .heads = causal_job_of_form(q, k, v, form),
                             .y = y,
                             .p = p,
                             .seen = p->seen->data,
                             .parts = p->parts->data,
                             .partial = partial->data };
    int64_t most = causal_block(&job.heads);
    job.heads.max_keys = p->max_pages * PAGE_KEYS;
    job.block = p->max_queries < 1 ? 1 : p->max_queries < most ? p->max_queries : most;
    job.blocks = (p->max_queries + job.block - 1) / job.block;
#pragma omp parallel if (causal_parallel(&job.heads, tensor_size(y)))
    {
        struct paged_scratch f = scratch_new(&job);
#pragma omp for schedule(dynamic)
        for (int64_t i = 0; i < p->n_units * job.heads.groups * job.blocks; i++)
            attend_task(&job, &f, i);
#pragma omp for schedule(static)
        for (int64_t t = 0; t < q->shape[0]; t++)
            merge_query(&job, &f, t);
        scratch_free(&f);
    }
}
