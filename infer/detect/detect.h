/*
 * detect.h - questions in, findings out: reads records in groups, scores a group at once, writes in input order.
 *
 * A record that cannot be scored carries "error" instead of a finding and the run goes on.
 */
#ifndef INFER_DETECT_DETECT_H
#define INFER_DETECT_DETECT_H

#include "data/util/json.h"
#include "models/gate/gate_score.h"

struct detect_request {
    const char *model, *schema, *db, *out, *device;
    const char *format; /* jsonl or text */
    int64_t tokens;
};

struct detect_counts {
    int64_t records, failed, ambiguous;
};

int detect(const struct detect_request *q, const char *input, struct detect_counts *counts, struct error *err);

/* The finding of one question as a JSON object with the record's id. */
struct finding {
    const char *id, *question;
    const struct gate_item *item;
    const struct gate_result *result;
    const float *relevance; /* logits by node */
};
/* The same as a few lines for people: question, sentence. */
void finding_print(FILE *f, const json_t *finding);
json_t *finding_to_json(const struct gate_model *m, const struct finding *f);

#endif
