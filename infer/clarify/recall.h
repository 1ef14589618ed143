/*
 * recall.h - remembered choices (data/clarify/choice_memory.h) in the dialogue about a record.
 *
 * The memory multiplies the probabilities of the candidates.  A question of which an option is then as sure as an
 * answer would make it is answered from memory, and the output says so.  Such an answer can be taken back like any
 * other: the question is then asked, and the memory has no effect on its probabilities.  Answers from memory are not
 * learnt again.
 */
#ifndef INFER_CLARIFY_RECALL_H
#define INFER_CLARIFY_RECALL_H

#include "infer/clarify/clarify_case.h"

/* Lists the choices that are sure in c->recalled, and multiplies the probabilities of the candidates by the other ones.
 * Returns whether a probability has changed; the candidates are then to be sorted again. */
bool recall_weigh(struct clarify_case *c, const struct choice_memory *m);
/* Returns the recalled choice that answers the question about an attribute, with its view and option; or NULL.
 * Borrowed. */
json_t *recall_at(struct clarify_case *c, int attribute, struct question_view *view, int *option);
/* The probability that a recalled choice gives its option. */
double recall_probability(const json_t *item);
/* Appends a recalled choice to a list, once.  NULL is ignored. */
void recall_append(json_t *list, json_t *item);
/* Answers the questions of a dialogue that has not begun. */
void recall_apply(struct clarify_case *c);

/* The choice behind an answer, {"words", "meant", "options"}, or NULL.  The question is the one of the view.  A new
 * reference. */
json_t *recall_choice_json(struct clarify_case *c, const struct question_view *view, const struct question *q,
                           int option);
/* Learns such a choice, which may be NULL.  Returns -1 with err. */
int recall_learn(struct choice_memory *m, const struct clarify_case *c, const json_t *choice, struct error *err);
/* Takes a choice back that was learnt. */
int recall_unlearn(struct choice_memory *m, const struct clarify_case *c, const json_t *choice, struct error *err);

#endif
