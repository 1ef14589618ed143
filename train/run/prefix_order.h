/*
 * prefix_order.h - an order of texts for training in which those that begin alike lie together, another one each epoch.
 *
 * Texts are the leaves of the tree of their prefixes, and an order is a walk through it that takes the children of
 * every node in an order drawn anew: whatever is cut into batches then shares the longest prefixes there are, as the
 * questions of one database and the records of one question do.
 */
#ifndef TRAIN_RUN_PREFIX_ORDER_H
#define TRAIN_RUN_PREFIX_ORDER_H

#include "kernels/rng.h"

/* Start as { 0 }; the arrays are the owner's.  Examples by their texts, and of each but the first how many tokens it
 * begins with as the one before does; those within PREFIX_GRAIN tokens of each other part at one node. */
struct prefix_order {
    int *sorted;
    int64_t *common;
    int n;
};

enum { PREFIX_GRAIN = 16 /* tokens */ };

/* order [n]: one walk. */
void prefix_order_walk(const struct prefix_order *p, struct rng *rng, int *order);

#endif
