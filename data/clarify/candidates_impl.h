/*
 * candidates_impl.h - what candidates.c and its sources share.
 */
#ifndef DATA_CLARIFY_CANDIDATES_IMPL_H
#define DATA_CLARIFY_CANDIDATES_IMPL_H

#include "data/clarify/calibration.h"
#include "data/clarify/candidates.h"

/* Where a source's records go. */
struct candidates_sink {
    const struct candidates_request *request;
    struct candidates_counts *counts;
    struct calibration calibration;
    struct out_file out;
};

/* Takes the record and writes it.  One that cannot be read is written as its id and "error".  -1 when the file cannot
 * be written. */
int candidates_emit(struct candidates_sink *s, json_t *record, const char *where, struct error *err);
/* A record that a source could not make: its id and why, which is taken from err. */
int candidates_emit_error(struct candidates_sink *s, json_t *id, struct error *err);

/* The records of the request. */
struct record_reader *candidates_open(const struct candidates_request *q, struct error *err);

/* A source.  -1 with an error when its file cannot be read; more than 0 after a signal. */
typedef int candidates_source(struct candidates_sink *s, struct error *err);
candidates_source candidates_of_records, candidates_of_ambiqt, candidates_of_dfpl, candidates_of_ambrosia;

#endif
