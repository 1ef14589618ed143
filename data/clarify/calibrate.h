/*
 * calibrate.h - a file of candidates with golds, made a calibration.
 */
#ifndef DATA_CLARIFY_CALIBRATE_H
#define DATA_CLARIFY_CALIBRATE_H

#include "data/clarify/calibration.h"
#include "data/util/record_reader.h"

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
