/*
 * detect.h - questions in, predictions out: reads records in groups, scores a group at once, writes in input order.
 *
 * A group ends when it is full or the input pauses, so that a question in a pipe is answered before the next one comes.
 * A record that cannot be scored carries "error" instead of a prediction and the run goes on.  Lines are kept in
 * OUT.part until all are there.
 */
#ifndef INFER_DETECT_DETECT_H
#define INFER_DETECT_DETECT_H

#include "data/shard/shard.h"

/* Questions that are scored together: those between places that it divides. */
enum { DETECT_GROUP = 64 };
enum prediction_format { PREDICTION_JSONL, PREDICTION_TEXT };
enum prediction_relevance { RELEVANCE_NONE, RELEVANCE_ALL };

struct detect_request {
    const char *model, *schema, *db, *out, *device;
    const char *adapt;     /* an adapter's file, or NULL */
    const char *retriever; /* a folder that embeds sentences, or NULL */
    const char *question;  /* alone, in place of the input; or NULL */
    enum record_form form;
    struct shard shard;
    enum prediction_format format;
    enum prediction_relevance relevance; /* which elements a line tells of */
    int64_t tokens, max_question;        /* 0: as much of a question as fits beside the schema's names */
    int64_t elements;                    /* of a schema, that are read at most; 0: all */
    double threshold;                    /* NAN: the model's own */
    const char *abstain;                 /* what gate_abstain_read takes, or NULL: which scores are unsure */
    bool resume;                         /* go on with what OUT.part holds */
    bool no_graph;
};

struct detect_counts {
    int64_t records, failed, ambiguous, unsure, resumed; /* resumed: those of an earlier run */
};

/* input is NULL where the request has the question.  0, or -1 with the signal's code when one stopped it. */
int detect(const struct detect_request *q, const char *input, struct detect_counts *counts, struct error *err);

#endif
