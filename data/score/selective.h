/*
 * selective.h - what a detector's filter buys whoever turns questions into SQL: the share of right statements among
 * the questions that are least likely to be ambiguous, at every coverage (El-Yaniv and Wiener 2010).
 *
 * GATekeeper's paper skips the questions that are flagged, and tells one point: this is the whole curve, with the
 * flagged point on it.  Questions of one score are answered together.
 */
#ifndef DATA_SCORE_SELECTIVE_H
#define DATA_SCORE_SELECTIVE_H

#include "data/util/json.h"

struct selective_request {
    const char *findings; /* {"id", "score"}, as ambit-infer detect writes them: how likely each is ambiguous */
    const char *scored;   /* {"id", FIELD}, as ambit-data score --per-example writes them */
    const char *field;    /* whether the statement is right: true, false, or a number, of which 1 is right */
    const char *report;   /* report.html to write, or NULL */
    double threshold;     /* from which on a question is flagged; NAN: by the findings' own "ambiguous" */
    bool json;
};

enum { SELECTIVE_ROWS = 11 };
struct selective_point {
    double coverage, accuracy; /* NAN where nothing is answered */
    double p;                  /* that skipping as many at random leaves so few right ones among the skipped */
    int answered, right;
};
struct selective {
    struct selective_point rows[SELECTIVE_ROWS]; /* of 1, .95, .9, .8 ... .1 */
    struct selective_point flagged;              /* what is not flagged is answered */
    double area, random, best; /* mean error over all coverages (AURC); of a random order, which is the
                                  error of all; of an order that has the right ones first */
    int n, right;
    double *coverage, *error; /* [points] the curve */
    int points;
};

/* Of n questions: scores, which are flagged, whose statements are right.  selective_release frees. */
void selective_measure(struct selective *s, const double *score, const bool *flagged, const bool *right, int n);
void selective_release(struct selective *s);

/* The table, or one object, to standard output.  -1 with EXIT_CODE_DATA: a statement without a finding, an id twice. */
int selective_run(const struct selective_request *q, struct error *err);

#endif
