/* Part of kernel_rows.h: the ops of a decoder in decoding steps, without a backward pass. */
#include "bench/kernel_rows_impl.h"

#include "kernels/batch.h"

#include <stdlib.h>

/* Few rows of a decoder: queries, keys and values of n, n / 4 and n / 4 columns, or two maps of n columns. */
void make_maps(struct ctx *c, struct bench *b)
{
    bench_input(c, b, b->row->t, b->row->c, b->dtype);
    for (int i = 0; i < 3; i++)
        bench_param(c, b, i ? b->row->n / 4 : b->row->n, b->row->c, b->dtype);
    bench_param(c, b, b->row->c, 1, F32);
}

void make_halves(struct ctx *c, struct bench *b)
{
    bench_input(c, b, b->row->t, b->row->c, b->dtype);
    bench_param(c, b, b->row->n, b->row->c, b->dtype);
    bench_param(c, b, b->row->n, b->row->c, b->dtype);
    bench_param(c, b, b->row->c, 1, F32);
}

/* These ops run without a record. */
static struct tensor *run_once(struct ctx *c, struct bench *b, struct tensor *(*run)(struct ctx *c, struct bench *b))
{
    bool recording = c->recording, training = c->training;

    c->recording = c->training = false;
    c->rows = ROWS_FEW;
    struct tensor *y = run(c, b);
    c->rows = ROWS_BY_NUMBER;
    c->recording = recording;
    c->training = training;
    return y;
}

static struct tensor *group_once(struct ctx *c, struct bench *b)
{
    struct linear_map maps[3] = { { .w = b->in[1] }, { .w = b->in[2] }, { .w = b->in[3] } };
    struct tensor *y[3];

    op_linear_group(c, y, b->in[0], (struct rms_norm){ b->in[4], 1e-5f },
                    (const struct linear_map *const[]){ &maps[0], &maps[1], &maps[2] }, 3);
    return y[0];
}

struct tensor *run_linear_group(struct ctx *c, struct bench *b)
{
    return run_once(c, b, group_once);
}

double linear_group_flops(const struct row *row)
{
    return 3.0 * (double)row->t * (double)row->c * (double)row->n;
}

static struct tensor *glu_once(struct ctx *c, struct bench *b)
{
    struct linear_map gate = { .w = b->in[1] }, up = { .w = b->in[2] };

    return op_linear_glu(c, b->in[0], (struct rms_norm){ b->in[3], 1e-5f }, &gate, &up, GATE_SILU);
}

struct tensor *run_linear_glu(struct ctx *c, struct bench *b)
{
    return run_once(c, b, glu_once);
}

static struct tensor *logits_once(struct ctx *c, struct bench *b)
{
    struct lora l = bench_adapter(b);
    return op_linear_logits(c, b->in[0], b->in[1], &l, 0);
}

struct tensor *run_linear_logits(struct ctx *c, struct bench *b)
{
    return run_once(c, b, logits_once);
}

/* `rows` queries of each request read the same `shared` keys of a prompt, and each its own up to `keys`. */
struct paged_form {
    int64_t rows, shared, keys;
};
enum { SHARED_HEADS = 4 };

/* The limits of a unit. */
struct paged_cut {
    int64_t queries, pages;
};

static int32_t *lay_out_table(const struct paged_form *f, int64_t n)
{
    int32_t *table = xmalloc((size_t)(n * f->keys) * sizeof *table);
    int64_t own = f->keys - f->shared;

    for (int64_t r = 0; r < n; r++)
        for (int64_t key = 0; key < f->keys; key++)
            table[r * f->keys + key] =
                (int32_t)(r / f->rows * (f->shared + f->rows * own) + key + (key < f->shared ? 0 : r % f->rows * own));
    return table;
}

/* Adds queries [first, first + n) and pages [page, end), cut as for decoding. */
static int64_t add_units(struct paged_unit *units, int64_t at, int64_t first, int64_t n, int64_t page, int64_t end,
                         struct paged_cut cut)
{
    for (; page < end; page += cut.pages)
        for (int64_t q = 0; q < n; q += cut.queries)
            units[at++] =
                (struct paged_unit){ (int32_t)(first + q), (int32_t)(n - q < cut.queries ? n - q : cut.queries),
                                     (int32_t)first, (int32_t)page,
                                     (int32_t)(end - page < cut.pages ? end - page : cut.pages) };
    return at;
}

/* Makes units for the pages that the rows of a request share, and for the other pages of each row. */
static int64_t lay_out_units(const struct paged_form *f, struct paged_unit *units, int64_t n, struct paged_cut cut)
{
    int64_t at = 0;

    for (int64_t r = 0; r < n; r += f->rows)
        at = add_units(units, at, r, f->rows, 0, f->shared / PAGE_KEYS, cut);
    for (int64_t r = 0; r < n; r++)
        at = add_units(units, at, r, 1, f->shared / PAGE_KEYS, paged_pages(f->keys), cut);
    return at;
}

/* Partial results of a query: one for the pages of its first unit, and one for each page behind. */
static int64_t count_parts(const struct paged_form *f, struct paged_cut cut)
{
    int64_t pages = paged_pages(f->keys), first = f->shared ? f->shared / PAGE_KEYS : pages;

    first = first < cut.pages ? first : cut.pages;
    return pages > first ? pages - first + 1 : 0;
}

/* n heads of c numbers */
static void make_paged_form(struct ctx *c, struct bench *b, const struct paged_form *f)
{
    int64_t n = (b->row->t + f->rows - 1) / f->rows * f->rows, cache = n / f->rows * f->shared;
    int64_t width = b->row->c * b->row->n, own = paged_pages(f->keys) - f->shared / PAGE_KEYS;
    int64_t pages = n / f->rows * (f->shared / PAGE_KEYS) + n * own;
    int heads = (int)b->row->n, groups = heads / SHARED_HEADS;
    struct paged_cut cut = { paged_unit_queries(heads, groups), paged_unit_pages(pages, groups) };
    int64_t parts = count_parts(f, cut);
    int32_t *table = lay_out_table(f, n), *seen = xmalloc((size_t)(2 * n + 1) * sizeof *seen), *part = seen + n;
    struct paged_unit *units = xmalloc((size_t)(f->rows * pages) * sizeof *units);

    cache += n * (f->keys - f->shared);
    for (int64_t r = 0; r < n; r++)
        seen[r] = (int32_t)f->keys;
    for (int64_t r = 0; r <= n; r++)
        part[r] = (int32_t)(r * parts);
    b->paged = (struct paged){ .table = op_reshape(c, batch_i32(c, table, n * f->keys), 2, (int64_t[]){ n, f->keys }),
                               .seen = batch_i32(c, seen, n),
                               .parts = batch_i32(c, part, n + 1),
                               .n_units = lay_out_units(f, units, n, cut),
                               .n_parts = n * parts,
                               .max_queries = f->rows < cut.queries ? f->rows : cut.queries,
                               .max_pages = cut.pages,
                               .whole = parts == 0 };
    b->paged.units = batch_i32(c, (const int32_t *)units, b->paged.n_units * PAGED_WORDS);
    free(table);
    free(seen);
    free(units);
    bench_input(c, b, n, width, b->dtype);
    bench_input(c, b, cache, width / SHARED_HEADS, b->dtype);
    bench_input(c, b, cache, width / SHARED_HEADS, b->dtype);
}

/* Ten beams per prompt. */
void make_paged_beams(struct ctx *c, struct bench *b)
{
    make_paged_form(c, b, &(struct paged_form){ 10, 512, 576 });
}

/* One row per prompt. */
void make_paged_alone(struct ctx *c, struct bench *b)
{
    make_paged_form(c, b, &(struct paged_form){ 1, 0, 1000 });
}

/* Five prompts of 686 tokens share their first 600, in whole pages.  50 of 100 new tokens are generated. */
void make_paged_begun(struct ctx *c, struct bench *b)
{
    make_paged_form(c, b, &(struct paged_form){ 5, 600 / PAGE_KEYS * PAGE_KEYS, 736 });
}

static struct tensor *paged_once(struct ctx *c, struct bench *b)
{
    struct attention_form form = { .heads = (int)b->row->n, .groups = (int)b->row->n / SHARED_HEADS };

    return op_paged_attention(c, b->in[0], b->in[1], b->in[2], &b->paged, &form);
}

struct tensor *run_paged(struct ctx *c, struct bench *b)
{
    return run_once(c, b, paged_once);
}

/* The op copies each row of x to its numbered row of the cache. */
void make_cache_rows(struct ctx *c, struct bench *b)
{
    bench_input(c, b, b->row->t, b->row->c, b->dtype);
    b->cache = tensor_new2(c, b->dtype, b->row->t, b->row->c);
    int32_t *ids = xmalloc((size_t)b->row->t * sizeof *ids);
    for (int64_t r = 0; r < b->row->t; r++)
        ids[r] = (int32_t)r;
    b->index = batch_index(c, ids, b->row->t, b->row->t);
    free(ids);
}

static struct tensor *cache_once(struct ctx *c, struct bench *b)
{
    op_cache_rows(c, b->cache, b->in[0], b->index.ids);
    return b->cache;
}

struct tensor *run_cache_rows(struct ctx *c, struct bench *b)
{
    return run_once(c, b, cache_once);
}
