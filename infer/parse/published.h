/*
 * published.h - a language model that fills a template as LogicalBeam's program does, rule by rule
 * (docs/reference/restricted-infilling.md), or that writes plan and statement at once, as its ablation of one stage.
 *
 * One prompt at a time, as released: the host decides on each beam of each step.
 */
#ifndef INFER_PARSE_PUBLISHED_H
#define INFER_PARSE_PUBLISHED_H

#include "models/lm/row_scores.h"

enum { PUBLISHED_BEAMS = 10, PUBLISHED_SINGLE_ANSWERS = 2 };

/* All borrowed. */
struct published_question {
    const int32_t *prompt; /* what the model reads; of an encoder-decoder's the first 512 tokens count */
    int64_t n_prompt;
    const char *schema;   /* "table : column, column | table : ..." */
    const char *template; /* to be filled; NULL: in one stage */
    const char *begin;    /* how the text is to begin in one stage: "gym | 1 joins @ 2 selects @" */
};

/* Distinct texts, the best first. */
struct published_answers {
    struct published_text {
        char *text;   /* a filled template: the statement in normal form; in one stage: all that was said */
        double score; /* of the published search: a mean in which forced tokens count 1 */
    } items[PUBLISHED_BEAMS];
    int n;
};

/* -1 with EXIT_CODE_DATA for a schema that is none, EXIT_CODE_MEMORY; release either way. */
int published_answer(struct published_answers *out, struct llama_model *model, struct workspace *work,
                     const struct published_question *q, struct error *err);
void published_answers_release(struct published_answers *a);

#endif
