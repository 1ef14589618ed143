/*
 * clarify_case.h - one record of candidates, prepared for a dialogue.
 *
 * A record is {"id", "db_id", "question", "candidates": [{"sql", "p" or "logprob"}]}, with the none-of-the-above
 * probability in "none_of_the_above" and the fields of data/clarify/evidence.h.  Candidates with the same canonical
 * form are merged. With a database, candidates with the same results on it and on perturbed copies are merged too.  A
 * candidate that cannot be read is listed as rejected, and its probability is added to none of the above.
 *
 * With clarify_settings.auto_choice, statements that fail or return no rows get a repaired candidate (repair.h).
 * Candidates with the same rows on the database alone are merged as well, unless there are no rows.  The evidence of
 * auto_choice.h then sets the probabilities.  A language model judges choices below the confidence threshold.
 *
 * A case owns everything but the record, the schema and the database.
 */
#ifndef INFER_CLARIFY_CLARIFY_CASE_H
#define INFER_CLARIFY_CLARIFY_CASE_H

#include "data/base/json.h"
#include "data/clarify/attributes.h"
#include "data/clarify/dialogue.h"
#include "data/clarify/question.h"
#include "data/db/equivalence.h"
#include "data/eval/candidate_list.h"

/* A candidate of the record, and the merged candidate (owner) that it belongs to. */
struct clarify_candidate {
    const struct form *form;
    int number, owner;
};

/* A question in the words of a language model (wordings.h), and the options that it was written for. */
struct question_wording {
    const char *text; /* NULL: none */
    const char *options[DIALOGUE_SHOWN + 1];
    int n;
};

struct clarify_case {
    const struct schema *schema;
    const char *question; /* of the user; borrowed from the record */
    struct form_store store;
    const struct form *forms[POSTERIOR_MAX]; /* [prior.n], the most probable first */
    const char *sql[POSTERIOR_MAX];          /* most probable text of each; borrowed from the record */
    double p[POSTERIOR_MAX];
    struct exec_signature *signatures[POSTERIOR_MAX]; /* execution signature of each; NULL: not executed */
    struct posterior prior;                           /* probabilities in p */
    enum candidate_weights weights;                   /* origin of p */
    int merged;                                       /* number of candidates merged by canonical form */
    int same_results;                                 /* number of candidates merged by results */
    json_t *rejected;                                 /* [{"candidate", "sql", "error"}] */
    json_t
        *distinguished; /* [{"candidates", "copy"}] with the same rows on the database, and the distinguishing copy */
    char *not_compared; /* reason why results were not compared; or NULL */
    struct equivalence equivalence;
    struct clarify_candidate candidates[POSTERIOR_MAX];
    int n_candidates;
    struct slots slots;
    struct attributes attributes;
    struct dialogue dialogue;
    struct evidence evidence;
    struct strings words;
    struct question_wording *wordings; /* [attributes.n], or NULL */
    json_t *wordings_rejected;         /* [{"attribute", "error"}] */
    json_t *recalled;                  /* choices of the memory that answer questions (recall.h) */
    json_t *repaired;                  /* [{"candidate", "sql", "change"}] of repair.h */
    json_t *auto_choice;               /* evidence for the choice without a user (auto_choice.h); or NULL */
    bool elements;                     /* each candidate stands for an element of the schema, by "element_choices" */
};

/* A language model that words questions.  complete writes the completion of each of n prompts {"id", "messages"}, which
 * it borrows, to texts [n]: a string that the caller frees, or NULL.  It returns 0, 1 after a signal or at the end of
 * the time limit, or -1 with err.  complete is NULL if there is no model. */
struct wording_model {
    int (*complete)(void *self, json_t *const *prompts, int64_t n, char **texts, struct error *err);
    void *self;
    bool remote; /* a server, without which the template's words stay */
};
struct wordings;
struct model_memo;

struct clarify_settings {
    struct dialogue_rules rules;
    double noise;
    bool auto_choice; /* replace the probabilities of candidates by those of auto_choice.h */
    struct exec_db
        *db; /* of the record, borrowed: candidates that give the same there and on copies are one; or NULL */
    struct wordings *wordings; /* borrowed; or NULL */
    struct model_memo *judge;  /* with auto_choice: a language model that judges (choice_judge.h), borrowed; or NULL */
    struct choice_memory *memory; /* borrowed; or NULL */
};

/* Reads a record.  The arena is scratch.  Returns -1 with EXIT_CODE_DATA.  The caller releases the case in any case. */
int clarify_case_read(struct clarify_case *c, const json_t *record, const struct schema *schema,
                      const struct clarify_settings *settings, struct arena *scratch, const char *where,
                      struct error *err);
void clarify_case_release(struct clarify_case *c);

/* Releases the execution signatures; the merged candidates stay. */
void clarify_forget_results(struct clarify_case *c);

/* A number of bits or a probability, rounded to six digits. */
json_t *clarify_rounded(double x);
/* Context of the case's questions. */
struct question_context clarify_question_context(struct clarify_case *c);
/* Writes the question of a view; the case owns the texts. */
void clarify_question_write(struct question *q, struct clarify_case *c, const struct question_view *view);
/* Tells whether the statement has ORDER BY. */
bool clarify_is_ordered(const struct form *form);

/* A question as JSON, with "text" and "options".  A new reference. */
json_t *clarify_question_json(struct clarify_case *c, const struct question_view *view);
/* Adds all attributes with their information gain, and the question to ask, to `out`.  Returns -1 with err. */
int clarify_case_json(struct clarify_case *c, json_t *out, struct error *err);

#endif
