/*
 * strategy.h - which question to ask: the one that tells most, and the other choices it is compared with.
 *
 * All see the same splits, in order of their clauses.  Equal scores are settled by the lower cost, then by that order.
 */
#ifndef DATA_CLARIFY_STRATEGY_H
#define DATA_CLARIFY_STRATEGY_H

#include "data/clarify/belief.h"
#include "kernels/rng.h"

enum strategy {
    STRATEGY_RANDOM,          /* uniform over what splits */
    STRATEGY_MAX_PROBABILITY, /* the question with the likeliest answer */
    STRATEGY_MIN_PROBABILITY, /* the question with the least likely answer */
    STRATEGY_INFO_GAIN,       /* gain if all candidates that are left were equally likely */
    STRATEGY_EIG,             /* expected information gain, slips, reserve and support counted */
    STRATEGY_PATH,            /* mass times entropy along the way to the best candidate: a published shortcut */
    STRATEGIES
};
const char *strategy_name(enum strategy s);
/* The names, parted by |. */
#define STRATEGY_NAMES "random|max-probability|min-probability|info-gain|eig|path"
/* STRATEGIES when there is none of that name. */
enum strategy strategy_of_name(const char *name);

/* The number of the split to ask about; -1 when none splits what is left.  Only STRATEGY_RANDOM uses rng. */
int strategy_choose(enum strategy strategy, const struct belief *b, const struct split *splits, int n, struct rng *rng);

/* What the shortcut gives a node: the mass of those that pass through it times the entropy of its branches. */
double strategy_node_score(const struct belief *b, const struct split *s, const bool *through);

/* How many questions a truthful user is asked until none splits any more, in expectation. */
double strategy_questions(enum strategy strategy, const struct belief *b, const struct split *splits, int n);

#endif
