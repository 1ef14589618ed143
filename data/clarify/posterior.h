/*
 * posterior.h - how likely each candidate reading is, and what an answer does to that: numbers alone.
 *
 * One hypothesis stands apart, the reserve: the reading that is meant is not among the candidates.  Whoever means it
 * answers a question one way as likely as another, "none of these" among them.  Everybody else gives the answer of
 * their candidate, but for a slip now and then, which falls on any other option.
 */
#ifndef DATA_CLARIFY_POSTERIOR_H
#define DATA_CLARIFY_POSTERIOR_H

#include "kernels/base.h"
#include "kernels/rng.h"

enum { POSTERIOR_MAX = 1000 }; /* candidates, and so the options of a question */

/* The p of all candidates and the reserve sum to 1. */
struct posterior {
    double *p; /* [n] */
    int n;
    double p_none;
};

/* A question as arithmetic sees it: which of its options each candidate gives. */
struct split {
    const int *value; /* [n], 0 .. n_values - 1 */
    int n_values;
    double noise;   /* how often the user slips */
    double cost;    /* what asking costs, in seconds */
    double support; /* 0 to 1: how sure others are that the user left this open */
};

enum answer_kind {
    ANSWER_VALUE,
    ANSWER_UNKNOWN, /* "I don't know" */
    ANSWER_EITHER,  /* "either is fine" */
    ANSWER_NONE,    /* "none of these" */
    ANSWER_KINDS
};

struct answer {
    enum answer_kind kind;
    int value; /* of ANSWER_VALUE */
};

const char *answer_kind_name(enum answer_kind k);
/* posterior_release frees; it takes a zeroed one too. */
struct posterior posterior_copy(const struct posterior *b);
void posterior_release(struct posterior *b);
/* In bits, of masses that sum to 1. */
double entropy_of(const double *mass, int n);
/* Of candidates and reserve. */
double posterior_entropy(const struct posterior *b);
/* The most probable candidate, the first of equals. */
int posterior_best(const struct posterior *b);
/* The masses of the split's values; how many are above zero. */
int posterior_masses(double *mass, const struct posterior *b, const struct split *s);
/* What the answer tells, in bits: H(answer) - sum of p H(answer | candidate).  Without slips and reserve that is the
 * entropy of the masses. */
double posterior_gain(const struct posterior *b, const struct split *s);
/* The same where the question's support is the chance that its options are all as likely as each other, whatever the
 * candidates' probabilities say. */
double posterior_gain_supported(const struct posterior *b, const struct split *s);
/* How much likelier the best candidate becomes to be the right one. */
double posterior_gain_of_best(const struct posterior *b, const struct split *s);
/* P(answer | candidate's value) for an option. */
double split_likelihood(const struct split *s, int value, int option);
/*
 * What the answer leaves.  A value weighs by its likelihoods, "none of these" moves what is not explained by a slip to
 * the reserve, the other two change nothing.  -1 when the answer contradicts all that was said before (it had a chance
 * below 1e-6); the posterior then stays as it was.
 */
int posterior_update(struct posterior *b, const struct split *s, struct answer a);

/* Strategies choose the question to ask.  All see the same splits, in order of their clauses.  Equal scores are settled
 * by the lower cost, then by that order. */
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
int strategy_choose(enum strategy strategy, const struct posterior *b, const struct split *splits, int n,
                    struct rng *rng);
/* What the shortcut gives a node: the mass of those that pass through it times the entropy of its branches. */
double strategy_node_score(const struct posterior *b, const struct split *s, const bool *through);
/* How many questions a truthful user is asked until none splits any more, in expectation. */
double strategy_questions(enum strategy strategy, const struct posterior *b, const struct split *splits, int n);

#endif
