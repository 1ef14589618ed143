/*
 * model_memo.h - the language model beside a dialogue, whose completions are remembered by prompt.
 *
 * A dialogue is read again for each turn, and asks for the same completions.  A server that fails is asked no more.
 */
#ifndef INFER_CLARIFY_MODEL_MEMO_H
#define INFER_CLARIFY_MODEL_MEMO_H

#include "infer/clarify/clarify_case.h"

/* A zeroed struct has no model. */
struct model_memo {
    struct wording_model model;
    json_t *known; /* completions by the text of the prompt */
    bool lost;     /* the server has failed */
};

/* Completes those of n prompts {"id", "messages"} whose completions are not known.  effect: the consequence of a
 * failing server, for its warning.  Returns -1 with err if a model in memory failed, or after a signal. */
int model_memo_complete(struct model_memo *m, json_t *const *prompts, int n, const char *effect, struct error *err);
/* The completion of a prompt until the next call of model_memo_complete(), or NULL. */
const char *model_memo_find(const struct model_memo *m, const json_t *prompt);
/* A prompt with one message of the user, a new reference.  The text is UTF-8. */
json_t *model_memo_prompt(const char *id, const char *text);
void model_memo_release(struct model_memo *m);

#endif
