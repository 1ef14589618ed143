/*
 * calibration.h - what turns weights of candidates into probabilities: p = softmax(logprob / length^alpha /
 * temperature).
 *
 * Alpha and temperature are those under which the golds of a development file are likeliest, coverage the share of
 * golds that are among the candidates at all; what it leaves is the reserve.  Candidates less likely than `keep` may be
 * left out: a threshold that keeps a chosen share of golds (split conformal prediction), those that are among no
 * candidates counted as lost.
 */
#ifndef DATA_CLARIFY_CALIBRATION_H
#define DATA_CLARIFY_CALIBRATION_H

#include "data/clarify/candidate_list.h"
#include "data/util/record_reader.h"

struct calibration {
    double alpha, temperature, coverage;
    double keep; /* of shares of 1; -1: the file has none */
};

/* Reads the file that calibrate writes.  -1 with EXIT_CODE_DATA naming file and field. */
int calibration_read(struct calibration *c, const char *path, struct error *err);
/* The length of a statement: its tokens. */
int calibration_length(const char *sql);
/* The list's p and reserve anew, from raw. */
void calibration_apply(const struct calibration *c, struct candidate_list *l);
/* p of candidates, which sum to `share`. */
void calibration_shares(const struct calibration *c, double *p, const double *raw, const int *length, int n,
                        double share);

/* The candidates of one gold that is among them. */
struct observation {
    const double *raw; /* [n] */
    const int *length; /* [n] */
    const bool *right; /* [n]: is the gold */
    int n;
};

/* Mean negative log likelihood of the golds, in nats. */
double calibration_nll(const struct observation *list, int n, double alpha, double temperature);

enum { CALIBRATION_COOLEST = 50 }; /* temperatures from 1/50 to 50 */

/* Alpha (0 or 1) and temperature that make it least; n > 0. */
struct calibration calibration_fit(const struct observation *list, int n);
/* The largest threshold for which a gold yet to come, if it is like these n, is kept with a chance of at least `share`,
 * whatever the law they come from; 0 where only all candidates will do. */
double calibration_keep(const struct calibration *c, const struct observation *list, int n, double share);

struct calibrate_request {
    const char *candidates, *schema, *db, *out;
    enum record_form form;
    double keep; /* share of golds that the threshold keeps */
};

struct calibrate_counts {
    int64_t records, failed, golds, covered;
};

/* Reads records of candidates with golds and writes the calibration as JSON.  A record that fails is told in
 * "failed". */
int calibrate(const struct calibrate_request *q, struct calibrate_counts *counts, struct error *err);

#endif
