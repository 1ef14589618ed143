/*
 * stats.h - statistics of scores: ranking, decisions, calibration, confidence intervals.
 *
 * Scored examples are two arrays: score[i], higher for "yes", and label[i], 0 or 1.  Examples with equal scores enter a
 * curve together.  An undefined measure, such as AP without positives, is NAN.  A score that is NAN is a bug and
 * aborts.
 */
#ifndef DATA_BASE_STATS_H
#define DATA_BASE_STATS_H

#include "kernels/base.h"

struct scored {
    const double *score;
    const uint8_t *label;
    int n;
};

/* Average precision: sum over thresholds of (R_k - R_{k-1}) P_k, without interpolation. */
double stats_average_precision(struct scored s);
/* Area under the ROC curve: the probability that a positive scores above a negative; ties count one half. */
double stats_auc(struct scored s);

struct confusion {
    int64_t tp, fp, fn, tn;
};
/* Counts decisions, where "yes" is score >= threshold. */
struct confusion stats_confusion(struct scored s, double threshold);

/*
 * The metrics of a confusion matrix c, a row for each: constant, JSON field, title, definition, and value as an
 * expression of stats.c.  ratio(a, b) is a / b, and 0 if b is 0.  Texts, test.json, sweeps, trials of adapt and the
 * help of evaluate have all rows in this order.
 */
#define STATS_METRIC_LIST(M)                                                                                           \
    M(F1, "f1", "F1", "harmonic mean of precision and recall", f1_of(c))                                               \
    M(MACRO_F1, "macro_f1", "macro-F1", "mean of the F1 of yes and the F1 of no",                                      \
      (f1_of(c) + f1_of(exchanged(c))) / 2)                                                                            \
    M(ACCURACY, "accuracy", "accuracy", "share of right decisions", ratio(c.tp + c.tn, total(c)))                      \
    M(PRECISION, "precision", "precision", "share of positives among yes", ratio(c.tp, c.tp + c.fp))                   \
    M(RECALL, "recall", "recall", "share of yes among positives", ratio(c.tp, c.tp + c.fn))

#define STATS_METRIC_CONSTANT(constant, field, title, definition, value) STATS_##constant,
enum stats_metric { STATS_METRIC_LIST(STATS_METRIC_CONSTANT) STATS_METRICS };
#undef STATS_METRIC_CONSTANT

/* The rows as one text for a help page: "`f1` (harmonic mean of precision and recall), ". */
#define STATS_METRIC_SENTENCE(constant, field, title, definition, value) "`" field "` (" definition "), "
#define STATS_METRIC_HELP STATS_METRIC_LIST(STATS_METRIC_SENTENCE)

struct stats_metric_name {
    const char *field, *title;
};
extern const struct stats_metric_name stats_metric_names[STATS_METRICS];
double stats_metric(struct confusion c, enum stats_metric metric);

/* The confusion of the baseline that always answers "yes". */
struct confusion stats_always_yes(struct confusion c);
/* The threshold with the best F1, half-way between neighbouring scores.  On a tie it is the lowest one, which answers
 * "yes" most often. */
double stats_best_f1(struct scored s, double *f1);
/* The same among thresholds that at most the fraction max_share of the scores in `quiet` reaches, whatever their
 * labels. */
double stats_best_f1_quiet(struct scored s, struct scored quiet, double max_share, double *f1);

/* For scores that are probabilities: the Brier score. */
double stats_brier(struct scored s);
enum { STATS_BINS = 15 };
struct reliability {
    int n[STATS_BINS];
    double confidence[STATS_BINS], accuracy[STATS_BINS]; /* mean score and fraction of positives; 0 in an empty bin */
};
/* Bins of equal width over [0, 1]. */
struct reliability stats_reliability(struct scored s);
/* Expected calibration error: sum of n_b / n * |accuracy_b - confidence_b|. */
double stats_ece(const struct reliability *r);

/* log(1 + e^x), the negative log-likelihood of "no" under sigmoid(x), without overflow. */
double stats_softplus(double x);
/* Mean negative log-likelihood of the labels under sigmoid(logit / temperature). */
double stats_nll(struct scored logits, double temperature);
/* The temperature in [0.05, 20] that minimises stats_nll. */
double stats_fit_temperature(struct scored logits);

/* Upper confidence bound of an error rate after k errors in n trials (Clopper and Pearson 1934, confidence 1 - alpha).
 * It is the largest p for which k or fewer errors have probability alpha; 1 if n is 0. */
double stats_binomial_upper(int64_t k, int64_t n, double alpha);
/* Fisher's exact test, one-sided: the probability that at most k of `drawn` items are marked, if `marked` of all n
 * are. */
double stats_fisher(int64_t k, int64_t drawn, int64_t marked, int64_t n);

struct interval {
    double low, high;
};
/*
 * Percentile bootstrap of a measure over `rounds` resamples.  Groups, such as the examples of one database, are
 * resampled as a whole: group[i] in 0..n_groups-1, or NULL for single examples.  Undefined resamples are omitted.
 * Returns NAN, NAN for a single group, whose resamples are all equal.
 */
struct bootstrap {
    const int *group;
    int n_groups, rounds;
    double level; /* 0.95 */
    uint64_t seed;
};
struct interval stats_bootstrap(struct scored s, double (*measure)(struct scored s, const void *arg), const void *arg,
                                const struct bootstrap *how);
/* Measures for the bootstrap.  The argument of stats_measure_f1 points to the threshold (a double). */
double stats_measure_ap(struct scored s, const void *arg);
double stats_measure_auc(struct scored s, const void *arg);
double stats_measure_f1(struct scored s, const void *threshold);

#endif
