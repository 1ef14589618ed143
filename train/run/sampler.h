/*
 * sampler.h - the examples of each batch, as a pure function of seed and epoch.
 *
 * A resumed run needs no more than the position of its next batch.
 */
#ifndef TRAIN_RUN_SAMPLER_H
#define TRAIN_RUN_SAMPLER_H

#include "kernels/base.h"
#include "kernels/rng.h"

/* Order of texts in which equal prefixes are adjacent, with a new order every epoch. Texts are the leaves of a tree
 * of prefixes. An order is a walk through the tree that shuffles the children of every node. Batches that are cut
 * from it share long prefixes, such as the schema of one database. */

/* Start as { 0 }; the caller owns both arrays. sorted: example numbers in the order of their texts.
 * common[i]: tokens that text i of this order shares with text i - 1. Prefixes whose lengths fall into one block of
 * PREFIX_GRAIN tokens are one node. */
struct prefix_order {
    int *sorted;
    int64_t *common;
    int n;
};

enum { PREFIX_GRAIN = 16 /* tokens */ };

/* One walk: order [n]. */
void prefix_order_walk(const struct prefix_order *p, struct rng *rng, int *order);

struct sampler {
    uint64_t seed;
    const int64_t *length;               /* [examples], to group by length; NULL: no grouping */
    const struct prefix_order *prefixes; /* of all examples, to group by prefix; NULL: no grouping */
    const int64_t *tokens;               /* [examples], to balance ranks by; NULL: all examples count the same */
    int *pool;                           /* the examples to sample from */
    int *order;                          /* the order of this epoch */
    int n, batch;
    int64_t epoch; /* epoch of `order`; -1: none yet */
};

/* Copies pool. length, prefixes and tokens may be set later and are borrowed. With length, examples are sorted
 * within every 50 batches of the shuffled order, longest first, and full batches are shuffled. With prefixes, the
 * pool must be all examples; batches are cut from a walk, and full batches are shuffled. */
void sampler_init(struct sampler *s, uint64_t seed, const int *pool, int n, int batch);
void sampler_release(struct sampler *s);
int64_t sampler_batches(const struct sampler *s);
/* The examples of one batch. Returns their number; the last batch of an epoch may be short. */
int sampler_batch(struct sampler *s, int64_t epoch, int64_t batch, const int **examples);

/* End of the partitions of all ranks before `rank`, in a batch of n examples. Partitions have about the same number
 * of tokens, may be empty, and cover the batch in order. Returns 0 for rank 0 and n for rank = ranks. */
int sampler_cut(const struct sampler *s, const int *examples, int n, int rank, int ranks);

#endif
