/*
 * posterior.h - probabilities of the candidate statements, and the choice of the next question.
 *
 * The module works on numbers alone; it knows neither statements nor words.  One hypothesis stands beside the
 * candidates: none of the above, with the probability p_none.  A user who means none of the candidates gives every
 * answer, "none of these" included, with the same probability.  Any other user gives the answer of the candidate that
 * they mean, except for user errors, which are spread evenly over the other options.
 *
 * A posterior owns its array; posterior_copy() allocates, posterior_release() frees.  Splits are borrowed.
 */
#ifndef DATA_CLARIFY_POSTERIOR_H
#define DATA_CLARIFY_POSTERIOR_H

#include "data/eval/candidate_list.h"
#include "kernels/base.h"
#include "kernels/rng.h"

enum { POSTERIOR_MAX = CANDIDATE_LIST_MAX }; /* maximum number of candidates, and of the options of a question */

/* The p of all candidates and p_none sum to 1. */
struct posterior {
    double *p; /* [n] */
    int n;
    double p_none;
};

/* A question: the option that each candidate chooses. */
struct split {
    const int *value; /* [n candidates], 0 .. n_values - 1 */
    int n_values;
    double noise;   /* probability of a user error */
    double cost;    /* seconds that the user needs to answer */
    double support; /* 0 to 1: confidence of detector and tagger that the user left this open */
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
/* The caller releases the copy.  posterior_release() accepts a zeroed struct. */
struct posterior posterior_copy(const struct posterior *b);
void posterior_release(struct posterior *b);
/* Entropy in bits of n masses that sum to 1. */
double entropy_of(const double *mass, int n);
/* Entropy in bits over the candidates and none of the above. */
double posterior_entropy(const struct posterior *b);
/* Index of the most probable candidate; the first of equals. */
int posterior_best(const struct posterior *b);
/* Writes the probability mass of each value to mass [n_values].  Returns the number of masses above zero. */
int posterior_masses(double *mass, const struct posterior *b, const struct split *s);
/* Expected information gain of the answer in bits: H(answer) - sum of p H(answer | candidate).  Without user errors and
 * p_none it equals the entropy of the masses. */
double posterior_gain(const struct posterior *b, const struct split *s);
/* The gain, mixed with the gain under equally probable options; s->support is the weight of the latter. */
double posterior_gain_supported(const struct posterior *b, const struct split *s);
/* Expected increase of the probability of the best candidate. */
double posterior_gain_of_best(const struct posterior *b, const struct split *s);
/* P(the user chooses `option` | the candidate's value). */
double split_likelihood(const struct split *s, int value, int option);
/*
 * Updates the posterior by an answer (Bayes).  "None of these" moves the mass that user errors do not explain to
 * p_none. "I don't know" and "either is fine" change nothing.  Returns -1 when the answer contradicts the earlier ones,
 * which means that its probability was below 1e-6; the posterior is then unchanged.
 */
int posterior_update(struct posterior *b, const struct split *s, struct answer a);

/* Strategies choose the next question.  All see the same splits, in the order of their clauses.  The lower cost, then
 * that order, breaks ties. */
enum strategy {
    STRATEGY_RANDOM,          /* uniform over the questions that divide the candidates */
    STRATEGY_MAX_PROBABILITY, /* the question with the most probable answer */
    STRATEGY_MIN_PROBABILITY, /* the question with the least probable answer */
    /* Information gain of an answer, if all values that a candidate has are equally probable.  This is the baseline
     * Information Gain of Qiu, Li, Su and Chen (2025): log2 of the number of values. */
    STRATEGY_INFO_GAIN_VALUES,
    STRATEGY_INFO_GAIN_CANDIDATES, /* information gain of an answer, if all candidates are equally probable */
    STRATEGY_EIG,                  /* posterior_gain_supported() */
    STRATEGY_PATH, /* mass times entropy on the path to the best candidate, a published approximation of EIG */
    STRATEGIES
};

const char *strategy_name(enum strategy s);

/* All names, separated by |. */
#define STRATEGY_NAMES "random|max-probability|min-probability|info-gain-values|info-gain-candidates|eig|path"

/* Returns STRATEGIES for an unknown name. */
enum strategy strategy_of_name(const char *name);
/* Returns the index of the split to ask about, or -1 when none divides the candidates.  Only STRATEGY_RANDOM uses rng,
 * which may be NULL otherwise. */
int strategy_choose(enum strategy strategy, const struct posterior *b, const struct split *splits, int n,
                    struct rng *rng);
/* Score of a node on the path: the mass of the candidates that pass through it times the entropy of its branches.
 * through: [n candidates]. */
double strategy_node_score(const struct posterior *b, const struct split *s, const bool *through);
/* Expected number of questions until no split divides the candidates, for a user without errors. */
double strategy_questions(enum strategy strategy, const struct posterior *b, const struct split *splits, int n);

#endif
