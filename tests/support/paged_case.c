#include "tests/support/paged_case.h"

#include "kernels/batch.h"
#include "kernels/rng.h"
#include "tests/support/support.h"

#include <stdlib.h>

enum { LOOSE = 120 }; /* so many that a launch has more blocks than it may have a whole GPU's shared memory for */

/* Units as they are made. */
struct layout {
    const struct paged_case *k;
    struct paged_unit *unit;
    int32_t *parts;
    int64_t n, max_queries, max_pages;
};

static int64_t first_pages(int64_t shared)
{
    return (shared + 2) / 3;
}

static void add_unit(struct layout *l, int64_t first, int64_t queries, int64_t page, int64_t pages)
{
    l->unit[l->n++] =
        (struct paged_unit){ (int32_t)first, (int32_t)queries, l->k->row[first], (int32_t)page, (int32_t)pages };
    l->max_queries = queries > l->max_queries ? queries : l->max_queries;
    l->max_pages = pages > l->max_pages ? pages : l->max_pages;
}

/* Units of one query each for its pages from `from` on: the first of one page, the next of two, and so on. */
static void add_pages(struct layout *l, int64_t t, int64_t from)
{
    int64_t end = paged_pages(l->k->seen[t]);

    for (int64_t n = 1; from < end; from += n++)
        add_unit(l, t, 1, from, n < end - from ? n : end - from);
}

/* As many queries from t on as a unit takes, all of one row; pages that the last of them sees. */
static int64_t add_together(struct layout *l, int64_t t, int64_t size)
{
    const struct paged_case *k = l->k;
    int64_t n = 0, pages = 0;

    for (; n < size && t + n < k->queries && k->row[t + n] == k->row[t]; n++)
        pages = paged_pages(k->seen[t + n]) > pages ? paged_pages(k->seen[t + n]) : pages;
    add_unit(l, t, n, 0, pages);
    return n;
}

/* All queries share their first pages: the first third is one unit, and the rest is another. */
static void add_shared(struct layout *l, int64_t pages)
{
    int64_t first = first_pages(pages);

    add_unit(l, 0, l->k->queries, 0, first);
    if (pages > first)
        add_unit(l, 0, l->k->queries, first, pages - first);
}

static void lay_out(struct layout *l, enum paged_layout layout, int64_t size)
{
    int64_t n = l->k->queries;

    if (layout == PAGED_SHARED && n)
        add_shared(l, size);
    for (int64_t t = 0, step; t < n; t += step) {
        step = 1;
        if (layout == PAGED_WHOLE)
            add_unit(l, t, 1, 0, paged_pages(l->k->seen[t]));
        else if (layout == PAGED_TOGETHER)
            step = add_together(l, t, size);
        else
            add_pages(l, t, layout == PAGED_SHARED ? size : 0);
    }
}

/* Queries of several units have a partial result for their first unit and for each page behind it. */
static void count_parts(struct layout *l, enum paged_layout layout, int64_t size)
{
    bool cut = layout == PAGED_PAGES || layout == PAGED_SHARED;
    int64_t first = layout == PAGED_SHARED ? first_pages(size) : 1;

    for (int64_t t = 0; t < l->k->queries; t++) {
        int64_t behind = paged_pages(l->k->seen[t]) - first;
        l->parts[t + 1] = l->parts[t] + (int32_t)(cut && behind > 0 ? behind + 1 : 0);
    }
}

struct paged paged_of(struct ctx *c, const struct paged_case *k, enum paged_layout layout, int64_t size, bool loose)
{
    int64_t most = size + LOOSE, more = loose ? LOOSE : 0;

    for (int64_t t = 0; t < k->queries; t++)
        most += paged_pages(k->seen[t]) + 1;
    struct layout l = { .k = k,
                        .unit = xcalloc((size_t)most, sizeof *l.unit),
                        .parts = xcalloc((size_t)k->queries + 1, sizeof *l.parts) };
    lay_out(&l, layout, size);
    count_parts(&l, layout, size);
    struct paged p = { .n_units = l.n + more,
                       .n_parts = l.parts[k->queries] + more,
                       .max_queries = l.max_queries + more,
                       .max_pages = l.max_pages + more };
    p.whole = p.n_parts == 0;
    for (int64_t t = 0; t < k->queries; t++)
        p.whole &= k->seen[t] > 0;
    p.table = op_reshape(c, batch_i32(c, k->table, k->rows * k->keys), 2, (int64_t[]){ k->rows, k->keys });
    p.seen = batch_i32(c, k->seen, k->queries);
    p.units = batch_i32(c, (const int32_t *)l.unit, p.n_units * PAGED_WORDS);
    p.parts = batch_i32(c, l.parts, k->queries + 1);
    free(l.unit);
    free(l.parts);
    return p;
}

void paged_shuffle(int32_t *table, int64_t rows, int64_t keys, int64_t shared, int64_t n)
{
    struct rng r = { 29, 0 };
    int32_t *order = xmalloc((size_t)(n + 1) * sizeof *order);
    int64_t at = 0;

    for (int64_t i = 0; i < n; i++)
        order[i] = (int32_t)i;
    for (int64_t i = n - 1; i > 0; i--) {
        int64_t j = (int64_t)(rng_uniform(&r) * (double)(i + 1));
        int32_t held = order[i];
        order[i] = order[j];
        order[j] = held;
    }
    for (int64_t row = 0; row < rows; row++)
        for (int64_t i = 0; i < keys; i++)
            table[row * keys + i] = row && i < shared ? table[i] : order[at++];
    free(order);
}
