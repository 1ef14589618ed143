/*
 * gate_evaluate.h - `ambit-train evaluate`: metrics of a detector, or of predictions from elsewhere, on labelled
 * questions.
 */
#ifndef TRAIN_DETECTOR_GATE_EVALUATE_H
#define TRAIN_DETECTOR_GATE_EVALUATE_H

#include "data/base/record_reader.h"
#include "kernels/base.h"

struct gate_evaluate_request {
    const char *run;                       /* a detector's folder; NULL with predictions */
    const char *adapter;                   /* an adapter of it; or NULL */
    const char *predictions;               /* a file of {"id", "score", "alternatives"} */
    const char *data;                      /* a data folder, whose test split is used, or a custom data set */
    const char *db, *schema, *label_field; /* of a custom data set, as in labels.h */
    const char *device;
    enum record_format format_in; /* of a custom data set */
    const char *abstain;          /* argument of gate_abstain_read, or NULL */
    double threshold;             /* NAN: the model's, or .5 for predictions */
    int64_t tokens, seed;
    int64_t elements;      /* max elements of a schema that are read; 0: all */
    const char *retriever; /* folder of a sentence encoder, or NULL */
    bool partial;          /* predictions may lack questions */
    bool json, no_graph;
};

/* Prints a table, or one JSON object, to standard output. */
int gate_evaluate(const struct gate_evaluate_request *q, struct error *err);

#endif
