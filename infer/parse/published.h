/*
 * published.h - LogicalBeam's restricted infilling, rule by rule (docs/reference/restricted-infilling.md), and its
 * ablation that writes plan and statement at once.
 *
 * As in the authors' program, one prompt runs at a time, and the host decides on every beam of every step.
 */
#ifndef INFER_PARSE_PUBLISHED_H
#define INFER_PARSE_PUBLISHED_H

#include "models/lm/row_scores.h"

enum { PUBLISHED_BEAMS = 10, PUBLISHED_SINGLE_ANSWERS = 2 };

/* All borrowed. */
struct published_question {
    const int32_t *prompt; /* [n_prompt]; an encoder-decoder reads the first 512 tokens */
    int64_t n_prompt;
    const char *schema;   /* "table : column, column | table : ..." */
    const char *template; /* template to fill; NULL: plan and statement at once */
    const char *begin;    /* start of the text for plan and statement: "gym | 1 joins @ 2 selects @" */
};

/* Distinct texts, the best first. */
struct published_answers {
    struct published_text {
        char *text;   /* the statement in normal form; for plan and statement the whole text */
        double score; /* of the published search: a mean with probability 1 for forced tokens */
    } items[PUBLISHED_BEAMS];
    int n;
};

/* Returns -1 with EXIT_CODE_DATA for an invalid schema, or EXIT_CODE_MEMORY.  The caller releases in any case. */
int published_answer(struct published_answers *out, struct llama_model *model, struct workspace *work,
                     const struct published_question *q, struct error *err);
void published_answers_release(struct published_answers *a);

#endif
