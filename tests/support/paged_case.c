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
    int64_t n, max_queries, max_chunks;
};

static int64_t chunks_of(const struct paged_case *k, int64_t t)
{
    return (k->seen[t] + CHUNK_KEYS - 1) / CHUNK_KEYS;
}

static void add_unit(struct layout *l, int64_t first, int64_t queries, int64_t chunk, int64_t chunks)
{
    l->unit[l->n++] =
        (struct paged_unit){ (int32_t)first, (int32_t)queries, l->k->row[first], (int32_t)chunk, (int32_t)chunks, -1 };
    l->max_queries = queries > l->max_queries ? queries : l->max_queries;
    l->max_chunks = chunks > l->max_chunks ? chunks : l->max_chunks;
}

/* Units of one query each for its chunks from `from` on. */
static void add_chunks(struct layout *l, int64_t t, int64_t from)
{
    for (int64_t chunk = from; chunk < chunks_of(l->k, t); chunk++)
        add_unit(l, t, 1, chunk, 1);
}

/* As many queries from t on as a unit takes, all of one row; chunks that the last of them sees. */
static int64_t add_together(struct layout *l, int64_t t, int64_t size)
{
    const struct paged_case *k = l->k;
    int64_t n = 0, chunks = 0;

    for (; n < size && t + n < k->queries && k->row[t + n] == k->row[t]; n++)
        chunks = chunks_of(k, t + n) > chunks ? chunks_of(k, t + n) : chunks;
    add_unit(l, t, n, 0, chunks);
    return n;
}

static void lay_out(struct layout *l, enum paged_layout layout, int64_t size)
{
    int64_t n = l->k->queries;

    for (int64_t chunk = 0; layout == PAGED_SHARED && n && chunk < size; chunk++)
        add_unit(l, 0, n, chunk, 1);
    for (int64_t t = 0, step; t < n; t += step) {
        step = 1;
        if (layout == PAGED_WHOLE)
            add_unit(l, t, 1, 0, chunks_of(l->k, t));
        else if (layout == PAGED_TOGETHER)
            step = add_together(l, t, size);
        else
            add_chunks(l, t, layout == PAGED_SHARED ? size : 0);
    }
}

/* Queries of several units have a partial result for each chunk. */
static void count_parts(struct layout *l, enum paged_layout layout)
{
    bool cut = layout == PAGED_CHUNKS || layout == PAGED_SHARED;

    for (int64_t t = 0; t < l->k->queries; t++) {
        int64_t chunks = chunks_of(l->k, t);
        l->parts[t + 1] = l->parts[t] + (int32_t)(cut && chunks > 1 ? chunks : 0);
    }
}

struct paged paged_of(struct ctx *c, const struct paged_case *k, enum paged_layout layout, int64_t size, bool loose)
{
    int64_t most = size + LOOSE, more = loose ? LOOSE : 0;

    for (int64_t t = 0; t < k->queries; t++)
        most += chunks_of(k, t) + 1;
    struct layout l = { .k = k,
                        .unit = xcalloc((size_t)most, sizeof *l.unit),
                        .parts = xcalloc((size_t)k->queries + 1, sizeof *l.parts) };
    lay_out(&l, layout, size);
    count_parts(&l, layout);
    struct paged p = { .n_units = l.n + more,
                       .n_parts = l.parts[k->queries] + more,
                       .max_queries = l.max_queries + more,
                       .max_chunks = l.max_chunks + more };
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
