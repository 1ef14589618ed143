#include "train/run/prefix_order.h"

#include "kernels/base.h"

#include <stdlib.h>

/* Texts [first, first + n) of the sorted ones: those below a node. */
struct piece {
    int first, n;
};

static int64_t level(const struct prefix_order *p, int i)
{
    return p->common[i] / PREFIX_GRAIN;
}

/* The children of the node that all of a piece are below; pieces has room for one of each text. */
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
