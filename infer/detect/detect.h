/*
 * detect.h - ambit-infer detect: reads questions, scores them in groups and writes predictions in input order.
 *
 * A group ends when it is full or when the input pauses, so that a question in a pipe is answered before the next one
 * comes.  A record that cannot be scored is written with "error" and the run continues.  OUT.part keeps the lines until
 * the output is complete.
 */
#ifndef INFER_DETECT_DETECT_H
#define INFER_DETECT_DETECT_H

#include "data/base/shard.h"

/* Formats of the output, and the elements that a line reports with their relevance. */
#define PREDICTION_FORMATS "jsonl|text|csv"
enum prediction_format { PREDICTION_JSONL, PREDICTION_TEXT, PREDICTION_CSV };
enum prediction_relevance { REPORT_NONE, REPORT_TOP, REPORT_ALL, REPORT_AUTO };
enum { FEW_QUESTIONS = 100 }; /* REPORT_AUTO: all elements if a file of JSON lines has at most so many, else the top */

struct detect_request {
    const char *model, *schema, *db, *out, *device;
    const char *adapter;   /* file of an adapter, or NULL */
    const char *retriever; /* folder of a sentence encoder, or NULL */
    const char *question;  /* one question in place of the input, or NULL */
    enum record_format format_in;
    struct shard shard;
    enum prediction_format format;
    enum prediction_relevance relevance; /* elements that a line reports */
    int64_t tokens, max_question;        /* max_question 0: as many tokens as fit beside the schema */
    int64_t elements;                    /* maximum number of elements of a schema; 0: all */
    double threshold;                    /* NAN: the one stored in the model */
    const char *abstain;                 /* scores that are unsure, for gate_abstain_read(); or NULL */
    bool resume;                         /* continue from OUT.part */
    bool no_graph;
};

struct detect_counts {
    int64_t records, failed, ambiguous, unsure, resumed; /* resumed: records of an earlier run */
};

/* input is NULL if the request has the question.  Returns 0, or -1 with err; after a signal err has its exit code. */
int detect(const struct detect_request *q, const char *input, struct detect_counts *counts, struct error *err);

#endif
