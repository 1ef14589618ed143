/*
 * clarify_case.h - one record of candidates, read into what a dialogue needs.
 *
 * A record is {"id", "db_id", "question", "candidates": [{"sql", "p" or "logprob"}]}, with "reserve" (the chance that
 * the right one is not among them) if it is known, and what data/hints.h reads.  Candidates that mean the same are one.
 * What cannot be read is left out and named, and its probability goes to the reserve.
 */
#ifndef INFER_CLARIFY_CASE_H
#define INFER_CLARIFY_CASE_H

#include "data/dialogue.h"
#include "data/json.h"
#include "data/question.h"
#include "data/variables.h"

struct clarify_case {
    const struct schema *schema;
    struct form_store store;
    const struct form *forms[BELIEF_MAX]; /* the most probable first */
    const char *sql[BELIEF_MAX];          /* the most probable text of each, borrowed from the record */
    double p[BELIEF_MAX];
    struct belief prior; /* over p */
    int merged;          /* candidates that are no longer there because they say what another one does */
    json_t *left_out;    /* [{"candidate", "sql", "error"}] */
    struct slots slots;
    struct variables variables;
    struct dialogue dialogue;
    struct hints hints;
    struct strings words;
};

struct clarify_settings {
    struct dialogue_rules rules;
    double noise;
};

/* The arena is scratch.  -1 with EXIT_CODE_DATA; release in any case. */
int clarify_case_read(struct clarify_case *c, const json_t *record, const struct schema *schema,
                      const struct clarify_settings *settings, struct arena *scratch, const char *where,
                      struct error *err);
void clarify_case_release(struct clarify_case *c);

/* A number of bits or a probability, to six digits. */
json_t *clarify_six(double x);
/* A question in words, which belong to the case. */
void clarify_question_write(struct question *q, struct clarify_case *c, const struct view *view);
/* A question as JSON: "text" and "options". */
json_t *clarify_question_json(struct clarify_case *c, const struct view *view);
/* Everything there is to ask about, with what it tells, and what is asked. */
int clarify_case_json(struct clarify_case *c, json_t *out, struct error *err);

#endif
