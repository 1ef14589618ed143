/*
 * choose.h - dialogues about the tables and columns that a question means, for records without candidate statements.
 *
 * The alternatives of a choice (data/clarify/element_choice.h) become the candidates of a session: each is a statement
 * that shows one element.  The dialogue is that of clarify.  Choices are asked about by falling entropy.  The record
 * keeps all choices under "element_choices", the number of the current one under "element_choice", and the turns of
 * each one asked before it under "element_turns".  The session therefore remains the whole state.  The outcome is the
 * rewritten question, and a statement if the question asks for columns of one table.
 */
#ifndef INFER_ASK_CHOOSE_H
#define INFER_ASK_CHOOSE_H

#include "infer/clarify/session.h"

/* Begins the choice with the highest entropy that the evidence in the record leaves open.  Returns 1, 0 if there is
 * none, or -1 with EXIT_CODE_DATA. */
int choose_begin(json_t *record, const struct schema *s, const char *where, struct error *err);
/* Whether the session is about elements. */
bool choose_is(const struct session *s);
/* Whether another choice follows the one of the session. */
bool choose_has_next(const struct session *s);
/* Sets *record to the record of the next choice after a session that has ended, a new reference, or to NULL without
 * one. Returns -1 with EXIT_CODE_DATA if the choices of the session are not valid. */
int choose_next(json_t **record, const struct session *s, const char *where, struct error *err);
/* Replaces a session by the one about the choice before it, with its turns; see "before" of struct session_context. */
int choose_before(struct session *s, struct session_context *d, const char *where, struct error *err);
/* The turns of all choices up to that of the session, a new reference. */
json_t *choose_turns(const struct session *s);

struct choose_outcome {
    json_t *rewrite; /* {"question", "elements": [{"words", "element"}]}; element is null if it was left open */
    char *sql;       /* or NULL */
};
/* The outcome of a session about elements.  Returns -1 with EXIT_CODE_DATA if its choices are not valid.  The caller
 * releases the outcome in any case. */
int choose_outcome(struct choose_outcome *o, const struct session *s, const char *where, struct error *err);
/* The outcome of a question without choices. */
void choose_unchanged(struct choose_outcome *o, const struct schema *s, const char *question);
void choose_outcome_release(struct choose_outcome *o);

/* Names the element of each option of an open question, {"text", "element", ...}, in place of its statement. */
void choose_name_options(json_t *ask, const struct session *s);

#endif
