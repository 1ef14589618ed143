/*
 * belief.h - how likely each candidate reading is, and what an answer does to that: numbers alone.
 *
 * One hypothesis stands apart, the reserve: the reading that is meant is not among the candidates.  Whoever means it
 * answers a question one way as likely as another, "none of these" among them.  Everybody else gives the answer of
 * their candidate, but for a slip now and then, which falls on any other option.
 */
#ifndef DATA_CLARIFY_BELIEF_H
#define DATA_CLARIFY_BELIEF_H

#include "kernels/base.h"

enum { BELIEF_MAX = 1000 }; /* candidates, and so the options of a question */

/* The p of all candidates and the reserve sum to 1. */
struct belief {
    double *p; /* [n] */
    int n;
    double reserve;
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

/* belief_release frees; it takes a zeroed one too. */
struct belief belief_copy(const struct belief *b);
void belief_release(struct belief *b);

/* In bits, of masses that sum to 1. */
double entropy_of(const double *mass, int n);
/* Of candidates and reserve. */
double belief_entropy(const struct belief *b);
/* Candidates with a chance above zero. */
int belief_live(const struct belief *b);
/* The most probable candidate, the first of equals. */
int belief_best(const struct belief *b);
/* The masses of the split's values; how many are above zero. */
int belief_masses(double *mass, const struct belief *b, const struct split *s);

/* What the answer tells, in bits: H(answer) - sum of p H(answer | candidate).  Without slips and reserve that is the
 * entropy of the masses. */
double belief_gain(const struct belief *b, const struct split *s);
/* The same where the question's support is the chance that its options are all as likely as each other, whatever the
 * candidates' probabilities say. */
double belief_gain_supported(const struct belief *b, const struct split *s);
/* How much likelier the best candidate becomes to be the right one. */
double belief_gain_of_best(const struct belief *b, const struct split *s);

/* P(answer | candidate's value) for an option. */
double split_likelihood(const struct split *s, int value, int option);

/*
 * What the answer leaves.  A value weighs by its likelihoods, "none of these" moves what is not explained by a slip to
 * the reserve, the other two change nothing.  -1 when the answer contradicts all that was said before (it had a chance
 * below 1e-6); the belief then stays as it was.
 */
int belief_update(struct belief *b, const struct split *s, struct answer a);

#endif
