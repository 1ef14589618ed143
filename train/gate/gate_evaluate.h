/*
 * gate_evaluate.h - `ambit-train evaluate`: a finished detector, or anyone's answers, on questions with labels.
 */
#ifndef TRAIN_GATE_GATE_EVALUATE_H
#define TRAIN_GATE_GATE_EVALUATE_H

#include "data/util/record_reader.h"
#include "kernels/base.h"

struct gate_evaluate_request {
    const char *run;         /* a detector's folder; NULL with */
    const char *adapt;       /* what adapt made of it; or NULL */
    const char *predictions; /* answers of others: {"id", "score", "alternatives"} */
    const char *data;        /* a folder of contrast or practice, whose test fold counts, or a file of own labels */
    const char *db, *schema, *label_field; /* of own labels, as in labels.h */
    const char *device;
    enum record_form form; /* of own labels */
    const char *abstain;   /* what gate_abstain_read takes, or NULL */
    double threshold;      /* NAN: the model's, .5 of predictions */
    int64_t tokens, seed;
    int64_t elements;      /* of a schema, that are read at most; 0: all */
    const char *retriever; /* a folder that embeds sentences, or NULL */
    bool partial;          /* predictions need not have all questions */
    bool json, no_graph;
};

/* The table, or with json one object, to standard output. */
int gate_evaluate(const struct gate_evaluate_request *q, struct error *err);

#endif
