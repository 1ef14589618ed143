/*
 * Rows of tables by their ids: embeddings, gather, scatter, and the rows of a decoder's cache. An id may occur more
 * than once. The gradient of a table is therefore a scatter in the order of an index (struct index), which gives the
 * same bits in every run.
 */
#include "kernels/kernels.h"

#include <string.h>

/* The sum of rows of up to four tables, such as words, positions and segments. The gradient of a table is a scatter of
 * dy by the ids. */
enum { TABLES_MAX = 4 };

struct embed_node {
    struct node node;
    struct tensor *table[TABLES_MAX];
    struct index ids[TABLES_MAX];
    int n;
};

static void embed_backward(struct ctx *c, struct node *node)
{
    struct embed_node *n = (struct embed_node *)node;

    for (int i = 0; i < n->n; i++) {
        struct destination g = destination_of(c, n->table[i]);
        const struct index *ids = &n->ids[i];
        RUN(c, scatter, g, node->out->grad, ids);
    }
}

struct tensor *op_embed(struct ctx *c, struct tensor *const *table, const struct index *ids, int n)
{
    CHECK(n > 0 && n <= TABLES_MAX, "embed: %d tables", n);
    struct embed_node rec = { .n = n };
    struct tensor *rows[TABLES_MAX];
    for (int i = 0; i < n; i++) {
        CHECK(table[i]->ndim == 2 && table[i]->shape[1] == table[0]->shape[1] && table[i]->dtype == table[0]->dtype &&
                  ids[i].n == ids[0].n,
              "embed: table %d has %lld columns, the first %lld; %lld and %lld ids", i,
              (long long)tensor_cols(table[i]), (long long)tensor_cols(table[0]), (long long)ids[i].n,
              (long long)ids[0].n);
        rec.table[i] = table[i];
        rec.ids[i] = ids[i];
        rows[i] = ids[i].ids;
    }
    struct tensor *y = tensor_new2(c, table[0]->dtype, ids[0].n, table[0]->shape[1]);
    RUN(c, embed, y, table, rows, n);
    /* TAPE_PUSH takes fields by name; this record is filled in a loop and pushed as a whole. */
    if (tape_needs_(c, y, n, table)) {
        rec.node = (struct node){ .out = y, .backward = embed_backward };
        tape_push(c, &rec, sizeof rec);
    }
    return y;
}

/* Rows of a tensor by their ids, and the reverse: rows added up at their ids. Each is the backward of the other. The
 * index also lists who asks for each row, so that sums have one order and one writer. */
struct gather_node {
    struct node node;
    struct tensor *x;
    struct index i;
};

static void gather_backward(struct ctx *c, struct node *node)
{
    struct gather_node *n = (struct gather_node *)node;
    struct destination dx = destination_of(c, n->x);
    const struct index *i = &n->i;
    RUN(c, scatter, dx, node->out->grad, i);
}

struct tensor *op_gather(struct ctx *c, struct tensor *x, const struct index *i)
{
    CHECK(x->ndim == 2, "gather: rows of a %d-dimensional tensor", x->ndim);
    struct tensor *y = tensor_new2(c, x->dtype, i->n, x->shape[1]);
    struct tensor *ids = i->ids;
    RUN(c, gather, y, x, ids);
    if (tape_needs(c, y, x))
        TAPE_PUSH(c, gather_node, y, gather_backward, .x = x, .i = *i);
    return y;
}

static void scatter_backward(struct ctx *c, struct node *node)
{
    struct gather_node *n = (struct gather_node *)node;
    struct destination dx = destination_of(c, n->x);
    struct tensor *ids = n->i.ids, *dy = node->out->grad;

    if (!dx.t)
        return;
    size_t mark = arena_mark(c->step);
    /* gather cannot add, so that a second writer goes through scratch. */
    struct tensor *rows = dx.add ? tensor_like(c, n->x) : dx.t;
    RUN(c, gather, rows, dy, ids);
    if (dx.add)
        RUN(c, accumulate, dx, rows);
    arena_reset(c->step, mark);
}

struct tensor *op_scatter(struct ctx *c, struct tensor *x, const struct index *i, int64_t rows)
{
    CHECK(x->ndim == 2 && x->shape[0] == i->n, "scatter: %lld rows, %lld ids", (long long)x->shape[0], (long long)i->n);
    CHECK(i->start, "scatter: an index that was not made while recording, so that it does not tell who asks for a row");
    struct tensor *y = tensor_new2(c, x->dtype, rows, x->shape[1]);
    struct destination out = { y, false };
    RUN(c, scatter, out, x, i);
    if (tape_needs(c, y, x))
        TAPE_PUSH(c, gather_node, y, scatter_backward, .x = x, .i = *i);
    return y;
}

void op_cache_rows(struct ctx *c, struct tensor *cache, struct tensor *x, struct tensor *ids)
{
    CHECK(!c->recording && cache->dtype == x->dtype && tensor_cols(cache) == tensor_cols(x) && ids->dtype == I32 &&
              tensor_size(ids) == tensor_rows(x),
          "cache_rows: %lld rows [%lld] of %s, %lld ids, into [%lld] of %s", (long long)tensor_rows(x),
          (long long)tensor_cols(x), dtype_name(x->dtype), (long long)tensor_size(ids), (long long)tensor_cols(cache),
          dtype_name(cache->dtype));
    RUN(c, cache_rows, cache, x, ids);
}
