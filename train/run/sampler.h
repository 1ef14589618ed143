/*
 * sampler.h - which examples make up which batch: a pure function of (seed, epoch), so that a cursor is all a resume
 * needs.
 */
#ifndef TRAIN_RUN_SAMPLER_H
#define TRAIN_RUN_SAMPLER_H

#include "kernels/base.h"
#include "kernels/rng.h"

/* An order of texts for training in which those that begin alike lie together, another one each epoch.
 *
 * Texts are the leaves of the tree of their prefixes, and an order is a walk through it that takes the children of
 * every node in an order drawn anew: whatever is cut into batches then shares the longest prefixes there are, as the
 * questions of one database and the records of one question do. */

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

struct sampler {
    uint64_t seed;
    const int64_t *length;               /* [every example], for batches of like length; NULL: any */
    const struct prefix_order *prefixes; /* of all examples, for batches that begin alike; NULL: any */
    const int64_t *tokens;               /* [every example], by which ranks cut a batch; NULL: all alike */
    int *pool;                           /* the examples to draw from */
    int *order;                          /* this epoch's order */
    int n, batch;
    int64_t epoch; /* that order is of, -1: none yet */
};

/* Copies pool.  length, prefixes and tokens may be set afterwards and are borrowed.  With length, examples are sorted
 * within every 50 batches of the shuffled order, longest first, and full batches shuffled.  With prefixes, the pool
 * being all examples, batches are cut from a walk through these, and full ones shuffled. */
void sampler_init(struct sampler *s, uint64_t seed, const int *pool, int n, int batch);
void sampler_release(struct sampler *s);
int64_t sampler_batches(const struct sampler *s);
/* The examples of one batch; returns how many, the last batch of an epoch may be short. */
int sampler_batch(struct sampler *s, int64_t epoch, int64_t batch, const int **examples);

/* Where among n examples the parts of all ranks before this one end: parts have about as many tokens each, may be
 * empty, and are all of the examples in their order.  0 for rank 0, n for a rank behind the last. */
int sampler_cut(const struct sampler *s, const int *examples, int n, int rank, int ranks);

#endif
