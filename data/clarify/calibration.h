/*
 * calibration.h - probabilities of candidates from their weights: p = softmax(logprob / length^alpha / temperature).
 *
 * Alpha and temperature maximise the likelihood of the golds of a development file.  The coverage is the share of golds
 * that are among the candidates; the rest is the none-of-the-above probability.
 *
 * Candidates below the threshold `keep` may be dropped.  Split conformal prediction (Vovk, Gammerman and Shafer 2005)
 * chooses the threshold.  It promises that all golds of a new question are kept with a given probability.  All, since
 * the user of an ambiguous question means any one of them, and a dropped one can no longer be asked about.  A record is
 * therefore one unit, and its score is the probability of its least probable gold; a gold without a candidate has
 * probability 0.  The promise needs scores that do not depend on the records that the threshold is computed from.
 * Alpha and temperature are therefore fitted on one half of the records, and the threshold on the other half.
 */
#ifndef DATA_CLARIFY_CALIBRATION_H
#define DATA_CLARIFY_CALIBRATION_H

#include "data/base/record_reader.h"
#include "data/eval/candidate_list.h"

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

/* The candidates and golds of one record.  The arrays are borrowed. */
struct observation {
    const double *raw; /* [n] */
    const int *length; /* [n] */
    const bool *right; /* [golds * n]: candidate i is gold g at g * n + i */
    int n, golds;
};

/* Mean negative log-likelihood in nats: of the golds among the candidates of a record, then of records with such golds.
 * NAN without any. */
double calibration_nll(const struct observation *list, int n, double alpha, double temperature);

enum { CALIBRATION_COOLEST = 50 }; /* temperatures are fitted between 1/50 and 50 */

/* Alpha (0 or 1) and temperature that minimise it.  A gold must be among the candidates of a record. */
struct calibration calibration_fit(const struct observation *list, int n);
/* Largest threshold that keeps all golds of a new record, exchangeable with these n, with probability of at least
 * `share`.  Returns 0 where only all candidates suffice. */
double calibration_keep(const struct calibration *c, const struct observation *list, int n, double share);

/* The halves of n records, as places in their list: order [0, fitted) for alpha and temperature, the others for the
 * threshold. */
struct calibration_halves {
    int *order; /* [n] */
    int n, fitted;
};
/* Draws the halves; of an odd number the larger one is fitted.  The caller releases. */
void calibration_halves_init(struct calibration_halves *h, int n, uint64_t seed);
void calibration_halves_release(struct calibration_halves *h);
/* Fits alpha, temperature and the threshold on their halves of list [h->n].  Returns false if no gold of the first half
 * is among its candidates. */
bool calibration_fit_halves(struct calibration *c, const struct observation *list, const struct calibration_halves *h,
                            double share);

struct calibrate_request {
    const char *candidates, *schema, *db, *out;
    enum record_format format_in;
    double keep;  /* probability with which the threshold has to keep all golds of a record */
    int64_t seed; /* of the halves */
};

struct calibrate_counts {
    int64_t records, failed, golds, covered;
    bool keeps_all; /* the threshold is 0 */
};

/* Reads records of candidates with golds and writes the calibration as JSON.  The field "failed" lists the records that
 * cannot be used.  Returns -1 with err when no calibration can be written. */
int calibrate(const struct calibrate_request *q, struct calibrate_counts *counts, struct error *err);

#endif
