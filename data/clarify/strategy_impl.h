/* strategy_impl.h - what the parts of strategy.h share. */
#ifndef DATA_CLARIFY_STRATEGY_IMPL_H
#define DATA_CLARIFY_STRATEGY_IMPL_H

#include "data/clarify/strategy.h"

/* Keeps those that give this value, and makes them sum to 1; returns the mass they had. */
double strategy_filter(struct belief *kept, const struct belief *b, const struct split *s, int value);

double strategy_two_step(const struct belief *b, const struct split *splits, int n, int i);
/* The split of the fewest questions; -1 when none splits. */
int strategy_optimal(const struct belief *b, const struct split *splits, int n);

#endif
