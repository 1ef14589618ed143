/*
 * calibration.h - probabilities of candidates from their weights: p = softmax(logprob / length^alpha / temperature).
 *
 * Alpha and temperature maximise the likelihood of the golds of a development file.  The coverage is the share of golds
 * that are among the candidates; the rest is the none-of-the-above probability.  Candidates below the threshold `keep`
 * may be dropped.  Split conformal prediction chooses that threshold, so that it keeps a given share of the golds; a
 * gold that is among no candidates counts as lost.
 */
#ifndef DATA_CLARIFY_CALIBRATION_H
#define DATA_CLARIFY_CALIBRATION_H

#include "data/base/record_reader.h"
#include "data/clarify/candidate_list.h"

struct calibration {
    double alpha, temperature, coverage;
    double keep; /* minimum probability; -1: the file has none */
};

/* Reads a file of calibrate().  Returns -1 with EXIT_CODE_DATA, which names the file and the field. */
int calibration_read(struct calibration *c, const char *path, struct error *err);
/* Length of a statement in tokens of SQL. */
int calibration_length(const char *sql);
/* Computes the p and p_none of the list from its raw weights. */
void calibration_apply(const struct calibration *c, struct candidate_list *l);
/* Computes p [n], which sum to `share`, from raw [n] and length [n]. */
void calibration_shares(const struct calibration *c, double *p, const double *raw, const int *length, int n,
                        double share);

/* The candidates of one gold, which is among them.  The arrays are borrowed. */
struct observation {
    const double *raw; /* [n] */
    const int *length; /* [n] */
    const bool *right; /* [n]: the candidate is the gold */
    int n;
};

/* Mean negative log-likelihood of the golds, in nats. */
double calibration_nll(const struct observation *list, int n, double alpha, double temperature);

enum { CALIBRATION_COOLEST = 50 }; /* temperatures are fitted between 1/50 and 50 */

/* Alpha (0 or 1) and temperature that minimise it; n > 0. */
struct calibration calibration_fit(const struct observation *list, int n);
/* Largest threshold that keeps a new gold, exchangeable with these n, with probability of at least `share`.  Returns 0
 * where only all candidates suffice. */
double calibration_keep(const struct calibration *c, const struct observation *list, int n, double share);

struct calibrate_request {
    const char *candidates, *schema, *db, *out;
    enum record_format format_in;
    double keep; /* share of golds that the threshold has to keep */
};

struct calibrate_counts {
    int64_t records, failed, golds, covered;
};

/* Reads records of candidates with golds and writes the calibration as JSON.  The field "failed" lists the records that
 * cannot be used.  Returns -1 with err when no calibration can be written. */
int calibrate(const struct calibrate_request *q, struct calibrate_counts *counts, struct error *err);

#endif
