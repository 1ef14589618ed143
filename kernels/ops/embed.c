/*
 * The sum of rows of up to four tables, such as words, positions and segments. The gradient of a table is a scatter of
 * dy by the ids.
 */
#include "kernels/kernels.h"

#include <string.h>

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
