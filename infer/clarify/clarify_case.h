/*
 * clarify_case.h - one record of candidates, read into what a dialogue needs.
 *
 * A record is {"id", "db_id", "question", "candidates": [{"sql", "p" or "logprob"}]}, with "reserve" (the chance that
 * the right one is not among them) if it is known, and what data/clarify/evidence.h reads.  Candidates that mean the
 * same are one; with a database, those that give the same, too. What cannot be read is left out and named, and its
 * probability goes to the reserve.
 */
#ifndef INFER_CLARIFY_CLARIFY_CASE_H
#define INFER_CLARIFY_CLARIFY_CASE_H

#include "data/clarify/attributes.h"
#include "data/clarify/candidate_list.h"
#include "data/clarify/dialogue.h"
#include "data/clarify/question.h"
#include "data/perturb/witness.h"
#include "data/util/json.h"

/* A candidate of the record that can be read, and which of those that are left it belongs to. */
struct clarify_candidate {
    const struct form *form;
    int number, owner;
};

struct clarify_case {
    const struct schema *schema;
    struct form_store store;
    const struct form *forms[POSTERIOR_MAX]; /* the most probable first */
    const char *sql[POSTERIOR_MAX];          /* the most probable text of each, borrowed from the record */
    double p[POSTERIOR_MAX];
    struct testimony *testimony[POSTERIOR_MAX]; /* what each gives on the database and copies; NULL when not asked */
    struct posterior prior;                     /* over p */
    enum candidate_weights weights;             /* where p comes from */
    int merged;            /* candidates that are no longer there because they say what another one does */
    int same_results;      /* likewise, because they give what another one gives */
    json_t *rejected;      /* [{"candidate", "sql", "error"}] */
    json_t *distinguished; /* [{"candidates", "copy"}]: that give the same rows on the database, and which copy parts
                              them */
    char *not_compared;    /* why results were not compared although there is a database; NULL else */
    struct witness witness;
    struct clarify_candidate candidates[POSTERIOR_MAX];
    int n_candidates;
    struct slots slots;
    struct attributes attributes;
    struct dialogue dialogue;
    struct evidence evidence;
    struct strings words;
};

struct clarify_settings {
    struct dialogue_rules rules;
    double noise;
    struct exec_db
        *db; /* of the record, borrowed: candidates that give the same there and on copies are one; or NULL */
};

/* The arena is scratch.  -1 with EXIT_CODE_DATA; release in any case. */
int clarify_case_read(struct clarify_case *c, const json_t *record, const struct schema *schema,
                      const struct clarify_settings *settings, struct arena *scratch, const char *where,
                      struct error *err);
void clarify_case_release(struct clarify_case *c);

/* Results are known no longer; what was made of them stays. */
void clarify_forget_results(struct clarify_case *c);

/* A number of bits or a probability, to six digits. */
json_t *clarify_rounded(double x);
/* A question in words, which belong to the case. */
void clarify_question_write(struct question *q, struct clarify_case *c, const struct question_view *view);
/* Whether the statement says in what order its rows come. */
bool clarify_is_ordered(const struct form *form);

/* A question as JSON: "text" and "options". */
json_t *clarify_question_json(struct clarify_case *c, const struct question_view *view);
/* Everything there is to ask about, with what it tells, and what is asked. */
int clarify_case_json(struct clarify_case *c, json_t *out, struct error *err);

#endif
