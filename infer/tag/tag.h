/*
 * tag.h - questions in, their marked words out: reads records in groups, has a group tagged at once, writes in input
 * order.
 *
 * A record is about the database of its db_id, or about the columns that it brings along.  One that cannot be tagged
 * carries "error" and the run goes on.  Lines are kept in OUT.part until all are there.
 */
#ifndef INFER_TAG_TAG_H
#define INFER_TAG_TAG_H

#include "data/base/shard.h"
#include "data/span/heuristic.h"

enum { TAG_GROUP = 64 };       /* questions that are tagged together */
enum { TAG_INDEX_MIB = 1024 }; /* default of tag_request.index_mib */
#define TAG_FORMATS "jsonl|text|html|csv"
enum tag_format { TAG_JSONL, TAG_TEXT, TAG_HTML, TAG_CSV };
enum tag_strategy { TAG_DTE, TAG_ETA, TAG_HEURISTIC };

struct tag_request {
    const char *question; /* one, in place of the input; or NULL */
    const char *schema, *db, *out;
    const char *model, *device; /* for dte and eta */
    bool no_graph;
    double threshold; /* NAN: the one stored in the model */
    enum record_format format_in;
    struct shard shard;
    enum tag_format format;
    enum tag_strategy strategy;
    struct heuristic heuristic;
    const char *tune;  /* span records on which to fit the heuristic's thresholds, or NULL */
    int64_t index_mib; /* maximum memory for the values of databases, in MiB */
    bool resume;       /* continue from OUT.part */
};

struct tag_counts {
    int64_t records, failed, ambiguous, unanswerable, resumed; /* resumed: records of an earlier run */
};

/* input is NULL if the request has the question.  Returns 0, or -1 with err; after a signal err has its exit code. */
int tag(const struct tag_request *q, const char *input, struct tag_counts *counts, struct error *err);

#endif
