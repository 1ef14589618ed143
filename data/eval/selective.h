/*
 * selective.h - text-to-SQL behind a detector or tagger: the accuracy of statements if flagged questions stay
 * unanswered.
 *
 * Questions are ordered by the probability of a problem, clearest first, and answered up to a coverage
 * (risk_coverage.h). GATekeeper (Skadborg and Mortensen 2025) reports one point, the accuracy of unflagged questions.
 */
#ifndef DATA_EVAL_SELECTIVE_H
#define DATA_EVAL_SELECTIVE_H

#include "kernels/base.h"

struct selective_request {
    const char *predictions; /* {"id", "score"} of ambit-infer detect, or {"id", "problem"} of ambit-infer tag */
    const char *scored;      /* {"id", FIELD} of ambit-data score --per-example */
    const char *field;       /* field that is true or 1 if the statement is right */
    const char *report;      /* report.html to write, or NULL */
    double threshold;        /* flag from this score on; NAN: by the field "ambiguous" or "status" */
    bool json;
};

/* Prints the table or one object.  Returns -1 with EXIT_CODE_DATA: a statement without a prediction, or a duplicate
 * id. */
int selective_run(const struct selective_request *q, struct error *err);

#endif
