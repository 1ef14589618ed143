/*
 * infill_stages_impl.h - what the parts of infill_stages.h share: prompts that come together for a model, or are
 * written.
 */
#ifndef INFER_INFILL_INFILL_STAGES_IMPL_H
#define INFER_INFILL_INFILL_STAGES_IMPL_H

#include "infer/infill/infill_stages.h"

/* Prompts to be answered, and whose they are. */
struct infill_queue {
    enum prompt_kind kind;
    const struct infill_generator *model;
    json_t **prompts;
    int64_t *owner, *reading; /* a case; of PROMPT_SQL and PROMPT_REWRITE, its reading too */
    int64_t n, cap;
    size_t bytes;
};

/* Asks about the i-th case, or about one of its readings (else -1), or writes the prompt where that stage's are
 * written; the answer comes with infill_ask_end at the latest.  0, 1 when a signal stopped it, -1. */
int infill_ask(struct infill_stages *f, struct infill_queue *a, int64_t i, int64_t reading, struct error *err);
/* What is left is asked unless rc says that the stage has failed already. */
int infill_ask_end(struct infill_stages *f, struct infill_queue *a, int rc, struct error *err);

/* infill_rewrite.c: stage 0, all of it. */
int infill_rewrite_run(struct infill_stages *f, struct error *err);

#endif
