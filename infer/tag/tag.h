/*
 * tag.h - questions in, their marked words out: reads records in groups, has a group tagged at once, writes in input
 * order.
 *
 * A record is about the database of its db_id, or about the columns that it brings along.  One that cannot be tagged
 * carries "error" and the run goes on.  Lines are kept in OUT.part until all are there.
 */
#ifndef INFER_TAG_TAG_H
#define INFER_TAG_TAG_H

#include "data/shard/shard.h"
#include "data/span/heuristic.h"

enum { TAG_GROUP = 64 }; /* questions that are tagged together */
enum tag_format { TAG_JSONL, TAG_TEXT, TAG_HTML };
enum tag_strategy { TAG_DTE, TAG_ETA, TAG_HEURISTIC };

struct tag_request {
    const char *question; /* one, in place of the input; or NULL */
    const char *schema, *db, *out;
    const char *model, *device; /* of dte and eta */
    bool no_graph;
    double threshold; /* NAN: the model's own */
    enum record_form form;
    struct shard shard;
    enum tag_format format;
    enum tag_strategy strategy;
    struct heuristic heuristic;
    const char *tune;  /* span records that set the heuristic's thresholds; or NULL */
    int64_t index_mib; /* most memory of the databases' values */
    bool resume;       /* go on with what OUT.part holds */
};

struct tag_counts {
    int64_t records, failed, ambiguous, unanswerable, resumed; /* resumed: those of an earlier run */
};

/* input is NULL where the request has a question.  0, or -1 with the signal's code when one stopped it. */
int tag(const struct tag_request *q, const char *input, struct tag_counts *counts, struct error *err);

#endif
