/*
 * Rows of tables by their ids: embeddings, gather, scatter, and the rows of a decoder's cache. Scatter has one
 * writer for each row of the result, which adds in the order of the index.
 */
#include "kernels/cpu/row.h"

#include <stdlib.h>
#include <string.h>

static void embed_row(float *sum, float *buf, struct tensor *const *table, struct tensor *const *ids, int n, int64_t t)
{
    int64_t cols = tensor_cols(table[0]);

    for (int i = 0; i < n; i++) {
        int64_t id = ((const int32_t *)ids[i]->data)[t];
        CHECK(id >= 0 && id < table[i]->shape[0], "embed: id %lld of %lld rows", (long long)id,
              (long long)table[i]->shape[0]);
        if (i == 0)
            row_load(sum, table[i], id * cols, cols);
        else
            row_add(sum, row_in(buf, table[i], id * cols, cols), cols);
    }
}

void cpu_embed(struct ctx *c, struct tensor *y, struct tensor *const *table, struct tensor *const *ids, int n)
{
    (void)c;
    int64_t rows = tensor_rows(y), cols = tensor_cols(y);
#pragma omp parallel if (rows * cols > PARALLEL_MIN)
    {
        float *buf = xmalloc((size_t)(2 * cols) * sizeof *buf);
#pragma omp for schedule(static)
        for (int64_t t = 0; t < rows; t++) {
            embed_row(buf, buf + cols, table, ids, n, t);
            row_store((struct destination){ y, false }, t * cols, buf, cols);
        }
        free(buf);
    }
}

void cpu_gather(struct ctx *c, struct tensor *y, const struct tensor *x, const struct tensor *ids)
{
    (void)c;
    int64_t rows = tensor_rows(y), cols = tensor_cols(y), limit = tensor_rows(x);
    size_t bytes = (size_t)cols * dtype_size(x->dtype);
#pragma omp parallel for schedule(static) if (rows * cols > PARALLEL_MIN)
    for (int64_t t = 0; t < rows; t++) {
        int64_t id = ((const int32_t *)ids->data)[t];
        CHECK(id >= 0 && id < limit, "gather: id %lld of %lld rows", (long long)id, (long long)limit);
        memcpy((char *)y->data + (size_t)t * bytes, (const char *)x->data + (size_t)id * bytes, bytes);
    }
}

/* Sums the rows of x that are scattered to one row of y. */
static void scatter_row(struct destination y, const struct tensor *x, const struct index *i, int64_t u, float *sum,
                        float *buf)
{
    int64_t cols = tensor_cols(x), row = ((const int32_t *)i->uniq->data)[u];
    const int32_t *start = i->start->data, *order = i->order->data;

    for (int64_t s = start[u]; s < start[u + 1]; s++) {
        if (s == start[u])
            row_load(sum, x, order[s] * cols, cols);
        else
            row_add(sum, row_in(buf, x, order[s] * cols, cols), cols);
    }
    row_store(y, row * cols, sum, cols);
}

void cpu_scatter(struct ctx *c, struct destination y, const struct tensor *x, const struct index *i)
{
    int64_t cols = tensor_cols(x), limit = y.t ? tensor_rows(y.t) : 0;
    const int32_t *uniq = i->uniq->data;

    if (!y.t)
        return;
    if (!y.add)
        cpu_fill(c, y.t, 0);
    if (!cols)
        return;
#pragma omp parallel if (i->n * cols > PARALLEL_MIN)
    {
        float *buf = xmalloc((size_t)(2 * cols) * sizeof *buf);
#pragma omp for schedule(static)
        for (int64_t u = 0; u < i->n; u++) {
            CHECK(uniq[u] < limit, "scatter: row %d of %lld", uniq[u], (long long)limit);
            if (uniq[u] >= 0)
                scatter_row(y, x, i, u, buf, buf + cols);
        }
        free(buf);
    }
}

void cpu_cache_rows(struct ctx *c, struct tensor *cache, const struct tensor *x, const struct tensor *ids)
{
    (void)c;
    size_t bytes = (size_t)tensor_cols(x) * dtype_size(x->dtype);
    const int32_t *id = ids->data;

    for (int64_t t = 0; t < tensor_rows(x); t++) {
        CHECK(id[t] < tensor_rows(cache), "cache_rows: row %d of %lld", id[t], (long long)tensor_rows(cache));
        if (id[t] >= 0)
            memcpy((char *)cache->data + (size_t)id[t] * bytes, (const char *)x->data + (size_t)t * bytes, bytes);
    }
}
