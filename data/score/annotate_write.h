/*
 * annotate_write.h - a file of records into a file of examples to learn from (annotate.h has what an example is).
 */
#ifndef DATA_SCORE_ANNOTATE_WRITE_H
#define DATA_SCORE_ANNOTATE_WRITE_H

#include "data/prompt/prompter.h"
#include "data/score/annotate.h"
#include "data/shard/shard.h"
#include "data/util/records.h"

struct annotate_request {
    const char *db, *readings, *out; /* readings: of records that have none, or NULL */
    enum record_form form;
    struct shard shard;
    struct prompter_options prompt;
    bool published;
    enum annotate_target target; /* of another than INFILL readings are not looked at */
};

struct annotate_counts {
    struct record_counts all;
    int64_t covered; /* records whose every gold a reading has; of INFILL */
};

/* -1 with err. */
int annotate_write(const struct annotate_request *q, const char *input, struct annotate_counts *counts,
                   struct error *err);

#endif
