/*
 * calibration.h - what turns weights of candidates into probabilities: p = softmax(logprob / length^alpha /
 * temperature).
 *
 * Alpha and temperature are those under which the golds of a development file are likeliest, coverage the share of
 * golds that are among the candidates at all; what it leaves is the reserve.
 */
#ifndef DATA_CLARIFY_CALIBRATION_H
#define DATA_CLARIFY_CALIBRATION_H

#include "data/clarify/candidate_list.h"

struct calibration {
    double alpha, temperature, coverage;
};

/* Reads the file that calibrate writes.  -1 with EXIT_CODE_DATA naming file and field. */
int calibration_read(struct calibration *c, const char *path, struct error *err);
/* The length of a statement: its tokens. */
int calibration_length(const char *sql);
/* The list's p and reserve anew, from raw. */
void calibration_apply(const struct calibration *c, struct candidate_list *l);

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

#endif
