/*
 * detect_group.h - predictions for many questions in memory, scored together as far as memory allows.
 *
 * ambit-infer detect (detect.h) reads and writes files instead.  Both give the same predictions.
 */
#ifndef INFER_DETECT_DETECT_GROUP_H
#define INFER_DETECT_DETECT_GROUP_H

#include "infer/detect/detector.h"

/* A question; all fields are borrowed. */
struct group_question {
    const json_t *id; /* never NULL */
    const char *question;
    const struct prepared_schema *schema; /* of detector_prepare(); NULL: the question has an error */
    const char *error;                    /* the reason why it cannot be scored, or NULL */
};

/* Predicts for n questions: lines [n] of prediction_json(), new references, in order.  A question that cannot be scored
 * has a line with "error".  relevance: report all elements.  Returns -1 with err; lines are then NULL. */
int detect_group(struct detector *d, json_t **lines, const struct group_question *questions, int n, bool relevance,
                 struct error *err);

#endif
