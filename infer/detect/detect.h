/*
 * detect.h - questions in, findings out: reads records in groups, scores a group at once, writes in input order.
 *
 * A record that cannot be scored carries "error" instead of a finding and the run goes on.
 */
#ifndef INFER_DETECT_DETECT_H
#define INFER_DETECT_DETECT_H

#include "data/util/record_reader.h"

enum finding_format { FINDING_JSONL, FINDING_TEXT };

struct detect_request {
    const char *model, *schema, *db, *out, *device;
    enum record_form form;
    enum finding_format format;
    int64_t tokens;
};

struct detect_counts {
    int64_t records, failed, ambiguous;
};

int detect(const struct detect_request *q, const char *input, struct detect_counts *counts, struct error *err);

#endif
