/*
 * stats.h - how good scores are: ranking, decisions, calibration, and how sure one may be of all that.
 *
 * A set of scored examples is two arrays: score[i], higher for "yes", and label[i], 0 or 1.  Ties are treated exactly:
 * examples of one score enter a curve together.  A measure that is not defined (no positives, say) is NAN; a score that
 * is NAN is a bug.
 */
#ifndef DATA_STATS_STATS_H
#define DATA_STATS_STATS_H

#include "kernels/base.h"

struct scored {
    const double *score;
    const uint8_t *label;
    int n;
};

/* Area under the step-wise precision-recall curve: sum over thresholds of (R_k - R_{k-1}) P_k. */
double stats_average_precision(struct scored s);
/* Probability that a positive scores above a negative, a tie counting one half. */
double stats_auc(struct scored s);

struct confusion {
    int64_t tp, fp, fn, tn;
};
struct decision {
    double accuracy, precision, recall, f1;
};
/* Yes is score >= threshold. */
struct confusion stats_confusion(struct scored s, double threshold);
/* Precision without a yes, recall without a positive and F1 without either are 0. */
struct decision stats_decision(struct confusion c);
/* Mean of F1 of yes and of no. */
double stats_macro_f1(struct confusion c);
/* The same examples when every answer is yes: what a threshold has to beat. */
struct confusion stats_always_yes(struct confusion c);
/* The threshold of the best F1, half-way between neighbouring scores; on a tie the lower one, which says yes more
 * often. */
double stats_best_f1(struct scored s, double *f1);
/* The same among the thresholds that at most the share `most` of quiet's scores reaches, whatever their labels. */
double stats_best_f1_quiet(struct scored s, struct scored quiet, double most, double *f1);

/* For scores that are probabilities. */
double stats_brier(struct scored s);
enum { STATS_BINS = 15 };
struct reliability {
    int n[STATS_BINS];
    double confidence[STATS_BINS], accuracy[STATS_BINS]; /* mean score and share of positives, 0 in an empty bin */
};
/* Bins of equal width over [0, 1]. */
struct reliability stats_reliability(struct scored s);
/* Expected calibration error: sum of n_b / n * |accuracy_b - confidence_b|. */
double stats_ece(const struct reliability *r);

/* log(1 + e^x), the negative log likelihood of no under sigmoid(x); nothing overflows. */
double stats_softplus(double x);
/* Mean negative log likelihood of labels under sigmoid(logit / temperature). */
double stats_nll(struct scored logits, double temperature);
/* The temperature, from 0.05 to 20, that makes it least. */
double stats_fit_temperature(struct scored logits);

/* The largest share p of wrong answers of which k wrong ones or fewer of n have a chance of alpha: the upper bound of
 * Clopper and Pearson (1934) with confidence 1 - alpha; 1 of no answers. */
double stats_binomial_upper(int64_t k, int64_t n, double alpha);
/* Fisher's exact test, one-sided: the chance that of `drawn` things out of n, of which some are marked, k or fewer are.
 */
double stats_fisher(int64_t k, int64_t drawn, int64_t marked, int64_t n);

struct interval {
    double low, high;
};
/*
 * Percentile bootstrap: the measure on `rounds` resamples of the examples.  group (may be NULL) numbers what is drawn
 * as a whole, 0 to n_groups - 1: examples of one database stay together.  Undefined resamples are left out.  NAN, NAN
 * of a single group, whose resamples are all alike and tell nothing.
 */
struct bootstrap {
    const int *group;
    int n_groups, rounds;
    double level; /* 0.95 */
    uint64_t seed;
};
struct interval stats_bootstrap(struct scored s, double (*measure)(struct scored s, const void *arg), const void *arg,
                                const struct bootstrap *how);
/* Measures in the form the bootstrap takes; arg of the second points at the threshold (a double). */
double stats_measure_ap(struct scored s, const void *arg);
double stats_measure_auc(struct scored s, const void *arg);
double stats_measure_f1(struct scored s, const void *threshold);

#endif
