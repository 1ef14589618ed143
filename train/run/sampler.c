#include "train/run/sampler.h"

#include "kernels/base.h"
#include "kernels/rng.h"

#include <stdlib.h>
#include <string.h>

/* Texts [first, first + n) in sorted order, which are the leaves below one node. */
struct piece {
    int first, n;
};

static int64_t level(const struct prefix_order *p, int i)
{
    return p->common[i] / PREFIX_GRAIN;
}

/* Splits the leaves below a node into its children. pieces has room for one per text. */
static int split(const struct prefix_order *p, struct piece all, struct piece *pieces)
{
    int64_t least = INT64_MAX;
    int n = 0;

    for (int i = all.first + 1; i < all.first + all.n; i++)
        least = level(p, i) < least ? level(p, i) : least;
    for (int i = all.first; i < all.first + all.n; i++) {
        if (i == all.first || level(p, i) == least)
            pieces[n++] = (struct piece){ .first = i };
        pieces[n - 1].n++;
    }
    return n;
}

static int *walk(const struct prefix_order *p, struct rng *rng, struct piece all, int *order)
{
    if (all.n == 1) {
        *order = p->sorted[all.first];
        return order + 1;
    }
    struct piece *pieces = xmalloc((size_t)all.n * sizeof *pieces);
    int n = split(p, all, pieces);
    rng_shuffle(rng, pieces, n, sizeof *pieces);
    for (int i = 0; i < n; i++)
        order = walk(p, rng, pieces[i], order);
    free(pieces);
    return order;
}

void prefix_order_walk(const struct prefix_order *p, struct rng *rng, int *order)
{
    if (p->n)
        walk(p, rng, (struct piece){ 0, p->n }, order);
}

enum { WINDOW = 50 /* batches */ };

void sampler_init(struct sampler *s, uint64_t seed, const int *pool, int n, int batch)
{
    *s = (struct sampler){ .seed = seed, .n = n, .batch = batch, .epoch = -1 };
    s->pool = xmalloc((size_t)n * sizeof *pool);
    s->order = xmalloc((size_t)n * sizeof *pool);
    memcpy(s->pool, pool, (size_t)n * sizeof *pool);
}

void sampler_release(struct sampler *s)
{
    free(s->pool);
    free(s->order);
    *s = (struct sampler){ 0 };
}

int64_t sampler_batches(const struct sampler *s)
{
    return (s->n + s->batch - 1) / s->batch;
}

struct ranked {
    int64_t length;
    int example, place;
};

static int longest_first(const void *x, const void *y)
{
    const struct ranked *a = x, *b = y;
    if (a->length != b->length)
        return a->length > b->length ? -1 : 1;
    return a->place - b->place;
}

static void sort_window(const struct sampler *s, int *order, int n)
{
    struct ranked *list = xmalloc((size_t)n * sizeof *list);

    for (int i = 0; i < n; i++)
        list[i] = (struct ranked){ s->length[order[i]], order[i], i };
    qsort(list, (size_t)n, sizeof *list, longest_first);
    for (int i = 0; i < n; i++)
        order[i] = list[i].example;
    free(list);
}

static void group(struct sampler *s)
{
    int window = WINDOW * s->batch;

    for (int at = 0; at < s->n; at += window)
        sort_window(s, s->order + at, s->n - at < window ? s->n - at : window);
}

static void shuffle(struct sampler *s, int64_t epoch)
{
    struct rng rng = { .seed = s->seed ^ ((uint64_t)epoch + 1) * UINT64_C(0x9E3779B97F4A7C15) };

    memcpy(s->order, s->pool, (size_t)s->n * sizeof *s->order);
    CHECK(!s->prefixes || s->prefixes->n == s->n, "%d examples, an order of %d", s->n, s->prefixes->n);
    if (s->prefixes)
        prefix_order_walk(s->prefixes, &rng, s->order);
    else
        rng_shuffle(&rng, s->order, s->n, sizeof *s->order);
    if (s->length && !s->prefixes)
        group(s);
    if (s->length || s->prefixes)
        rng_shuffle(&rng, s->order, s->n / s->batch, (size_t)s->batch * sizeof *s->order);
    s->epoch = epoch;
}

int sampler_batch(struct sampler *s, int64_t epoch, int64_t batch, const int **examples)
{
    if (s->epoch != epoch)
        shuffle(s, epoch);
    int64_t first = batch * s->batch;
    CHECK(first >= 0 && first < s->n, "batch %lld of %lld", (long long)batch, (long long)sampler_batches(s));
    *examples = s->order + first;
    return (int)(s->n - first < s->batch ? s->n - first : s->batch);
}

static int64_t tokens_of(const struct sampler *s, int example)
{
    return s->tokens ? s->tokens[example] : 1;
}

/* An example belongs to the partition that contains its midpoint. */
int sampler_cut(const struct sampler *s, const int *examples, int n, int rank, int ranks)
{
    int64_t total = 0, before = 0;
    int i = 0;

    for (int k = 0; k < n; k++)
        total += tokens_of(s, examples[k]);
    for (; i < n; i++) {
        int64_t tokens = tokens_of(s, examples[i]);
        if ((2 * before + tokens) * ranks >= 2 * total * rank && rank < ranks)
            break;
        before += tokens;
    }
    return i;
}
