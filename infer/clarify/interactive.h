/*
 * interactive.h - one dialogue with a person at a terminal: numbers and words, no special keys.
 */
#ifndef INFER_CLARIFY_INTERACTIVE_H
#define INFER_CLARIFY_INTERACTIVE_H

#include "infer/clarify/clarify.h"

/* About the record of q->candidates whose id is q->id (the first when that is NULL), or the session in q->replay.
 * 0 when it ended or the user left it, 1 when a signal did; -1. */
int interact(const struct clarify_request *q, struct error *err);

#endif
